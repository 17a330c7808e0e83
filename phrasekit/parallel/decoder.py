"""Rounds of two lanes: the target verifies one draft while the draft model writes the next.

A round starts from V, the verified tokens, and U, an unverified tail. Beside each other the draft model
continues V U with D, and the target runs one forward over U and, behind it, a guide it retrieved. Its
walk emits U as far as it is right, and where all of it is, G: what it accepts of the guide and its own
token after that. D was written without knowing G; it survives as far as it begins with G, and the rest
is the next round's U. (PEARL: G is the target's one token, accepting it is pre-verification, and U being
checked a round late is post-verification. DOUBLE, arXiv 2601.05524, algorithms 1 and 2.)

So everything emitted is the target's own, and nothing of U is ever shown before it is verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from phrasekit.decode.decoder import Decoder, Judged
from phrasekit.decode.knobs import Knobs
from phrasekit.decode.prefix import common_prefix
from phrasekit.decode.proposer import Verdict
from phrasekit.decode.stopping import Limits
from phrasekit.parallel.drafter import Drafted, Drafter
from phrasekit.parallel.schedule import Schedule, Serial
from phrasekit.parallel.tail import Tail
from phrasekit.propose.datastore import Datastore
from phrasekit.trace.records import SERIAL, Iteration, LaneRecord, RoundRecord


class ParallelDecoder:
    """Decodes one sequence, one round at a time; used like a `Decoder`.

    Args:
        target: verifies; `tail` is its first proposer.
        drafter: the draft's lane.
        tail: carries U from one round to the next.
        schedule: when the lanes run.
        rejected: takes the drafts that are thrown away.
    """

    def __init__(
        self,
        target: Decoder,
        drafter: Drafter,
        tail: Tail,
        *,
        schedule: Schedule | None = None,
        rejected: Datastore | None = None,
    ) -> None:
        self.target = target
        self.drafter = drafter
        self._tail = tail
        self._schedule = schedule or Serial()
        self._rejected = rejected

    @property
    def knobs(self) -> Knobs:
        """Knobs of both lanes from the next round on."""
        return self.target.knobs

    @knobs.setter
    def knobs(self, knobs: Knobs) -> None:
        self.target.knobs = knobs

    @property
    def limits(self) -> Limits:
        """Where the text ends."""
        return self.target.limits

    @property
    def context(self) -> Sequence[int]:
        """Verified tokens, prompt included."""
        return self.target.context

    @property
    def emitted(self) -> tuple[int, ...]:
        """Generated tokens so far, all of them verified."""
        return self.target.emitted

    @property
    def finish_reason(self) -> str:
        """See `Decoder.finish_reason`."""
        return self.target.finish_reason

    @property
    def unverified(self) -> tuple[int, ...]:
        """U: what the next round verifies."""
        return self._tail.of(len(self.target.context))

    def __iter__(self) -> Iterator[Iteration]:
        """Rounds until the run ends."""
        while not self.finish_reason:
            yield self.step()

    def step(self) -> Iteration:
        """One round.

        Raises:
            RuntimeError: the run has ended.
            NonFiniteLogitsError: see `Decoder.step`.
        """
        target, knobs = self.target, self.target.knobs
        tail = self.unverified
        stem = [*target.context, *tail]
        judged, made = self._schedule.run(
            target.judge,
            lambda stopped: self.drafter.draft(stem, knobs, most=target.room - len(tail), stopped=stopped),
            wanted=lambda judged: not judged.ended and judged.verdict.accepted == len(tail),
        )
        judged.laps.mark("draft" if self._schedule.name == SERIAL else "wait")
        drafted = made or Drafted()
        kept = self._keep(judged.verdict, tail, drafted)
        record = target.settle(judged)
        if self.finish_reason:
            self.close()
        return replace(record, draft=drafted.iterations, round=self._round(judged, drafted, kept))

    def close(self) -> None:
        """End what runs in the background."""
        self._schedule.close()

    def _keep(self, verdict: Verdict, tail: Sequence[int], drafted: Drafted) -> int:
        """How many tokens of D, from its end, become U: those behind G, where D begins with it."""
        accepted, tokens = verdict.accepted, drafted.tokens
        # not the trunk's length: a tree that lost tokens says nothing about those behind them
        whole = accepted == len(tail)
        guided = tuple(verdict.emitted[len(tail) :]) if whole else ()  # G
        agreed = common_prefix(tokens, guided)
        kept = len(tokens) - agreed if whole and agreed == len(guided) else 0
        start = len(tokens) - kept
        # set before the commit: should that not come, the tail is one for another length and goes
        self._tail.set(tokens[start:], drafted.kinds[start:], behind=len(verdict.context))
        if not kept:
            self._note_rejected(verdict, tail[accepted:] if not whole else tokens[agreed:], accepted + agreed)
        return kept

    def _note_rejected(self, verdict: Verdict, refused: Sequence[int], right: int) -> None:
        """Remember what the target disagreed with, behind the tokens it followed: `right` of this round."""
        if self._rejected is not None and refused:
            stem = verdict.context[: len(verdict.context) - len(verdict.emitted) + right]
            self._rejected.add([*stem[-verdict.knobs.lookup_ngram :], *refused])

    def _round(self, judged: Judged, drafted: Drafted, kept: int) -> RoundRecord:
        return RoundRecord(
            schedule=self._schedule.name,
            drafted=drafted.tokens,
            kinds=drafted.kinds,
            kept=kept,
            target=LaneRecord(judged.laps.start_ms("propose"), judged.laps.span_ms("propose", "walk")),
            draft=drafted.lane,
        )
