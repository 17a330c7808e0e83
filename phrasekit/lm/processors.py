"""Logits processors from plain settings: transformers' own wherever it has one.

A processor here is a pure function `(ids [rows, length], scores [rows, vocabulary]) → scores`. It is
applied to every node of a tree with that node's own prefix, so that penalties and bans mean the same
with and without speculation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import (
    MinNewTokensLengthLogitsProcessor,
    NoBadWordsLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
)

Processor = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class PresencePenalty:
    """Lowers the score of every token already generated, however often (prompt excluded).

    Attributes:
        penalty: subtracted from the score.
        prompt_length: tokens in front that do not count.
    """

    penalty: float
    prompt_length: int

    def __call__(self, ids: Tensor, scores: Tensor) -> Tensor:
        """See the module."""
        seen = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, ids[:, self.prompt_length :], True)
        return scores - self.penalty * seen


def processors_of(
    *,
    repetition_penalty: float,
    presence_penalty: float,
    bad_words: Sequence[Sequence[int]],
    min_new_tokens: int,
    prompt_length: int,
    eos: Collection[int],
    device: torch.device,
) -> list[Processor]:
    """The processors that these settings ask for, in transformers' order.

    Args:
        repetition_penalty: 1 is off; over 1 makes every token of prompt and text less likely.
        presence_penalty: 0 is off; subtracted for tokens already generated.
        bad_words: token sequences that are never completed.
        min_new_tokens: no end token before this many are generated.
        prompt_length: tokens of the prompt.
        eos: end tokens.
        device: where the logits are.
    """
    found: list[Processor] = []
    if repetition_penalty != 1:
        found.append(RepetitionPenaltyLogitsProcessor(repetition_penalty))
    if presence_penalty:
        found.append(PresencePenalty(presence_penalty, prompt_length))
    if bad_words:
        found.append(NoBadWordsLogitsProcessor([list(word) for word in bad_words], list(eos) or None))
    if min_new_tokens and eos:
        found.append(
            MinNewTokensLengthLogitsProcessor(prompt_length, min_new_tokens, list(eos), device=device)
        )
    return found
