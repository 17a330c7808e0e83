"""Settings become processors: pure functions of a row's own prefix, in transformers' order."""

from __future__ import annotations

import pytest
import torch

from phrasekit.lm.processors import PresencePenalty, processors_of

OFF = {
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "bad_words": (),
    "min_new_tokens": 0,
    "prompt_length": 2,
    "eos": frozenset({5}),
    "device": torch.device("cpu"),
}
IDS = torch.tensor([[0, 1, 2, 2], [0, 1, 3, 4]])  # a prompt of two tokens, two continuations
SCORES = torch.tensor([[4.0, -2.0, 1.0, 3.0, -1.0, 2.0]]).expand(2, -1)


def after(**changes) -> list[list[float]]:
    scores = SCORES.clone()
    for processor in processors_of(**{**OFF, **changes}):
        scores = processor(IDS, scores)
    return scores.tolist()


def test_settings_that_are_off_ask_for_nothing():
    assert processors_of(**OFF) == []
    assert processors_of(**{**OFF, "min_new_tokens": 3, "eos": frozenset()}) == [], "nothing ends anyway"


def test_presence_counts_generated_tokens_once_and_the_prompt_not():
    assert after(presence_penalty=0.5) == [
        [4.0, -2.0, 0.5, 3.0, -1.0, 2.0],
        [4.0, -2.0, 1.0, 2.5, -1.5, 2.0],
    ]
    assert (PresencePenalty(0.5, 4)(IDS, SCORES) == SCORES).all(), "before the first token"


def test_repetition_divides_what_is_likely_and_multiplies_what_is_not_prompt_included():
    assert after(repetition_penalty=2.0) == [
        [2.0, -4.0, 0.5, 3.0, -1.0, 2.0],
        [2.0, -4.0, 1.0, 1.5, -2.0, 2.0],
    ]


def test_bad_words_are_never_completed():
    found = torch.tensor(after(bad_words=((3,), (2, 2, 5), (4, 1))))
    assert found.isinf().nonzero().tolist() == [[0, 3], [0, 5], [1, 1], [1, 3]]


@pytest.mark.parametrize(("least", "ends"), [(1, True), (2, True), (3, False)])
def test_no_end_before_the_least_number_of_tokens(least, ends):
    """The prefix holds two new tokens: the third may end it where two are enough."""
    assert (torch.tensor(after(min_new_tokens=least))[:, 5].isfinite()).tolist() == [ends] * 2


def test_in_transformers_order():
    kinds = [
        type(one).__name__
        for one in processors_of(
            **{
                **OFF,
                "repetition_penalty": 1.1,
                "presence_penalty": 0.1,
                "bad_words": ((1,),),
                "min_new_tokens": 2,
            }
        )
    ]
    assert kinds == [
        "RepetitionPenaltyLogitsProcessor",
        "PresencePenalty",
        "NoBadWordsLogitsProcessor",
        "MinNewTokensLengthLogitsProcessor",
    ]
