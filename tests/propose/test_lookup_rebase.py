"""Prompt lookup under a draft decoder, whose context is rewritten by every refusal."""

from phrasekit.decode import Draft, Knobs, TokenTree
from phrasekit.propose import PromptLookup


def copied(lookup: PromptLookup, context: list[int]) -> list[int]:
    tree = TokenTree(vocabulary=100, limit=6)
    lookup.propose(Draft(tree, context, Knobs(lookup=6, lookup_ngram=3)))
    return tree.tokens


def test_a_refused_course_is_forgotten() -> None:
    lookup = PromptLookup()
    lookup.start([1, 2, 3], Knobs())
    assert copied(lookup, [1, 2, 3, 8, 9, 8, 9, 8]) == [9, 8, 9, 8, 9, 8]
    # the target refused everything behind 3: no place behind it may be used or followed
    assert copied(lookup, [1, 2, 3, 5, 8]) == []
    assert copied(lookup, [1, 2, 3, 5, 8, 1]) == [2, 3, 5, 8, 1, 2]


def test_what_was_there_before_still_is() -> None:
    lookup = PromptLookup()
    lookup.start([4, 5, 6, 7], Knobs())
    copied(lookup, [4, 5, 6, 7, 4, 5, 9])
    assert copied(lookup, [4, 5, 6, 7, 4, 5])[:2] == [6, 7]
