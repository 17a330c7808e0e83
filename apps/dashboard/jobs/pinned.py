"""A setting kept for comparison: measured against plain decoding, round by round, in turns of an iteration.

A machine that drifts, or that others use, drifts for both. So pins made at different times can be compared,
and how far their rounds differ says how much can be believed of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from dashboard.jobs.job import Job
from dashboard.jobs.proof import Verdict, compare
from dashboard.jobs.race import WARM, Entry, Lane, leaders
from dashboard.jobs.run import PLAIN, Plan
from dashboard.jobs.words import short
from phrasekit.bench.samples import merged
from phrasekit.pool import PhrasePool
from phrasekit.trace import Metrics

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Round:
    """Both texts, once; from an empty pool.

    Attributes:
        plain: plain decoding.
        own: the setting.
    """

    plain: Lane
    own: Lane

    @property
    def lanes(self) -> tuple[Lane, Lane]:
        """Both."""
        return self.plain, self.own

    @property
    def ratio(self) -> float:
        """How many times as fast as plain decoding a token was."""
        plain, own = (lane.ms / len(lane.tokens) for lane in self.lanes)
        return plain / own


class Pinned(Job):
    """Measures a plan.

    Attributes:
        plan: what to decode, and how.
        rounds: those that ended.
    """

    def __init__(self, plan: Plan, *, owner: str) -> None:
        super().__init__(owner)
        self.plan = plan
        self.rounds: tuple[Round, ...] = ()

    @property
    def name(self) -> str:
        """The method."""
        return self.plan.method

    @property
    def knobs(self) -> str:
        """The settings, short."""
        return short(self.plan.method, self.plan.knobs)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Times as fast as plain decoding, by round."""
        return tuple(one.ratio for one in self.rounds)

    @property
    def ratio(self) -> float | None:
        """Median of the rounds."""
        return median(self.ratios) if self.rounds else None

    @property
    def metrics(self) -> Metrics | None:
        """Of all rounds together."""
        return merged([one.own.metrics for one in self.rounds])

    @property
    def verdict(self) -> Verdict | None:
        """Whether the texts were those of plain decoding; the first that was not, else the last."""
        found = [compare(one.own.tokens, one.plain.tokens) for one in self.rounds]
        return next((one for one in found if not one.same), found[-1] if found else None)

    def work(self, pair: Any) -> Iterator[None]:
        """One iteration of one of both a step."""
        ids = self.plan.encode(pair)
        yield from self._round(pair, ids, steps=WARM)  # the first forwards of a process are slow
        for _ in range(ROUNDS):
            lanes = yield from self._round(pair, ids)
            if self.cancelled:
                return
            self.rounds = (*self.rounds, Round(*lanes))
            self.changed()

    def _round(
        self, pair: Any, ids: list[int], steps: int | None = None
    ) -> Generator[None, None, tuple[Lane, Lane]]:
        """Both to their ends, or so many steps; whoever had less time is next.

        Raises:
            RuntimeError: one of them failed.
        """
        plain, own = lanes = (Lane(Entry(name=PLAIN, method=PLAIN)), Lane(self._entry()))
        try:
            for lane in lanes:
                entry = lane.entry
                lane.begin(
                    pair, replace(self.plan, method=entry.method, knobs=entry.knobs), ids, PhrasePool()
                )
            while not self.cancelled and (open_ := [lane for lane in lanes if not _done(lane, steps)]):
                min(open_, key=lambda lane: lane.ms).step()
                yield
            if failure := plain.failure or own.failure:
                raise RuntimeError(failure)
        finally:
            for lane in lanes:
                lane.end()
        return lanes

    def _entry(self) -> Entry:
        return Entry(name=self.plan.method, method=self.plan.method, knobs=self.plan.knobs)


def _done(lane: Lane, steps: int | None) -> bool:
    return lane.over or (steps is not None and len(lane.iterations) >= steps)


def fastest(pins: Sequence[Pinned]) -> tuple[Pinned, ...]:
    """The fastest, first; then those of the same text whose rounds reach into its own: too close to tell."""
    found = leaders([pin for pin in pins if pin.over])
    return tuple(pin for pin in found if pin.plan.text_of == found[0].plan.text_of)
