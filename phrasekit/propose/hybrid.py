"""One tree from every source, and the draft model only where it pays.

Copies from the context, pool phrases and the draft model's chain hang from the same root and share
prefixes. Before each iteration three ways (all of these, all but the draft, nothing) are compared
by what they earned lately, tokens per millisecond, in the same situation: how far the last tokens
match earlier text. So a text that copies itself is copied, one that does not is drafted, and where
nothing pays decoding is plain. The choice changes the work, never the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.proposer import Draft, Proposer, Verdict
from phrasekit.decode.tree import ROOT
from phrasekit.pool.ledger import Ledger
from phrasekit.propose.lengthen import Lengthen
from phrasekit.propose.lookup import PromptLookup
from phrasekit.propose.model import ModelProposer
from phrasekit.trace.records import LOOKUP

DRAFTING, COPYING, PLAIN = "draft", "copy", "plain"
SITUATIONS = (0, 1, 2, 3, 5)  # at least so many matched tokens


class Hybrid(Proposer):
    """Chooses a way per iteration and proposes what it brings.

    Args:
        model: drafts the chain; None where the pair has no draft model.
        lookup: finds copies in the context.
        lengthen: adds pool phrases, behind the chain or the root.
        ledger: rates so far; outlives the prompt.
        clock: seconds; another one makes the choices reproducible.
    """

    def __init__(
        self,
        model: ModelProposer | None,
        lookup: PromptLookup,
        lengthen: Lengthen,
        ledger: Ledger,
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.model = model
        self.lookup = lookup
        self.lengthen = lengthen
        self.ledger = ledger
        self._clock = clock
        self._started = 0.0
        self._way = PLAIN
        self._situation = 0
        self._reads_prompt = True

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """See `Proposer.start`."""
        self._reads_prompt = True
        self.lookup.start(prompt, knobs)

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        self._started = self._clock()
        copied, matched = self.lookup.find(draft)
        self._situation = max(at for at in SITUATIONS if at <= matched)
        self._way = self.ledger.choose(self._ways(draft.knobs, matched), self._situation)
        draft.note = f"{self._way}: {matched} tokens matched earlier text"
        if self._way == DRAFTING and self.model is not None:
            self.model.propose(draft)
        if self._way != PLAIN:
            # rows are not free: a short match vouches for a short copy
            draft.tree.add_branch(ROOT, copied[: 2 * matched + 2], LOOKUP)
            self.lengthen.propose(draft)

    def learn(self, verdict: Verdict) -> None:
        """See `Proposer.learn`."""
        if not self._reads_prompt:  # reading the prompt takes a time that says nothing
            ms = 1e3 * (self._clock() - self._started)
            self.ledger.enter(self._way, self._situation, tokens=len(verdict.emitted), ms=ms)
        self._reads_prompt = False

    def _ways(self, knobs: Knobs, matched: int) -> list[str]:
        """What is possible, the most promising first."""
        drafts = [DRAFTING] if self.model is not None and knobs.gamma else []
        return [COPYING, *drafts, PLAIN] if matched > 1 else [*drafts, COPYING, PLAIN]
