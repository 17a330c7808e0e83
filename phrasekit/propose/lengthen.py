"""Lengthen the draft with pool phrases (Ouroboros section 3.2)."""

from __future__ import annotations

from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.decode.tree import ROOT
from phrasekit.pool.journal import PoolJournal
from phrasekit.trace.records import SUFFIX


class Lengthen(Proposer):
    """Appends the K most recent phrases that start with the draft's last token, β−1 tokens of each.

    Without a draft the phrases stand behind the last committed token.
    """

    def __init__(self, pool: PoolJournal) -> None:
        self.pool = pool

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        tree, knobs = draft.tree, draft.knobs
        last = tree.trunk[-1] if tree.trunk else ROOT
        if not knobs.suffixes or tree.depth(last) >= tree.limit:
            return
        key = tree.tokens[last] if tree.trunk else draft.context[-1]
        if key in tree.ends:
            return
        for phrase in self.pool.lookup(key, knobs.suffixes):
            tree.add_branch(last, phrase.tokens[1 : knobs.beta], SUFFIX, phrase.id)
