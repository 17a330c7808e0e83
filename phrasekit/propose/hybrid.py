"""One tree from every source, and the draft model only where it pays.

Copies from the context, pool phrases and the draft model's chain hang from the same root and share
prefixes. Before each iteration three ways (all of these, all but the draft, nothing) are compared
by what they earned lately, tokens per millisecond, in the same situation: how far the last tokens
match earlier text, and how long the text is. A long match is trusted untried; what the draft model
has to read first has its price. So a text that copies itself is copied, one that does not is drafted,
and where nothing pays decoding is plain. The choice changes the work, never the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.proposer import Draft, Proposer, Verdict
from phrasekit.decode.tree import ROOT
from phrasekit.pool.ledger import PLAIN, Ledger, Situation, Way
from phrasekit.propose.lengthen import Lengthen
from phrasekit.propose.lookup import PromptLookup
from phrasekit.propose.model import ModelProposer
from phrasekit.trace.records import LOOKUP, TARGET

DRAFTING, COPYING, GUESSING = "draft", "copy", "guess"
MATCHES = (0, 1, 2, 3, 5)  # at least so many matched tokens
SPAN = 512  # tokens of context; every doubling is a span of its own
READING = 32  # rows from which on a model reads rather than drafts


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
        self._proposed = 0.0
        self._way = PLAIN
        self._situation = Situation(0, 0)
        self._prompt = 0  # its length until the target has read it
        self._counts = True
        self._held = 0  # tokens of the last copy, if all of them were right

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """See `Proposer.start`."""
        self._prompt = len(prompt)
        self._held = 0
        self.lookup.start(prompt, knobs)

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        self._started = self._clock()
        copied, matched = self.lookup.find(draft)
        self._situation = _situation(matched, len(draft.context))
        self._counts = not self._prompt  # reading takes a time that says nothing about the next iteration
        ways = self._ways(draft, matched)
        self._way = self.ledger.choose(ways, self._situation, room=draft.tree.limit + 1)
        if self._way == DRAFTING and self.model is not None:
            self._draft(draft, self.model)
        if self._way != PLAIN:
            # rows are not free: a short match vouches for a short copy, one that held for a longer one
            draft.tree.add_branch(ROOT, copied[: 2 * matched + 2 + self._held], LOOKUP)
            self.lengthen.propose(draft)
        if not len(draft.tree):
            self._way = PLAIN
        draft.note = f"{self._way}: {matched} tokens matched earlier text"
        self._proposed = self._clock()

    def learn(self, verdict: Verdict) -> None:
        """See `Proposer.learn`."""
        now = self._clock()
        if self._prompt >= READING:
            self.ledger.enter_reading(TARGET, rows=self._prompt, ms=1e3 * (now - self._proposed))
        self._prompt = 0
        self._held = _copied_whole(verdict)
        if self._counts:
            ms = 1e3 * (now - self._started)
            self.ledger.enter(self._way, self._situation, tokens=len(verdict.emitted), ms=ms)

    def _draft(self, draft: Draft, model: ModelProposer) -> None:
        rows, started = _unread(draft, model), self._clock()
        model.propose(draft)
        if rows >= READING:
            self._counts = False
            self.ledger.enter_reading(DRAFTING, rows=rows, ms=1e3 * (self._clock() - started))

    def _ways(self, draft: Draft, matched: int) -> list[Way]:
        """What is possible, the most promising first."""
        price = self._price(draft, self.model) if self.model is not None and draft.knobs.gamma else None
        drafting = [] if price is None else [Way(DRAFTING, price=price)]
        if matched < 2:
            return [*drafting, Way(GUESSING), Way(PLAIN)]
        return [Way(COPYING, promise=1 + matched / 5), *drafting, Way(PLAIN)]

    def _price(self, draft: Draft, model: ModelProposer) -> float | None:
        """What the draft model's reading of the text so far will take; None where that cannot be told."""
        rows = _unread(draft, model)
        if rows < READING:
            return 0.0
        known = self.ledger.reading(DRAFTING)
        if known is not None:
            return rows * known
        # before it has read anything, a row costs in proportion to the weights that it meets
        known = self.ledger.reading(TARGET)
        return None if known is None else rows * known * model.decoder.model.weights / draft.weights


def _unread(draft: Draft, model: ModelProposer) -> int:
    """Rows that the draft model has to catch up with."""
    return len(draft.context) - model.decoder.cached


def _copied_whole(verdict: Verdict) -> int:
    """Length of the copy, or 0 where some of it was wrong."""
    copy = next((branch.nodes for branch in verdict.tree.branches if branch.kind == LOOKUP), ())
    return len(copy) if set(copy) <= set(verdict.path) else 0


def _situation(matched: int, length: int) -> Situation:
    return Situation(max(at for at in MATCHES if at <= matched), (length // SPAN).bit_length())
