"""When the draft model and the target ran, and what plain decoding would have done meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from phrasekit.trace.export.schedule import HOST_LANE, TARGET_LANE, Span, draft_lane, forwards, starts
from phrasekit.trace.records import Iteration, Trace
from phrasekit.trace.summary import counted
from phrasekit.views.table import Table

MOST = 24  # iterations in one picture
PLAIN_LANE = "plain"
GIVEN, ONE_ROW, FASTEST, NOTHING = "given", "one row", "fastest", ""
_WHENCE = {
    GIVEN: "measured",
    ONE_ROW: "this run's target forwards of one row",
    FASTEST: "this run's fastest target forward, so not measured",
}


@dataclass(frozen=True, slots=True)
class Band:
    """An iteration on the axis of time.

    Attributes:
        iteration: 0-based number.
        start: in milliseconds, or in target forwards.
        end: of the iteration.
        emitted: tokens that entered the text.
    """

    iteration: int
    start: float
    end: float
    emitted: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Bars and bands on one axis.

    Attributes:
        unit: "ms", or "target forwards".
        spans: bars of all lanes, plain decoding's among them.
        bands: the iterations.
        overlaps: start and end of the stretches in which draft and target both worked.
    """

    unit: str
    spans: tuple[Span, ...]
    bands: tuple[Band, ...]
    overlaps: tuple[tuple[float, float], ...] = ()

    @property
    def overlap(self) -> float:
        """Time in which draft and target both worked."""
        return sum(end - start for start, end in self.overlaps)

    @property
    def end(self) -> float:
        """End of the axis."""
        return max([span.end for span in self.spans] + [band.end for band in self.bands], default=0.0)

    def busy(self, lane: str) -> float:
        """Time within the bars of a lane."""
        return sum(span.ms for span in self.spans if span.lane == lane)


@dataclass(frozen=True, slots=True)
class TimelineInfo:
    """A run in time.

    Attributes:
        measured: in milliseconds, from the start of the first iteration shown.
        ideal: in units of one target forward, with nothing but forwards, one after another; in a parallel
            round the draft's beside the target's.
        lanes: in the order they are drawn.
        plain: milliseconds a token of plain decoding.
        whence: how that is known.
        ratio: one draft forward in target forwards; medians.
        prompt_ms: the iteration that read the prompt, where it is not among those shown.
        left_out: iterations behind those shown.
    """

    measured: Clock
    ideal: Clock
    lanes: tuple[str, ...]
    plain: float
    whence: str
    ratio: float
    prompt_ms: float
    left_out: int

    @property
    def emitted(self) -> int:
        """Tokens of the iterations shown."""
        return sum(band.emitted for band in self.measured.bands)

    @property
    def ms(self) -> float:
        """Time of the iterations shown."""
        bands = self.measured.bands
        return bands[-1].end - bands[0].start if bands else 0.0

    @property
    def speedup(self) -> float | None:
        """Against plain decoding, by the clock; None where either is unknown."""
        return self.plain * self.emitted / self.ms if self.plain and self.ms else None

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        bands = self.measured.bands
        if not bands or not self.ms:
            return "This run has no times to show."
        each = self.ms / self.emitted if self.emitted else 0.0
        shares = [f"{lane} {100 * self.measured.busy(lane) / self.ms:.0f} %" for lane in self.lanes[:-1]]
        told = (
            f"Iterations {bands[0].iteration + 1} to {bands[-1].iteration + 1} took {self.ms:.0f} ms for "
            f"{counted(self.emitted, 'token')}, {each:.1f} ms a token ({', '.join(shares)})"
        )
        if self.measured.overlap:
            told += f"; draft and target at the same time for {self.measured.overlap:.0f} ms of it"
        if self.speedup is None:
            return f"{told}."
        verdict = f"{self.speedup:.2f}× as fast" if self.speedup >= 1 else f"{1 / self.speedup:.2f}× slower"
        return (
            f"{told}; plain decoding takes {self.plain:.1f} ms a token ({_WHENCE[self.whence]}): {verdict}."
        )

    def table(self) -> Table:
        """A row per forward and stretch of host time."""
        names = ("iteration", "lane", "start ms", "ms", "rows in", "tokens out")
        rows = tuple(
            (span.iteration + 1, span.lane, span.start, span.ms, span.rows or None, span.tokens or None)
            for span in sorted(self.measured.spans, key=lambda span: (span.start, span.lane))
            if span.lane != PLAIN_LANE
        )
        return Table(names, rows)

    def text(self) -> str:
        """Time by lane, with bars."""
        lines = [self.sentence]
        if self.prompt_ms:
            lines.append(f"not shown: the first iteration, which read the prompt, {self.prompt_ms:.0f} ms")
        most = max(self.measured.end, 1e-9)
        for lane in self.lanes:
            busy = self.measured.busy(lane)
            lines.append(f"{lane:<8} {'█' * round(40 * busy / most):<40} {busy:8.1f} ms")
        return "\n".join(lines)


