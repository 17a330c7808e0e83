"""Which phrases come first: out of a full pool, and back from a lookup.

Under one key every phrase is looked at, they are few. Over all keys a policy that counts keeps a heap
whose entries are corrected only when they come up: between two restarts counters and recency only grow,
so an outdated entry comes up too early and never too late. A lookup costs no more than with "lru", an
eviction O(log n) on average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush, heapreplace
from operator import attrgetter
from typing import Protocol

from phrasekit.pool.phrase import Phrase

Phrases = Mapping[int, Phrase]  # by id, the least recently touched first
SLACK = 64  # entries of phrases long gone that a heap may hold beside as many as there are phrases


class Policy(Protocol):
    """Names the phrase that goes when there are too many."""

    def weakest(self, held: Sequence[Phrase]) -> Phrase:
        """The first to go among those of one key, the least recently touched first."""
        ...

    def victim(self) -> Phrase:
        """The first to go among all."""
        ...

    def admit(self, phrase: Phrase) -> None:
        """A phrase has come in."""
        ...

    def restart(self) -> None:
        """Counters have become smaller."""
        ...


class LeastRecent:
    """The least recently touched phrase goes first.

    Args:
        phrases: the pool's own, by id; never changed here.
    """

    def __init__(self, phrases: Phrases) -> None:
        self._phrases = phrases

    def weakest(self, held: Sequence[Phrase]) -> Phrase:
        """See `Policy.weakest`."""
        return held[0]

    def victim(self) -> Phrase:
        """See `Policy.victim`."""
        return next(iter(self._phrases.values()))

    def admit(self, phrase: Phrase) -> None:
        """Nothing to note: the pool keeps phrases in order."""

    def restart(self) -> None:
        """Nothing to forget."""


class LeastCounted:
    """The phrase with the smallest counter goes first, of equals the least recently touched.

    Args:
        counter: the phrase's attribute that counts.
        phrases: the pool's own, by id; never changed here.
    """

    def __init__(self, counter: str, phrases: Phrases) -> None:
        self._count: Callable[[Phrase], int] = attrgetter(counter)
        self._entry: Callable[[Phrase], tuple[int, int, int]] = attrgetter(counter, "touched", "id")
        self._phrases = phrases
        self._heap: list[tuple[int, int, int]] = []

    def weakest(self, held: Sequence[Phrase]) -> Phrase:
        """See `Policy.weakest`."""
        return min(held, key=self._count)

    def victim(self) -> Phrase:
        """See `Policy.victim`."""
        while True:
            phrase = self._phrases.get(self._heap[0][-1])
            if phrase is None:
                heappop(self._heap)
            elif self._heap[0] == self._entry(phrase):
                return phrase
            else:
                heapreplace(self._heap, self._entry(phrase))

    def admit(self, phrase: Phrase) -> None:
        """See `Policy.admit`."""
        heappush(self._heap, self._entry(phrase))
        if len(self._heap) > 2 * len(self._phrases) + SLACK:
            self.restart()

    def restart(self) -> None:
        """See `Policy.restart`."""
        self._heap = [self._entry(phrase) for phrase in self._phrases.values()]
        heapify(self._heap)


POLICIES: Mapping[str, Callable[[Phrases], Policy]] = {
    "lru": LeastRecent,
    "least_used": partial(LeastCounted, "uses"),
    "least_accepted": partial(LeastCounted, "accepted"),
}


def most_recent(held: list[Phrase], count: int) -> tuple[Phrase, ...]:
    """The last `count`, newest first."""
    return tuple(held[: -count - 1 : -1])


def most_accepted(held: list[Phrase], count: int) -> tuple[Phrase, ...]:
    """Those with the most accepted tokens, of equals the newest first; they become the newest."""
    chosen = most_recent(sorted(held, key=_accepted), count)
    taken = {phrase.id for phrase in chosen}
    held[:] = [phrase for phrase in held if phrase.id not in taken]
    held.extend(reversed(chosen))
    return chosen


ORDERS: Mapping[str, Callable[[list[Phrase], int], tuple[Phrase, ...]]] = {
    "recent": most_recent,
    "accepted": most_accepted,
}
_accepted: Callable[[Phrase], int] = attrgetter("accepted")
