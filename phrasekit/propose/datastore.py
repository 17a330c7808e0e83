"""Text seen before, growing while it is used: what followed the longest n-gram the last time."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from phrasekit.decode.bounds import check_whole
from phrasekit.propose.documents import (
    NOTHING,
    SEPARATOR,
    Ids,
    Retrieved,
    as_document,
    checked_mark,
    prompt_mark,
)
from phrasekit.propose.ngrams import NgramIndex

# The least is more than any continuation or n-gram asked for, so that eviction always leaves room.
CAPACITY = (64, 1 << 28)
NGRAM = (1, 8)
FIRST_TOKENS = 1024


class Datastore:
    """Documents of token ids, found by their n-grams; the oldest go when it is full.

    Continuations never cross documents. Safe to share between threads.

    Attributes:
        capacity: tokens held at most, one more counted for every document. When they are reached, the
            oldest documents go, a quarter of the capacity at least; of a document longer than that, its
            beginning.
        ngram: longest n-gram that is matched. Memory grows with it: at the default of 3 a million
            tokens take less than 32 MB.
        fingerprint: of the tokenizer the ids belong to, `Pair.fingerprint`; "" leaves it open.

    Raises:
        TypeError: a setting that is no whole number.
        ValueError: a setting outside its bounds.
    """

    def __init__(self, *, capacity: int = 1_000_000, ngram: int = 3, fingerprint: str = "") -> None:
        check_whole("capacity", capacity, *CAPACITY)
        check_whole("ngram", ngram, *NGRAM)
        self.capacity = capacity
        self.ngram = ngram
        self.fingerprint = fingerprint
        self._indexes = [NgramIndex(size) for size in range(1, ngram + 1)]
        self._marks: dict[str, int] = {}  # mark of a prompt → where its last document ends
        self._documents = 0
        self._used = 0
        self._lock = Lock()
        self._text: Ids = np.empty(0, dtype=np.int32)
        self._allocate(min(FIRST_TOKENS, capacity))

    @classmethod
    def restore(
        cls, text: Ids, marks: Mapping[str, int], *, capacity: int, ngram: int, fingerprint: str
    ) -> Datastore:
        """A store with these `contents`.

        Raises:
            ValueError: a setting outside its bounds, or contents that no store of these settings has.
        """
        store = cls(capacity=capacity, ngram=ngram, fingerprint=fingerprint)
        if len(text) > capacity or (len(text) and text[-1] != SEPARATOR) or (text < SEPARATOR).any():
            raise ValueError(
                f"contents must be documents of {capacity} tokens at most, but got {len(text)} in all"
            )
        for mark, end in marks.items():
            check_whole("the end of a source", end, 1, len(text))
            store._marks[checked_mark(mark)] = end
        store._append(text)
        return store

    def __len__(self) -> int:
        """Tokens held."""
        return self._used - self._documents

    @property
    def documents(self) -> int:
        """Documents held."""
        return self._documents

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        with self._lock:
            marks = sys.getsizeof(self._marks) + sum(map(sys.getsizeof, self._marks))
            return self._text.nbytes + sum(index.nbytes for index in self._indexes) + marks

    @property
    def sources(self) -> frozenset[str]:
        """Marks of the prompts whose documents are held."""
        with self._lock:
            return frozenset(self._marks)

    def saw(self, prompt: Sequence[int]) -> bool:
        """Whether a document that is held was made from this prompt."""
        return prompt_mark(prompt) in self._marks

    def add(self, tokens: Sequence[int], *, source: str = "") -> None:
        """Append one document.

        Args:
            tokens: ids; an empty document is left out.
            source: `prompt_mark` of the prompt it was made from; "" where there was none.

        Raises:
            TypeError: no token ids.
            ValueError: an id below 0 or beyond 32 bits, or a source that is no mark.
        """
        checked_mark(source)
        document = as_document(tokens)[-self.capacity :]
        if len(document) == 1:
            return
        with self._lock:
            if self._used + len(document) > self.capacity:
                self._evict(len(document))
            self._append(document)
            if source:
                self._marks[source] = self._used

    def find(self, context: Sequence[int], count: int, *, ngram: int | None = None) -> Retrieved:
        """What followed the longest n-gram at the end of `context`, the last time it was seen.

        Args:
            context: token ids.
            count: tokens wanted at most.
            ngram: longest n-gram to match; None, or more than the store has, takes the store's.
        """
        longest = self.ngram if ngram is None else min(ngram, self.ngram)
        if count < 1 or longest < 1:
            return NOTHING
        last = list(context[-longest:])
        with self._lock:
            for size in range(len(last), 0, -1):
                end = self._indexes[size - 1].latest(self._view, last[-size:])
                if end:
                    return Retrieved(self._after(end, count), size)
        return NOTHING

    def contents(self) -> tuple[Ids, dict[str, int]]:
        """All documents, oldest first and each with −1 behind it, and where those of a source end."""
        with self._lock:
            return self._text[: self._used].copy(), dict(self._marks)

    def _after(self, end: int, count: int) -> tuple[int, ...]:
        tokens = self._view[end : end + count].tolist()
        return tuple(tokens[: tokens.index(SEPARATOR)] if SEPARATOR in tokens else tokens)

    def _append(self, text: Ids) -> None:
        start, self._used = self._used, self._used + len(text)
        if self._used > len(self._text):
            self._allocate(min(max(self._used, 2 * len(self._text)), self.capacity))
        self._text[start : self._used] = text
        self._documents += int(np.count_nonzero(text == SEPARATOR))
        self._index(start)

    def _index(self, start: int) -> None:
        for index in self._indexes:
            index.extend(self._text, start, self._used)

    def _evict(self, coming: int) -> None:
        """Drop the oldest documents, so many that the next eviction is a quarter of the capacity away."""
        kept = max(self.capacity - self.capacity // 4 - coming, 0)
        first = self._used - kept - 1
        # what is dropped ends with a document
        start = first + int(np.argmax(self._text[first : self._used] == SEPARATOR)) + 1
        self._documents -= int(np.count_nonzero(self._text[:start] == SEPARATOR))
        self._marks = {mark: end - start for mark, end in self._marks.items() if end > start}
        self._used -= start
        self._text[: self._used] = self._text[start : start + self._used].copy()
        for index in self._indexes:
            index.clear()
        self._index(0)

    def _allocate(self, tokens: int) -> None:
        grown = np.full(tokens, SEPARATOR, dtype=np.int32)
        grown[: len(self._text)] = self._text
        self._text = grown
        self._view = grown.data  # much faster than numpy for single values and short runs