def timeline_info(
    trace: Trace, *, plain: Trace | float | None = None, first: int = 2, most: int = MOST
) -> TimelineInfo:
    """Put a run on the clock.

    Args:
        trace: the run.
        plain: plain decoding of the same model: a run of method "vanilla", or milliseconds a token.
            Without it, the run's own target forwards stand in, and the sentence says so.
        first: iteration to begin with, from 1; the first one reads the prompt, which dwarfs the rest.
        most: iterations to show.

    Raises:
        ValueError: `first` or `most` is below 1, or the plain time is not positive.
    """
    if first < 1 or most < 1:
        raise ValueError(f"first and most must be 1 or more, but got {first} and {most}")
    shown = trace.iterations[first - 1 : first - 1 + most] or trace.iterations[-1:]
    each, whence = _plain(trace, plain)
    ratio = _ratio(trace)
    measured = _measured(shown, each)
    return TimelineInfo(
        measured=measured,
        ideal=_ideal(shown, ratio),
        lanes=_lanes(measured.spans, each),
        plain=each,
        whence=whence,
        ratio=ratio,
        prompt_ms=trace.iterations[0].ms if shown and shown[0].index else 0.0,
        left_out=max(0, len(trace.iterations) - (first - 1) - len(shown)),
    )


def _plain(trace: Trace, plain: Trace | float | None) -> tuple[float, str]:
    """Milliseconds a token of plain decoding, and how they are known."""
    if isinstance(plain, Trace):
        times = [one.ms / max(1, len(one.emitted)) for one in plain.iterations[1:]]
        return (float(median(times)), GIVEN) if times else (0.0, NOTHING)
    if plain is not None:
        if not plain > 0:
            raise ValueError(f"plain must be above 0 milliseconds a token, but got {plain}")
        return float(plain), GIVEN
    later = [one.forward for one in trace.iterations[1:]]
    single = [forward.ms for forward in later if forward.rows == 1]
    if single:
        return float(median(single)), ONE_ROW
    return (min(forward.ms for forward in later), FASTEST) if later else (0.0, NOTHING)


def _ratio(trace: Trace) -> float:
    """One draft forward in target forwards; the first iteration reads the prompt and is left out."""
    later = trace.iterations[1:]
    target = [one.forward.ms for one in later]
    draft = [inner.forward.ms for one in later for inner in one.draft]
    return median(draft) / median(target) if draft and median(target) else 0.0


def _measured(shown: Sequence[Iteration], plain: float) -> Clock:
    if not shown:
        return Clock("ms", (), ())
    zero = min(_begins(iteration) for iteration in shown)
    spans: list[Span] = []
    bands = []
    for place, iteration in enumerate(shown):
        start = _begins(iteration) - zero
        end = starts(iteration) + iteration.ms - zero
        if place + 1 < len(shown):
            end = max(end, _begins(shown[place + 1]) - zero)
        own = [_shifted(span, -zero) for span in forwards(iteration)]
        spans += [*own, *_host(iteration.index, start, end, own)]
        bands.append(Band(iteration.index, start, end, len(iteration.emitted)))
    return Clock("ms", (*spans, *_plain_spans(bands, plain)), tuple(bands), tuple(_overlaps(spans)))


def _overlaps(spans: Sequence[Span]) -> Iterator[tuple[float, float]]:
    """Where a bar of the target and bars of the draft stand above each other."""
    drafts = [span for span in spans if span.lane == draft_lane(1)]
    for target in (span for span in spans if span.lane == TARGET_LANE):
        for draft in drafts:
            start, end = max(target.start, draft.start), min(target.end, draft.end)
            if start < end:
                yield start, end


def _begins(iteration: Iteration) -> float:
    return min(starts(iteration), *(span.start for span in forwards(iteration)))


def _shifted(span: Span, by: float) -> Span:
    return Span(
        span.lane, span.name, span.iteration, span.start + by, span.ms, span.rows, span.tokens, span.cached
    )


def _host(iteration: int, start: float, end: float, busy: Sequence[Span]) -> Iterator[Span]:
    """What of an iteration no forward fills."""
    at = start
    for span in sorted(busy, key=lambda span: span.start):
        if span.start > at:
            yield Span(HOST_LANE, HOST_LANE, iteration, at, span.start - at)
        at = max(at, span.end)
    if end > at:
        yield Span(HOST_LANE, HOST_LANE, iteration, at, end - at)


def _plain_spans(bands: Sequence[Band], each: float) -> Iterator[Span]:
    """A forward a token."""
    if not each:
        return
    at = bands[0].start
    for band in bands:
        for _ in range(band.emitted):
            yield Span(PLAIN_LANE, PLAIN_LANE, band.iteration, at, each, rows=1, tokens=1)
            at += each


def _ideal(shown: Sequence[Iteration], ratio: float) -> Clock:
    spans: list[Span] = []
    bands: list[Band] = []
    at = 0.0
    for iteration in shown:
        start = at
        beside = bool(iteration.round.schedule)
        for span in forwards(iteration):
            verifies = span.lane == TARGET_LANE
            cost = 1.0 if verifies else ratio
            begins = start if beside and verifies else at
            spans.append(
                Span(span.lane, span.name, span.iteration, begins, cost, span.rows, span.tokens, span.cached)
            )
            at = max(at, begins + cost)
        bands.append(Band(iteration.index, start, at, len(iteration.emitted)))
    plain = _plain_spans(bands, 1.0 if bands else 0.0)
    return Clock("target forwards", (*spans, *plain), tuple(bands), tuple(_overlaps(spans)))


def _lanes(spans: Sequence[Span], plain: float) -> tuple[str, ...]:
    """Drafts first, plain decoding last."""
    used = {span.lane for span in spans}
    drafts = [draft_lane(level) for level in range(1, 16) if draft_lane(level) in used]
    return (*drafts, TARGET_LANE, HOST_LANE, *([PLAIN_LANE] if plain else []))
