"""Pool phrases verified directly behind the last token (lookahead decoding's verification branch)."""

from __future__ import annotations

from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.decode.tree import ROOT
from phrasekit.pool.journal import PoolJournal
from phrasekit.trace.records import PHRASE


class PoolGuesses(Proposer):
    """Proposes the G most recent phrases whose key is the last token."""

    def __init__(self, pool: PoolJournal) -> None:
        self.pool = pool

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        knobs = draft.knobs
        if knobs.guesses and draft.tree.limit > 0:
            for phrase in self.pool.lookup(draft.context[-1], knobs.guesses):
                draft.tree.add_branch(ROOT, phrase.tokens[1 : knobs.level], PHRASE, phrase.id)
