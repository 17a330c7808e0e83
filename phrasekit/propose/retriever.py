"""One query over everything that can be retrieved from (DOUBLE, arXiv 2601.05524, section 4).

The longest match wins; of equal ones that in the context comes before the store's, and the store's
before one among thrown-away drafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from phrasekit.decode.knobs import Knobs
from phrasekit.propose.datastore import Datastore
from phrasekit.propose.lookup import PromptLookup
from phrasekit.propose.stores import Store
from phrasekit.trace.records import CACHE, CONTEXT, STORE, RetrievalRecord


class Retriever:
    """Finds what followed the last tokens elsewhere.

    Args:
        store: texts of earlier runs; None retrieves from the context alone.
        rejected: drafts that were thrown away, each behind the tokens it followed.
    """

    def __init__(self, store: Store | None, rejected: Datastore) -> None:
        self._context = PromptLookup()
        self._stores = ((STORE, store), (CACHE, rejected))

    def find(self, context: Sequence[int], knobs: Knobs, room: int) -> tuple[list[int], RetrievalRecord]:
        """At most d tokens that may follow `context`, and the record of the query.

        Args:
            context: tokens to continue.
            knobs: `depth`, `lookup_ngram` and `reuse_rejected` count.
            room: no more tokens than this.
        """
        started, count = perf_counter(), min(knobs.depth, room)
        if count < 1:
            return [], RetrievalRecord()
        found, matched = self._context.search(context, count=count, ngram=knobs.lookup_ngram)
        source = CONTEXT
        for name, store in self._stores:
            if store is None or (name == CACHE and not knobs.reuse_rejected):
                continue
            other = store.find(context[-knobs.lookup_ngram :], count)
            if other.matched > matched:
                found, matched, source = list(other.tokens), other.matched, name
        ms = 1e3 * (perf_counter() - started)
        return found, RetrievalRecord(source if found else "", 1, matched, len(found), ms)
