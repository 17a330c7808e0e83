"""Fill the pool from what the target said (Ouroboros sections 3.3 and 3.4)."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.proposer import Proposer, Verdict
from phrasekit.pool import harvest
from phrasekit.pool.journal import PoolJournal
from phrasekit.pool.phrase import COMMITTED, DISCARDED
from phrasekit.pool.phrase import SUFFIX as REPAIRED
from phrasekit.trace.records import SUFFIX

PROMPT_PHRASES = 512  # n-grams of a prompt at most: more would take longer than they save


class Harvest(Proposer):
    """Proposes nothing; turns verdicts and committed text into phrases."""

    def __init__(self, pool: PoolJournal) -> None:
        self.pool = pool

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """The prompt's own n-grams are the first phrases; of a long prompt the last ones."""
        if knobs.harvest_committed:
            self._committed(prompt, max(0, len(prompt) - PROMPT_PHRASES), knobs.level)

    def learn(self, verdict: Verdict) -> None:
        """See `Proposer.learn`."""
        knobs, trunk = verdict.knobs, verdict.tree.trunk
        self._credit(verdict)
        if knobs.harvest_discarded and verdict.accepted < len(trunk):
            self._discarded(verdict)
        if knobs.repair != "off" and verdict.accepted == len(trunk):
            self._suffixes(verdict)
        if knobs.harvest_committed:
            self._committed(verdict.context, len(verdict.context) - len(verdict.emitted), knobs.level)

    def _credit(self, verdict: Verdict) -> None:
        for node in verdict.path:
            phrase = verdict.tree.phrases[node]
            if phrase >= 0:
                self.pool.credit(phrase, 1)

    def _discarded(self, verdict: Verdict) -> None:
        tree = verdict.tree
        draft = [tree.tokens[node] for node in tree.trunk]
        verdicts = [verdict.after(tree.parents[node]) for node in tree.trunk]
        for phrase in harvest.discarded_runs(draft, verdicts, verdict.accepted):
            self.pool.insert(phrase, DISCARDED)

    def _suffixes(self, verdict: Verdict) -> None:
        tree = verdict.tree
        key = tree.tokens[tree.trunk[-1]] if tree.trunk else None
        for branch in tree.branches:
            if branch.kind != SUFFIX:
                continue
            suffix = [tree.tokens[node] for node in branch.nodes]
            verdicts = [verdict.after(tree.parents[node]) for node in branch.nodes]
            start = verdict.context[-len(verdict.emitted) - 1] if key is None else key
            phrase = harvest.repaired(start, suffix, verdicts, rule=verdict.knobs.repair)
            if phrase is not None:
                self.pool.insert(phrase, REPAIRED)

    def _committed(self, context: Sequence[int], before: int, size: int) -> None:
        for ngram in harvest.new_ngrams(context, before, size):
            self.pool.insert(ngram, COMMITTED)
