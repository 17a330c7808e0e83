"""The model's own token at every row: argmax, or a draw keyed by (seed, position).

A draw is an exponential race: argmax of log p + Gumbel noise, the noise of a position coming from
a generator keyed by seed and absolute position. So one draw belongs to one position:
siblings share it, a draft model that uses the same noise agrees as often as this coupling allows,
and plain and speculative decoding draw the same tokens.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Protocol, TypedDict

import numpy as np
import torch
from torch import Tensor

from phrasekit.decode.bounds import check_number, check_whole

WORD = (1 << 64) - 1
COLDEST = 1e-30  # a smaller temperature would be zero in float32
RULES = ("match", "rejection")
NUMPY_FLOATS = (torch.float32, torch.float64)
LEAST = -1e4  # of a log-probability, for a token that the model itself rules out
KEPT_POSITIONS = 512  # noise vectors remembered: draft and target ask for the same positions


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How the target's next token is chosen; the default is greedy.

    Attributes:
        temperature: 0 is greedy; otherwise logits are divided by it.
        top_k: keep the k likeliest tokens; 0 keeps all.
        top_p: keep the smallest set of likeliest tokens that holds this much probability.
        min_p: drop tokens less likely than this share of the likeliest one; 0 drops none.
        repetition_penalty: over 1 makes every token of prompt and text less likely; 1 is off.
        presence_penalty: subtracted from the logit of tokens already generated; 0 is off.
        bad_words: token sequences that are never completed.
        min_new_tokens: no end token before this many tokens.
        seed: the text is a function of model, prompt, these settings and this number.
        rule: "match" takes the model's own draw and follows the proposal that equals it. "rejection" is
            the textbook rule for comparison: the same law, but another text, which then depends on
            method and knobs too (see `phrasekit.decode.rejection_picker`). Greedy, they are the same.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value outside its bounds.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    bad_words: tuple[tuple[int, ...], ...] = ()
    min_new_tokens: int = 0
    seed: int = 0
    rule: str = "match"

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, 0)
        check_whole("top_k", self.top_k, 0)
        check_number("top_p", self.top_p, 0, 1, above=True)
        check_number("min_p", self.min_p, 0, 1)
        check_number("repetition_penalty", self.repetition_penalty, 0, above=True)
        check_number("presence_penalty", self.presence_penalty, -inf)
        check_whole("min_new_tokens", self.min_new_tokens, 0)
        check_whole("seed", self.seed, -inf)
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, but got {self.rule!r}")
        _check_words(self.bad_words)

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is always taken."""
        return self.temperature == 0


def _check_words(words: object) -> None:
    rule = f"bad_words must be sequences of token ids, but got {words!r:.80}"
    lists = (list, tuple)
    if not isinstance(words, lists) or not all(isinstance(word, lists) for word in words):
        raise TypeError(rule)
    for word in words:
        if any(isinstance(token, bool) or not isinstance(token, int) for token in word):
            raise TypeError(rule)
        if not word or min(word) < 0:
            raise ValueError(rule)


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of one forward stand.

    Attributes:
        positions: absolute position of the token that each row picks.
        prefix: all tokens before the one that a row picks, prompt included.
        children: tokens proposed behind a row; asked for only by rules that judge proposals.
    """

    positions: Sequence[int]
    prefix: Callable[[int], list[int]]
    children: Callable[[int], list[int]] = lambda _: []


# `(ids [rows, length], scores [rows, vocabulary]) → scores`, as transformers' logits processors are.
# A pure function of its arguments: it also sees prefixes that are never committed.
Processor = Callable[[Tensor, Tensor], Tensor]


class SamplingOptions(TypedDict, total=False):
    """`Sampling` as keyword arguments, for functions that pass them on."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    bad_words: tuple[tuple[int, ...], ...]
    min_new_tokens: int
    seed: int
    rule: str


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
        return best(processed(logits, rows, self.processors))


class KeyedPicker:
    """A draw from the warped distribution with noise keyed by (seed, position)."""

    def __init__(self, sampling: Sampling, processors: Sequence[Processor] = ()) -> None:
        self.sampling = sampling
        self.processors = tuple(processors)
        self._noise: OrderedDict[tuple[int, int], Tensor] = OrderedDict()

    def pick(self, logits: Tensor, rows: Rows) -> Tensor:
        """See `Picker.pick`."""
        size = logits.shape[-1]
        noise = torch.stack([self._noise_at(position, size) for position in rows.positions])
        scores = warp(processed(logits, rows, self.processors), self.sampling)
        return best(scores + noise.to(logits.device))

    def _noise_at(self, position: int, size: int) -> Tensor:
        found = self._noise.get((position, size))
        if found is None:
            # a counter-based generator with the pair as its 128-bit key (torch's own seeds with 32 bits)
            key = np.array([self.sampling.seed & WORD, position], dtype=np.uint64)
            generator = np.random.Generator(np.random.Philox(key=key))
            exponential = torch.from_numpy(generator.standard_exponential(size, dtype=np.float32))
            # −log of an exponential variate is Gumbel; the floor keeps a zero draw finite
            found = exponential.clamp_(min=1e-30).log_().neg_()
            self._noise[position, size] = found
            if len(self._noise) > KEPT_POSITIONS:
                self._noise.popitem(last=False)
        return found


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
    """Temperature, top-k, top-p, min-p, in this order, every row on its own; removed tokens are −∞."""
    # at least float32: half precision would round the noise away
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32))
    # the best at 0 before the division: a temperature near zero must not push it to infinity
    scores = (scores - scores.amax(-1, keepdim=True)) / max(sampling.temperature, COLDEST)
    if 0 < sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if sampling.top_p < 1:
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
        removed = torch.empty_like(before, dtype=torch.bool).scatter_(-1, order, before >= sampling.top_p)
        scores = scores.masked_fill(removed, -torch.inf)
    if sampling.min_p > 0:
        least = scores.max(dim=-1, keepdim=True).values + log(sampling.min_p)
        scores = scores.masked_fill(scores < least, -torch.inf)
    return scores


def best(scores: Tensor) -> Tensor:
    """The likeliest token of every row, the first one of a tie; −1 where no maximum is finite."""
    # a NaN counts as the maximum of its row
    if scores.device.type == "cpu":  # numpy's argmax is ten times as fast there
        wide = scores if scores.dtype in NUMPY_FLOATS else scores.float()
        values = wide.numpy()
        found = values.argmax(axis=-1)
        found[~np.isfinite(values[np.arange(len(found)), found])] = -1
        return torch.from_numpy(found)
    index = scores.argmax(dim=-1)
    finite = scores.gather(-1, index[:, None])[:, 0].isfinite()
    return torch.where(finite, index, -1)


def with_logprobs(logits: Tensor, picks: Tensor) -> Tensor:
    """Picks `[rows]` and their log-probabilities in one tensor `[2, rows]`, for a single transfer.

    Args:
        logits: `[rows, vocabulary]`, before temperature and processors.
        picks: token ids, −1 where there is none; its log-probability is 0 then.
    """
    # float32 holds every id of a vocabulary, float64 is not to be had everywhere
    scores = logits.float()
    chosen = scores.gather(-1, picks.clamp(min=0)[:, None])[:, 0] - scores.logsumexp(-1)
    return torch.stack([picks.float(), torch.where(picks < 0, 0.0, chosen.clamp(min=LEAST, max=0.0))])
