"""Retrieved tokens as proposals: behind a draft model's last token, or behind the target's draft."""

from __future__ import annotations

from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.decode.tree import ROOT
from phrasekit.propose.retriever import Retriever
from phrasekit.trace.records import CACHE, GUIDE, REJECTED, RETRIEVED


class Retrieve(Proposer):
    """Proposes what a query finds, for the draft model to verify: a step of iterative retrieval."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        if draft.knobs.retrieve:
            found, draft.retrieval = self.retriever.find(draft.context, draft.knobs, draft.tree.limit)
            kind = REJECTED if draft.retrieval.source == CACHE else RETRIEVED
            draft.tree.add_branch(ROOT, found, kind)


class Guide(Proposer):
    """Proposes, behind the trunk, what a query of the target finds: its multi-token guidance."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        tree = draft.tree
        if draft.knobs.guide:
            end = tree.trunk[-1] if tree.trunk else ROOT
            stem = [*draft.context, *tree.path_tokens(end)]
            found, draft.retrieval = self.retriever.find(stem, draft.knobs, tree.limit - tree.depth(end))
            tree.add_branch(end, found, GUIDE)
