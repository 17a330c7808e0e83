"""`phrasekit check`: says exact only where it is, and can say no."""

import pytest
import torch

import phrasekit as pk
from phrasekit.check import check
from phrasekit.decode import GreedyPicker
from phrasekit.lm.control import block_logits, stepwise_logits

PROMPTS = ["def add(a, b):\n", "class Stack:\n    def push(self, item):\n"]


@pytest.fixture(scope="module")
def pair() -> pk.Pair:
    return pk.load_pair()


def test_float32_is_exact(pair: pk.Pair) -> None:
    report = check(pair, PROMPTS, methods=["speculative", "ouroboros"], max_new_tokens=24)
    assert report.identical == report.runs == 4
    assert report.exact
    assert report.verdict.startswith("exact:")
    assert report.as_dict()["tokens"] == report.tokens > 0


def test_a_wrong_choice_is_found_and_not_excused(pair: pk.Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """B9 no. 14: a checker must be able to fail."""
    honest = GreedyPicker.pick

    def second_best(self, logits, rows):
        picks = honest(self, logits, rows)
        # in trees only: plain decoding stays right
        return logits.topk(2).indices[:, 1] if len(logits) > 3 else picks

    monkeypatch.setattr(GreedyPicker, "pick", second_best)
    report = check(pair, PROMPTS[:1], methods=["prompt_lookup", "ouroboros"], max_new_tokens=24)
    assert not report.exact
    assert report.verdict.startswith("NOT exact")
    assert any(place.margin > 2 * report.error for place in report.divergences)


def test_the_control_agrees_with_itself(pair: pk.Pair) -> None:
    ids = pair.encode(PROMPTS[0])
    steps, block = stepwise_logits(pair.target, ids, [5, 6, 7]), block_logits(pair.target, ids, [5, 6, 7])
    assert steps.shape == block.shape == (3, pair.target.vocabulary)
    torch.testing.assert_close(steps, block, rtol=0, atol=1e-3)


def test_no_prompt_is_refused(pair: pk.Pair) -> None:
    with pytest.raises(ValueError, match="at least one prompt"):
        check(pair, [])


def test_no_method_is_refused(pair: pk.Pair) -> None:
    """A report on nothing would call it exact."""
    with pytest.raises(ValueError, match="at least one method"):
        check(pair, PROMPTS, methods=[])
