"""Continuations from a corpus, verified side by side (REST, retrieval-based speculative decoding)."""

from __future__ import annotations

from time import perf_counter

from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.decode.tree import ROOT
from phrasekit.propose.corpus import Continuations, Corpus
from phrasekit.trace.records import RETRIEVED, STORE, RetrievalRecord

NODES = 64


class Rest(Proposer):
    """Proposes what followed the longest known end of the context, as a tree of 64 tokens at most."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        depth = min(draft.knobs.depth, draft.tree.limit)
        if depth < 1:
            return
        started = perf_counter()
        found = self.corpus.continuations(draft.context, depth=depth, nodes=NODES)
        draft.retrieval = _told(found, (perf_counter() - started) * 1000)
        for path in found.paths:
            draft.tree.add_branch(ROOT, path, RETRIEVED)


def _told(found: Continuations, ms: float) -> RetrievalRecord:
    return RetrievalRecord(
        source=STORE if found.paths else "",
        asked=1,
        matched=found.matched,
        offered=max(map(len, found.paths), default=0),
        ms=ms,
    )
