"""Own work counted strictly: what is outside layers and heads."""

from __future__ import annotations

import pytest

import phrasekit as pk
from phrasekit.bench.contender import OwnMethod
from phrasekit.bench.strict import strict_share, timed_models
from phrasekit.lm.lean import LeanForward
from tests.bench.conftest import task

PROMPT = "def add(left, right):\n    "


@pytest.mark.parametrize("lean", [True, False])
def test_models_take_most_of_the_time_and_never_all(pair, lean, monkeypatch):
    if not lean:
        monkeypatch.setattr(LeanForward, "recognise", classmethod(lambda cls, model: None))
        for model in (pair.target, pair.draft):
            monkeypatch.setattr(model.adapter, "lean", None)
    own = OwnMethod(pair, "ouroboros", max_new_tokens=12)
    own.generate(pair.encode(PROMPT))
    assert (pair.target.adapter.lean is not None) == lean
    share = strict_share(own, pair, [task(0, *pair.encode(PROMPT))])
    assert 0 < share < 0.9


class Ticks:
    """A clock that goes on by a second at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_every_forward_and_head_is_timed_once(pair):
    """By that clock each takes a second: two a plain token, where the model runs lean."""
    pair.target.adapter.refresh()
    with timed_models(pair, Ticks()) as inside:
        pk.generate(pair, PROMPT, method="vanilla", max_new_tokens=5)
    assert inside.seconds == 10
    with timed_models(pair, Ticks()) as inside:
        pass
    assert inside.seconds == 0


def test_nothing_is_left_behind(pair):
    right = LeanForward.forward, LeanForward.head
    with pytest.raises(KeyboardInterrupt), timed_models(pair):
        raise KeyboardInterrupt
    assert (LeanForward.forward, LeanForward.head) == right
    assert not pair.target.model._forward_hooks
