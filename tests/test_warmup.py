"""Warm-up: what the target says goes into a store, every prompt marked, no prompt twice."""

from __future__ import annotations

import pytest

import phrasekit as pk
from phrasekit.errors import TokenizerMismatchError
from phrasekit.methods import runnable
from phrasekit.propose import Corpus, Datastore, prompt_mark
from phrasekit.warmup import Warmed, warm_up
from tests import models

PROMPTS = [tuple((start + step * at) % models.VOCABULARY for at in range(9)) for start, step in
           ((1, 7), (2, 5), (3, 11), (4, 13), (5, 17))]  # fmt: skip
COUNT = 20


@pytest.fixture
def pair() -> pk.Pair:
    return models.pair_of("llama")


def documents(store: Datastore) -> list[tuple[int, ...]]:
    text, _ = store.contents()
    parts: list[list[int]] = [[]]
    for token in text.tolist():
        if token < 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts[:-1]]


def said(prompt) -> tuple[int, ...]:
    return (*prompt, *models.generated("llama", COUNT, tuple(prompt)))


@pytest.mark.parametrize("method", runnable(None))
def test_a_store_holds_what_the_target_says_whatever_decodes(pair, method):
    store = Datastore()
    for _ in warm_up(pair, store, PROMPTS, rounds=2, method=method, max_new_tokens=COUNT):
        pass
    assert sorted(documents(store)) == sorted(said(prompt) for prompt in PROMPTS)
    assert store.sources == {prompt_mark(prompt) for prompt in PROMPTS}
    assert all(map(store.saw, PROMPTS))
    assert not store.saw(models.PROMPT)


def test_the_rounds_share_no_prompt(pair):
    store = Datastore()
    told = list(warm_up(pair, store, PROMPTS, rounds=3, max_new_tokens=COUNT))
    assert [(one.round, one.prompt) for one in told] == [(1, 0), (1, 3), (2, 1), (2, 4), (3, 2)]
    assert [one.held for one in told] == [29, 58, 87, 116, 145]
    assert all(one.tokens == COUNT >= one.iterations > 0 for one in told)


def test_later_rounds_find_what_earlier_ones_left(pair):
    """The same text again: one forward then brings many tokens."""
    prompts = [PROMPTS[0], PROMPTS[0] + models.generated("llama", 2, PROMPTS[0])]
    store = Datastore()
    first, second = warm_up(pair, store, prompts, rounds=2, method="double", max_new_tokens=COUNT)
    assert second.tokens == first.tokens
    assert second.iterations < first.iterations


def test_a_prompt_is_taken_once(pair):
    store = Datastore()
    told = list(warm_up(pair, store, [PROMPTS[0]] * 3, rounds=3, max_new_tokens=COUNT))
    assert [one.tokens for one in told] == [COUNT, 0, 0]
    assert documents(store) == [said(PROMPTS[0])]
    again = list(warm_up(pair, store, PROMPTS[:2], rounds=1, max_new_tokens=COUNT))
    assert [(one.tokens, one.held) for one in again] == [(0, 29), (COUNT, 58)]


def test_no_round_leaves_the_store_as_it_is(pair):
    store = Datastore()
    assert list(warm_up(pair, store, PROMPTS, rounds=0)) == list(warm_up(pair, store, [], rounds=0)) == []
    assert len(store) == 0


def test_leaving_the_loop_ends_it(pair):
    store = Datastore()
    for done in warm_up(pair, store, PROMPTS, rounds=5, max_new_tokens=COUNT):
        assert isinstance(done, Warmed)
        break
    assert documents(store) == [said(PROMPTS[0])]


def test_cancelling_keeps_what_was_made(pair):
    store, asked = Datastore(), []

    def cancelled() -> bool:
        asked.append(None)
        return len(asked) > 30

    told = list(
        warm_up(pair, store, PROMPTS, rounds=5, method="vanilla", max_new_tokens=COUNT, cancelled=cancelled)
    )
    assert [one.tokens for one in told] == [COUNT, 8]
    assert documents(store) == [said(PROMPTS[0]), said(PROMPTS[1])[: 9 + 8]]


def test_sampling_and_knobs_are_passed_on(pair):
    options = {"temperature": 0.9, "seed": 5, "max_new_tokens": COUNT}
    store = Datastore()
    list(
        warm_up(pair, store, PROMPTS[:1], rounds=1, method="speculative", knobs=pk.Knobs(gamma=2), **options)
    )
    plain = pk.generate(pair, PROMPTS[0], method="vanilla", **options)
    assert documents(store) == [(*PROMPTS[0], *plain.tokens)]


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"rounds": 16}, ValueError, "rounds must be a whole number from 0 to 15, but got 16"),
        ({"rounds": -1}, ValueError, "rounds must be"),
        ({"rounds": 1.0}, TypeError, "rounds must be"),
        ({"rounds": 6}, ValueError, "got 5 for 6 rounds"),
        ({"method": "nonsense"}, ValueError, "method must be one of"),
        ({"method": "rest"}, ValueError, "needs a corpus"),
        ({"max_new_tokens": 0}, ValueError, "max_new_tokens"),
        ({"temperature": -1}, ValueError, "temperature"),
        ({"store": Corpus.build([[1, 2]])}, TypeError, "needs a Datastore, which can grow"),
        ({"store": Datastore(fingerprint="another")}, TokenizerMismatchError, "tokenizer"),
    ],
)
def test_bad_input_is_told_before_anything_runs(pair, changes, error, says):
    """At the call already, not when the iterator is followed."""
    arguments = {"store": Datastore(), "rounds": 2, **changes}
    with pytest.raises(error, match=says):
        warm_up(pair, arguments.pop("store"), PROMPTS, **arguments)
