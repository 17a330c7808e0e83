"""Where phrases were read off: each source's place, and runs that do not tell it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit.trace import PhraseRecord, PoolRecord
from phrasekit.views.birth import Column, Passage, birth_of
from phrasekit.views.phrases import lives


def born(trace, tokens, source, at=0):
    """The birth of a phrase that iteration `at` took in."""
    pool = PoolRecord(inserted=(PhraseRecord(77, tokens, source),), size=1)
    iterations = list(trace.iterations)
    iterations[at] = replace(iterations[at], pool=pool)
    trace = replace(trace, iterations=tuple(iterations))
    return birth_of(trace, next(life for life in lives(trace) if life.id == 77))


def test_a_rejected_tail_stands_behind_the_correction(harvested):
    found = birth_of(harvested, next(life for life in lives(harvested) if life.id == 8))
    assert [(token.id, token.verdict) for token in found.tokens] == [
        (40, "mistake"),
        (41, "late"),
        (42, "late"),
    ]
    assert (found.says, found.key, found.end) == (("a", "b", "c"), 0, 3)


def test_a_repaired_suffix_stands_behind_the_draft(story):
    found = born(story, (21, 30, 32), "suffix", at=1)
    assert [(token.id, token.verdict) for token in found.tokens] == [
        (21, "kept"),
        (30, "kept"),
        (31, "mistake"),
    ]
    assert (found.says, found.key, found.end) == (("#21", "    return", "#32"), 0, 3)


def test_a_guess_that_was_repaired_has_its_key_before_it(harvested):
    second = replace(harvested.iterations[1], picks=(41, 43, 6), path=(0,), emitted=(41, 43))
    found = born(replace(harvested, iterations=(harvested.iterations[0], second)), (70, 41, 43), "suffix", 1)
    assert (found.says, found.key, found.end) == (("b", "#43"), -1, 2)


def test_a_column_of_the_window(ahead):
    life = next(life for life in lives(ahead) if life.id == 1)
    assert birth_of(ahead, life) == Column((("#9", "#11"), ("#21", "#22")), 0, "#31")
    assert born(ahead, (11, 22, 32), "window") == Column((("#9", "#11"), ("#21", "#22")), 1, "#32")


def test_the_draft_models_own_window(ahead, story):
    below = replace(ahead.iterations[0], index=0)
    first = replace(story.iterations[0], draft=(below,), pool=PoolRecord())
    trace = replace(story, iterations=(first,))
    life = next(life for life in lives(trace) if life.id == 1)
    assert isinstance(birth_of(trace, life), Column)


@pytest.mark.parametrize(
    ("tokens", "at", "place"),
    [((7, 8), 0, Passage(0, 2)), ((8, 10, 11), 0, Passage(1, 4)), ((50, 20, 21), 1, Passage(4, 7))],
)
def test_committed_text_and_the_prompt(story, tokens, at, place):
    assert born(story, tokens, "committed", at) == place


def test_text_that_came_later_is_no_birth(story):
    assert born(story, (50, 20), "committed", at=0) is None


@pytest.mark.parametrize("source", ["discarded", "suffix", "window", "committed", "elsewhere", ""])
def test_what_the_trace_does_not_hold_is_not_made_up(story, source):
    assert born(story, (98, 99), source) is None


def test_a_phrase_from_before_the_run_has_no_birth(story):
    assert birth_of(story, next(life for life in lives(story) if life.id == 4)) is None
    assert birth_of(story, next(life for life in lives(story) if life.id == 1)) is None  # a number only
