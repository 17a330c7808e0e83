"""When what ran: forwards and phases of a run as spans on one clock.

Forwards carry their own start. Phases do not: they follow each other, so an iteration starts where its
forward does, less the phases before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from phrasekit.trace.records import Iteration, Trace

FORWARD = "forward"
TARGET_LANE, HOST_LANE = "target", "host"


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time.

    Attributes:
        lane: "target", "draft" ("draft 2" for the draft's own draft, and so on) or "host".
        name: the phase; "forward" for a forward.
        iteration: 0-based number of the target's iteration.
        start: milliseconds on the run's clock.
        ms: how long.
        rows: rows fed, for a forward.
        tokens: tokens that came of it, for a forward.
        cached: rows in the cache before, for a forward.
    """

    lane: str
    name: str
    iteration: int
    start: float
    ms: float
    rows: int = 0
    tokens: int = 0
    cached: int = 0

    @property
    def end(self) -> float:
        """When it was over."""
        return self.start + self.ms


def draft_lane(level: int) -> str:
    """Name of the lane of the decoder `level` levels below the target."""
    return "draft" if level == 1 else f"draft {level}"


def forwards(iteration: Iteration, level: int = 0, index: int | None = None) -> Iterator[Span]:
    """Every forward of an iteration, those of the decoders below it first."""
    number = iteration.index if index is None else index
    for inner in iteration.draft:
        yield from forwards(inner, level + 1, number)
    lane = draft_lane(level) if level else TARGET_LANE
    forward = iteration.forward
    yield Span(
        lane=lane,
        name=FORWARD,
        iteration=number,
        start=forward.start_ms,
        ms=forward.ms,
        rows=forward.rows,
        tokens=len(iteration.emitted),
        cached=forward.cached,
    )


def starts(iteration: Iteration) -> float:
    """When an iteration started."""
    before = 0.0
    for phase, ms in iteration.phases.items():
        if phase == FORWARD:
            return iteration.forward.start_ms - before
        before += ms
    return iteration.forward.start_ms


def phases(iteration: Iteration) -> Iterator[Span]:
    """The phases of an iteration on the host, its forward among them."""
    start = starts(iteration)
    for phase, ms in iteration.phases.items():
        yield Span(HOST_LANE, phase, iteration.index, start, ms)
        start += ms


def origin(trace: Trace) -> float:
    """The earliest moment of a run; 0 for a run without iterations."""
    moments = [
        moment
        for iteration in trace.iterations
        for moment in (starts(iteration), *(span.start for span in forwards(iteration)))
    ]
    return min(moments, default=0.0)
