"""A fixed body of text under a suffix array: every place where the end of the context stands in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasekit.propose.datastore import Datastore
from phrasekit.propose.documents import (
    NOTHING,
    SEPARATOR,
    Ids,
    Retrieved,
    as_document,
    checked_mark,
    prompt_mark,
)

LONGEST, SHORTEST = 16, 2  # tokens of context that are looked for
MATCHES = 500  # places looked at; of more, as many at even distances


@dataclass(frozen=True, slots=True)
class Continuations:
    """What a corpus knows to follow a context.

    Attributes:
        paths: sequences of tokens, the most frequent first; together a trie.
        matched: last tokens of the context that they were found by; 0 where nothing matched.
        places: how often those tokens stand in the corpus with something behind them.
    """

    paths: tuple[tuple[int, ...], ...] = ()
    matched: int = 0
    places: int = 0


class Corpus:
    """Documents of token ids, found by the longest suffix of a context that stands in them.

    It never changes, so that threads may share it.

    Args:
        text: documents, each with −1 behind it; int32.
        suffixes: where the suffixes of `text` start, in lexicographic order; int32 of the same length.
        sources: marks of the prompts it was made from.
        fingerprint: of the tokenizer the ids belong to, `Pair.fingerprint`; "" leaves it open.

    Raises:
        ValueError: arrays that are no such thing; their order is not looked at.
    """

    def __init__(
        self, text: Ids, suffixes: Ids, *, sources: Iterable[str] = (), fingerprint: str = ""
    ) -> None:
        if len(text) and (text[-1] != SEPARATOR or (text < SEPARATOR).any()):
            raise ValueError("the text of a corpus must be documents with -1 behind each, but got other ids")
        if len(suffixes) != len(text) or (
            len(text) and not 0 <= suffixes.min() <= suffixes.max() < len(text)
        ):
            raise ValueError(f"the suffixes of a corpus must be the {len(text)} places of its text")
        self.fingerprint = fingerprint
        self.sources = frozenset(map(checked_mark, sources))
        self._text, self._suffixes = text, suffixes
        self._words, self._order = text.data, suffixes.data
        self._documents = int(np.count_nonzero(text == SEPARATOR))

    @classmethod
    def build(
        cls, documents: Iterable[Sequence[int]], *, sources: Iterable[str] = (), fingerprint: str = ""
    ) -> Corpus:
        """Sort the suffixes of some documents; about a second for a million tokens.

        Args:
            documents: token ids.
            sources: `prompt_mark` of every prompt they were made from.
            fingerprint: of the tokenizer.

        Raises:
            ImportError: the library for it is not installed.
            TypeError: a document that is no list of token ids.
            ValueError: an id below 0 or beyond 32 bits, or a source that is no mark.
        """
        parts = [part for part in map(as_document, documents) if len(part) > 1]
        text = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
        return cls(text, _sorted_suffixes(text), sources=sources, fingerprint=fingerprint)

    @classmethod
    def freeze(cls, store: Datastore) -> Corpus:
        """What a datastore holds, as a corpus; see `build` for the errors."""
        text, marks = store.contents()
        return cls(text, _sorted_suffixes(text), sources=marks, fingerprint=store.fingerprint)

    def __len__(self) -> int:
        """Tokens held."""
        return len(self._text) - self._documents

    @property
    def documents(self) -> int:
        """Documents held."""
        return self._documents

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._text.nbytes + self._suffixes.nbytes

    def saw(self, prompt: Sequence[int]) -> bool:
        """Whether something was made from this prompt."""
        return prompt_mark(prompt) in self.sources

    def contents(self) -> tuple[Ids, Ids]:
        """Text and suffixes; not to be changed."""
        return self._text, self._suffixes

    def find(self, context: Sequence[int], count: int, *, ngram: int | None = None) -> Retrieved:
        """The likeliest continuation: at every token the most frequent one goes on.

        Args:
            context: token ids.
            count: tokens wanted at most.
            ngram: longest end of the context to match; None takes 16 tokens.
        """
        start, stop, matched = self._places(context, LONGEST if ngram is None else min(ngram, LONGEST))
        if start == stop or count < 1:
            return NOTHING
        return Retrieved(_favourite(self._rows(start, stop, matched, count)), matched)

    def continuations(self, context: Sequence[int], *, depth: int, nodes: int) -> Continuations:
        """The most frequent beginnings of all continuations, as a trie.

        Args:
            context: token ids.
            depth: tokens of a path at most.
            nodes: of the trie at most. The most frequent beginnings stay; of equally frequent ones the
                shorter, then those that come first by their ids.
        """
        start, stop, matched = self._places(context, LONGEST)
        if start == stop or depth < 1 or nodes < 1:
            return Continuations()
        rows = self._rows(start, stop, matched, depth)
        return Continuations(_paths(rows, nodes), matched, stop - start)

    def _places(self, context: Sequence[int], longest: int) -> tuple[int, int, int]:
        """The run of suffixes that begin with the longest known end of the context, and its length.

        What a shorter end of the context is not found by, a longer one is not either.
        """
        last = list(context[-longest:]) if longest > 0 else []
        low, high = SHORTEST - 1, 0 if SEPARATOR in last else len(last)
        while low < high:
            size = (low + high + 1) // 2
            low, high = (size, high) if self._first(last[-size:]) is not None else (low, size - 1)
        if low < SHORTEST:
            return 0, 0, 0
        first = self._first(last[-low:])
        if first is None:
            return 0, 0, 0
        return first, self._behind(last[-low:], first), low

    def _first(self, wanted: list[int]) -> int | None:
        """The first suffix that begins with `wanted` and goes on; those that end there come before it."""
        words, order, size = self._words, self._order, len(wanted)
        found = bisect_left(order, [*wanted, 0], key=lambda place: words[place : place + size + 1].tolist())
        if found == len(order):
            return None
        place = order[found]
        return found if words[place : place + size].tolist() == wanted else None

    def _behind(self, wanted: list[int], first: int) -> int:
        """Where the suffixes that begin with `wanted` are over."""
        words, order, size = self._words, self._order, len(wanted)
        return bisect_right(order, wanted, lo=first, key=lambda place: words[place : place + size].tolist())

    def _rows(self, start: int, stop: int, matched: int, depth: int) -> Ids:
        """Continuations in lexicographic order, −1 from where a document ends; int32 [places, depth]."""
        count = min(stop - start, MATCHES)
        chosen = start + np.arange(count, dtype=np.int64) * (stop - start) // count
        places = self._suffixes[chosen].astype(np.int64)[:, None] + np.arange(matched, matched + depth)
        rows: Ids = self._text[np.minimum(places, len(self._text) - 1)]
        rows[np.logical_or.accumulate(rows == SEPARATOR, axis=1)] = SEPARATOR
        return rows


def _favourite(rows: Ids) -> tuple[int, ...]:
    """At every depth the most frequent token; of equally frequent ones the lowest id."""
    path: list[int] = []
    for depth in range(rows.shape[1]):
        if len(rows) == 1:
            rest = rows[0, depth:].tolist()
            return (*path, *(rest[: rest.index(SEPARATOR)] if SEPARATOR in rest else rest))
        rows = rows[np.searchsorted(rows[:, depth], 0) :]  # those that go on
        if not len(rows):
            break
        tokens, starts, counts = np.unique(rows[:, depth], return_index=True, return_counts=True)
        best = int(np.argmax(counts))
        rows = rows[starts[best] : starts[best] + counts[best]]
        path.append(int(tokens[best]))
    return tuple(path)


def _paths(rows: Ids, nodes: int) -> tuple[tuple[int, ...], ...]:
    """The `nodes` most frequent beginnings of sorted rows, those that begin another one left out.

    A beginning is at least as frequent as what goes on from it and stands before it where they tie, so
    that whatever is kept is kept with all its beginnings.
    """
    depths, firsts, counts = _beginnings(rows)
    rank = counts * np.int64(len(counts)) - np.arange(len(counts))  # no two alike
    best = np.argpartition(-rank, nodes - 1)[:nodes] if len(rank) > nodes else np.arange(len(rank))
    best = best[np.argsort(-rank[best])]
    kept = [
        tuple(rows[first, : depth + 1].tolist())
        for first, depth in zip(firsts[best].tolist(), depths[best].tolist(), strict=True)
    ]
    begun = {path[:-1] for path in kept}
    return tuple(path for path in kept if path not in begun)


def _beginnings(rows: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every different beginning: its last column, its first row, and how many rows share it."""
    new = np.ones(rows.shape, dtype=np.bool_)
    new[1:] = np.logical_or.accumulate(rows[1:] != rows[:-1], axis=1)
    depths, firsts = np.nonzero(new.T)  # by depth, then by row
    ends = np.append(firsts[1:], len(rows))
    counts = np.where(ends > firsts, ends, len(rows)) - firsts  # the last one of a depth reaches the end
    whole = rows[firsts, depths] != SEPARATOR
    return depths[whole], firsts[whole], counts[whole]


def _sorted_suffixes(text: Ids) -> Ids:
    try:
        from pydivsufsort import divsufsort
    except ImportError as error:
        raise ImportError(
            "building a corpus needs pydivsufsort, but it is not installed; pip install 'phrasekit[retrieve]'"
        ) from error
    if not len(text):
        return np.empty(0, dtype=np.int32)
    sorted_: Ids = divsufsort(text).astype(np.int32)
    return sorted_
