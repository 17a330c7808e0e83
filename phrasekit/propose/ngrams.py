"""Where every n-gram of one size was seen last: a hash table over a growing array of tokens."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from phrasekit.propose.documents import Ids

FIRST_SLOTS = 256
CHUNK = 1 << 15  # n-grams entered at once, which bounds temporary memory
FULL = 0.6  # share of slots taken before the table doubles

_WORD = (1 << 64) - 1
_Places = NDArray[np.int64]


class NgramIndex:
    """Open addressing with linear probing; a slot holds where an n-gram ends, 0 where it is free.

    The tokens themselves are compared, so that n-grams that share a hash are never mistaken for each
    other. The hash is drawn anew for every index: no text can be made to crowd it.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._factors = [secrets.randbits(64) | 1 for _ in range(size)]
        self._clear(FIRST_SLOTS)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._slots.nbytes

    def extend(self, text: Ids, first: int, last: int) -> None:
        """Enter the n-grams that end at `first` or behind it, and before `last`.

        Later places replace earlier ones. N-grams that hold a separator or that one follows are left out.
        """
        for start in range(max(first, self.size), last, CHUNK):
            self._enter(text, self._ends(text, start, min(start + CHUNK, last)))

    def latest(self, text: memoryview, ngram: list[int]) -> int:
        """Where `ngram` ends for the last time; 0 where it is unknown."""
        slots, size = self._view, self.size
        total = 0
        for token, factor in zip(ngram, self._factors, strict=True):
            total += token * factor
        slot = (total & _WORD) >> self._shift
        while end := slots[slot]:
            if text[end - size : end].tolist() == ngram:
                return int(end)
            slot = (slot + 1) & self._mask
        return 0

    def clear(self) -> None:
        """Forget everything."""
        self._clear(FIRST_SLOTS)

    def _clear(self, slots: int) -> None:
        self._slots = np.zeros(slots, dtype=np.int32)
        self._view = self._slots.data  # ten times faster than numpy for single values
        self._mask = slots - 1
        self._shift = 64 - self._mask.bit_length()
        self._taken = 0

    def _ends(self, text: Ids, start: int, stop: int) -> _Places:
        """Places from `start` on, before `stop`, with neither a separator before nor at them."""
        known = text[start - self.size : stop] >= 0
        whole = known[self.size :].copy()
        for back in range(1, self.size + 1):
            whole &= known[self.size - back : len(known) - back]
        return np.flatnonzero(whole) + start

    def _enter(self, text: Ids, ends: _Places) -> None:
        """Every round settles the n-grams whose slot is free or their own; the others probe on."""
        while self._taken + len(ends) > FULL * len(self._slots):
            self._grow(text)
        slots = self._hash(text, ends)
        while ends.size:
            free = self._slots[slots] == 0
            self._slots[slots[free]] = ends[free]  # of several, the last one stays
            held = self._slots[slots]
            self._taken += int(np.count_nonzero(free & (held == ends)))
            same = self._same(text, held, ends)
            self._slots[slots[same]] = ends[same]
            ends, slots = ends[~same], (slots[~same] + 1) & self._mask

    def _grow(self, text: Ids) -> None:
        ends = self._slots[self._slots > 0].astype(np.int64)
        self._clear(2 * len(self._slots))
        for start in range(0, len(ends), CHUNK):
            self._enter(text, ends[start : start + CHUNK])

    def _hash(self, text: Ids, ends: _Places) -> _Places:
        total = np.zeros(len(ends), dtype=np.uint64)
        for place, factor in enumerate(self._factors):
            total += text[ends - (self.size - place)].astype(np.uint64) * np.uint64(factor)
        return (total >> np.uint64(self._shift)).astype(np.int64)

    def _same(self, text: Ids, held: Ids, ends: _Places) -> NDArray[np.bool_]:
        same = np.ones(len(ends), dtype=np.bool_)
        for back in range(1, self.size + 1):
            same &= text[held - back] == text[ends - back]
        return same
