"""Derived numbers of single records."""

from __future__ import annotations

from phrasekit.trace import TreeRecord


def test_counts_of_a_partly_accepted_draft(partial):
    assert partial.trunk_hits == (True, True, False)
    assert (partial.drafted, partial.accepted, partial.matches) == (3, 2, 2)
    assert partial.ms == 10.0


def test_matches_after_the_first_mistake_are_not_accepted(misplaced):
    assert (misplaced.drafted, misplaced.accepted, misplaced.matches) == (3, 0, 2)


def test_suffixes_are_judged_each_from_its_own_first_token(lengthened):
    assert (lengthened.drafted, lengthened.accepted) == (2, 2)
    assert lengthened.suffix_accepted == (1, 2)


def test_no_draft_accepts_nothing(vanilla):
    assert (vanilla.drafted, vanilla.accepted, vanilla.matches, vanilla.suffix_accepted) == (0, 0, 0, ())


def test_depth_counts_from_the_root(lengthened):
    assert [lengthened.tree.depth(node) for node in range(-1, 5)] == [0, 1, 2, 3, 4, 4]
    assert TreeRecord().depth(-1) == 0


def test_tokens_of_a_trace_leave_out_the_prompt(story):
    assert story.tokens == (10, 11, 50, 20, 21, 30, 32, 60, 70, 5)


def test_records_speak(story):
    assert (
        str(story.iterations[3]) == "Iteration 4: no draft, +1 from the target; 1 target forward over 1 row."
    )
    assert str(story).startswith("ouroboros: 2 prompt tokens, 10 tokens out, eos\n")
    assert str(story.metrics()).startswith(
        "10 tokens in 4 target forwards: 2.50 a forward (η, bonus included)\n"
    )
