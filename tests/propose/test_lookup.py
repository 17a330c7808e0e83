"""Prompt lookup against a search through the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.decode import Decoder, Draft, Knobs, Limits, TokenTree
from phrasekit.propose import PromptLookup
from tests.models import ScriptedModel, mixing

texts = st.lists(st.integers(0, 2), min_size=1, max_size=24)


def brute_force(context: list[int], count: int, ngram: int) -> tuple[list[int], int]:
    """Most recent earlier occurrence, longest n-gram first; a copy that may read its own output."""
    for size in range(ngram, 0, -1):
        for end in range(len(context) - 1, size - 1, -1):
            if context[end - size : end] == context[len(context) - size :]:
                text = list(context)
                for at in range(count):
                    text.append(text[end + at])
                return text[len(context) :], size
    return [], 0


def propose(proposer: PromptLookup, context: list[int], *, limit: int = 99, **knobs) -> list[int]:
    tree = TokenTree(vocabulary=100, limit=limit)
    proposer.propose(Draft(tree, list(context), Knobs(**knobs)))
    assert tree.trunk == list(range(len(tree)))
    return tree.tokens


@settings(max_examples=120)
@given(texts, st.integers(1, 8), st.integers(1, 4))
def test_a_fresh_text(context, count, ngram):
    found = propose(PromptLookup(), context, lookup=count, lookup_ngram=ngram)
    assert found == brute_force(context, count, ngram)[0]


@settings(max_examples=120)
@given(st.lists(texts, min_size=1, max_size=6), st.integers(1, 8), st.lists(st.integers(1, 4), min_size=1))
def test_a_text_that_grows_with_a_knob_that_changes(pieces, count, ngrams):
    lookup, context = PromptLookup(), []
    lookup.start([], Knobs())
    for number, piece in enumerate(pieces):
        context += piece
        ngram = ngrams[number % len(ngrams)]
        assert (
            propose(lookup, context, lookup=count, lookup_ngram=ngram)
            == brute_force(context, count, ngram)[0]
        )


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.floats(0, 1), texts), min_size=2, max_size=8), st.integers(1, 5), st.integers(1, 3)
)
def test_a_text_whose_end_is_taken_back(changes, count, ngram):
    """Under a draft decoder: what the target refused gives way to something else, or to nothing yet."""
    lookup, context = PromptLookup(), [0]
    for keep, piece in changes:
        context = context[: max(1, int(keep * len(context)))]
        context += piece[: int(9 * keep) % 5]
        assert (
            propose(lookup, context, lookup=count, lookup_ngram=ngram)
            == brute_force(context, count, ngram)[0]
        )


def test_how_far_the_text_matched_is_told():
    lookup = PromptLookup()
    for context, size in (
        ([1, 2, 3, 1, 2, 3], 3),
        ([9, 2, 3, 1, 2, 3], 2),
        ([9, 8, 3, 1, 2, 3], 1),
        ([1, 2], 0),
    ):
        draft = Draft(TokenTree(vocabulary=100, limit=9), context, Knobs(lookup=4, lookup_ngram=3))
        lookup.start([], Knobs())
        assert lookup.find(draft) == brute_force(context, 4, 3)
        assert lookup.find(draft)[1] == size


@pytest.mark.parametrize(
    ("context", "due"),
    [
        ([1, 2, 3, 4, 1, 2], [3, 4, 1, 2, 3]),  # runs into its own copy
        ([7, 7], [7, 7, 7, 7, 7]),
        ([5, 6, 5], [6, 5, 6, 5, 6]),
        ([1, 2, 9, 1, 2, 8, 1, 2], [8, 1, 2, 8, 1]),  # the most recent, not the first
        ([1, 2, 3], []),
        ([4], []),
    ],
)
def test_examples(context, due):
    assert propose(PromptLookup(), context, lookup=5, lookup_ngram=3) == due


def test_never_longer_than_there_is_room_for():
    assert propose(PromptLookup(), [7, 7], lookup=9, limit=4) == [7] * 4
    assert propose(PromptLookup(), [7, 7], lookup=9, limit=0) == []
    assert propose(PromptLookup(), [7, 7], lookup=0) == []


def test_another_prompt_forgets_the_one_before():
    lookup = PromptLookup()
    assert propose(lookup, [1, 2, 1]) != []
    lookup.start([3], Knobs())
    assert propose(lookup, [3, 1]) == []


def test_a_text_that_copies_itself_takes_few_steps():
    """A period of 6 in the text: once it is seen, every step brings all that is asked for, and the bonus."""
    model = ScriptedModel(mixing(6, order=1), vocabulary=6)
    made = Decoder(
        model, [1], proposers=[PromptLookup()], knobs=Knobs(lookup=9), limits=Limits(max_new_tokens=200)
    )
    steps = list(made)
    assert {len(iteration.emitted) for iteration in steps[10:-1]} == {10}
