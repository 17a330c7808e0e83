"""A decoder's view of a shared pool that remembers what was asked and changed."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.pool.phrase import Phrase
from phrasekit.pool.pool import PhrasePool
from phrasekit.trace.records import PhraseRecord, PoolRecord


class PoolJournal:
    """Passes calls on to a pool and keeps them for the trace, one iteration at a time."""

    def __init__(self, pool: PhrasePool) -> None:
        self.pool = pool
        self._reset()

    def lookup(self, key: int, count: int) -> tuple[Phrase, ...]:
        """See `PhrasePool.lookup`."""
        found = self.pool.lookup(key, count)
        self._lookups += 1
        self._hits += bool(found)
        self._retrieved.extend(found)
        return found

    def insert(self, tokens: Sequence[int], source: str) -> None:
        """See `PhrasePool.insert`."""
        new, gone = self.pool.insert(tokens, source)
        if new is not None:
            self._inserted.append(new)
        self._evicted.extend(gone)

    def credit(self, phrase_id: int, tokens: int) -> None:
        """See `PhrasePool.credit`."""
        self.pool.credit(phrase_id, tokens)

    def drain(self) -> PoolRecord:
        """Hand the activity over and start anew."""
        record = PoolRecord(
            lookups=self._lookups,
            hits=self._hits,
            retrieved=tuple(map(_record, self._retrieved)),
            inserted=tuple(map(_record, self._inserted)),
            evicted=tuple(self._evicted),
            size=len(self.pool),
        )
        self._reset()
        return record

    def _reset(self) -> None:
        self._lookups = 0
        self._hits = 0
        self._retrieved: list[Phrase] = []
        self._inserted: list[Phrase] = []
        self._evicted: list[int] = []


def _record(phrase: Phrase) -> PhraseRecord:
    return PhraseRecord(phrase.id, phrase.tokens, phrase.source)
