"""The model's own token at every row: argmax, or a draw keyed by (seed, position).

A draw is an exponential race: argmax of log p + Gumbel noise, the noise of a position coming from
one generator seeded by a mix of seed and absolute position. So one draw belongs to one position:
siblings share it, a draft model that uses the same noise agrees as often as this coupling allows,
and plain and speculative decoding draw the same tokens.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import torch
from torch import Tensor

MASK = (1 << 64) - 1
KEPT_POSITIONS = 512  # noise vectors remembered: draft and target ask for the same positions


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How the target's next token is chosen; the default is greedy.

    Attributes:
        temperature: 0 is greedy; otherwise logits are divided by it.
        top_k: keep the k likeliest tokens; 0 keeps all.
        top_p: keep the smallest set of likeliest tokens that holds this much probability.
        seed: the text is a function of model, prompt, these settings and this number.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value outside its bounds.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number, but got {value!r}")
        for name in ("top_k", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be a whole number, but got {value!r}")
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be 0 (greedy) or more, but got {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be 0 (off) or more, but got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be over 0 and at most 1 (off), but got {self.top_p}")

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is always taken."""
        return self.temperature == 0


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of one forward stand.

    Attributes:
        positions: absolute position of the token that each row picks.
        prefix: all tokens before the one that a row picks, prompt included.
    """

    positions: Sequence[int]
    prefix: Callable[[int], list[int]]


# `(ids [rows, length], scores [rows, vocabulary]) → scores`, as transformers' logits processors are.
# A pure function of its arguments: it also sees prefixes that are never committed.
Processor = Callable[[Tensor, Tensor], Tensor]


class Picker(Protocol):
    """Chooses one token per row of logits."""

    def pick(self, logits: Tensor, rows: Rows) -> Tensor:
        """Token ids `[rows]` on the logits' device; −1 where the row has no finite maximum.

        Args:
            logits: `[rows, vocabulary]`.
            rows: where each row stands.
        """
        ...


class GreedyPicker:
    """The likeliest token after the processors; the first one of a tie."""

    def __init__(self, processors: Sequence[Processor] = ()) -> None:
        self.processors = tuple(processors)

    def pick(self, logits: Tensor, rows: Rows) -> Tensor:
        """See `Picker.pick`."""
        return _best(processed(logits, rows, self.processors))


class KeyedPicker:
    """A draw from the warped distribution with noise keyed by (seed, position)."""

    def __init__(self, sampling: Sampling, processors: Sequence[Processor] = ()) -> None:
        self.sampling = sampling
        self.processors = tuple(processors)
        self._noise: OrderedDict[tuple[int, int], Tensor] = OrderedDict()
        self._generator = torch.Generator()

    def pick(self, logits: Tensor, rows: Rows) -> Tensor:
        """See `Picker.pick`."""
        size = logits.shape[-1]
        noise = torch.stack([self._noise_at(position, size) for position in rows.positions])
        scores = warp(processed(logits, rows, self.processors), self.sampling)
        return _best(scores + noise.to(logits.device))

    def _noise_at(self, position: int, size: int) -> Tensor:
        found = self._noise.get((position, size))
        if found is None:
            self._generator.manual_seed(mix(self.sampling.seed, position))
            # −log of an exponential variate is Gumbel; the floor keeps a zero draw finite
            found = torch.empty(size).exponential_(generator=self._generator).clamp_(min=1e-30).log_().neg_()
            self._noise[position, size] = found
            if len(self._noise) > KEPT_POSITIONS:
                self._noise.popitem(last=False)
        return found


def picker_of(sampling: Sampling, processors: Sequence[Processor] = ()) -> Picker:
    """The picker for these settings."""
    return GreedyPicker(processors) if sampling.greedy else KeyedPicker(sampling, processors)


def processed(logits: Tensor, rows: Rows, processors: Sequence[Processor]) -> Tensor:
    """Logits after the processors, every row with its own prefix: the one its path spells."""
    if not processors:
        return logits
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
    same_length: dict[int, list[int]] = {}
    for row, position in enumerate(rows.positions):
        same_length.setdefault(position, []).append(row)
    for group in same_length.values():
        ids = torch.tensor([rows.prefix(row) for row in group], device=logits.device)
        part = scores[group]
        for processor in processors:
            part = processor(ids, part)
        scores[group] = part
    return scores


def warp(logits: Tensor, sampling: Sampling) -> Tensor:
    """Temperature, top-k, top-p, in this order, every row on its own; removed tokens are −∞."""
    # at least float32: half precision would round the noise away
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32)) / sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if sampling.top_p < 1:
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
        removed = torch.empty_like(before, dtype=torch.bool).scatter_(-1, order, before >= sampling.top_p)
        scores = scores.masked_fill(removed, -torch.inf)
    return scores


def mix(seed: int, position: int) -> int:
    """A 64-bit mix of both numbers (SplitMix64 finaliser), so that no two positions share a stream."""
    state = (seed * 0x9E3779B97F4A7C15 + position * 0xD1B54A32D192ED03 + 0x2545F4914F6CDD1D) & MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        state = ((state ^ (state >> shift)) * factor) & MASK
    return state ^ (state >> 31)


def _best(scores: Tensor) -> Tensor:
    value, index = scores.max(dim=-1)  # a NaN anywhere in the row makes the value NaN
    return torch.where(value.isfinite(), index, -1)
