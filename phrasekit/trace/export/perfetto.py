"""Chrome's trace event format, which Perfetto opens: a lane per model and one for the host.

Bars are forwards and phases, arrows lead from the draft forwards to the forward that verifies them,
counters show accepted tokens, γ and the KV length. Times are microseconds from the run's start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from phrasekit.trace.export.schedule import (
    FORWARD,
    HOST_LANE,
    TARGET_LANE,
    Span,
    draft_lane,
    forwards,
    origin,
    phases,
    starts,
)
from phrasekit.trace.records import Iteration, Trace
from phrasekit.trace.text import sentence
from phrasekit.trace.visible import visible

Event = dict[str, object]

PID = 1
LEVELS = 8  # draft decoders below each other that get a lane of their own
LANES = {HOST_LANE: 1, TARGET_LANE: 2} | {draft_lane(level): 2 + level for level in range(1, LEVELS + 1)}


def perfetto(trace: Trace) -> dict[str, object]:
    """The run as one JSON object.

    Args:
        trace: a run; one without iterations gives a file without bars.

    Returns:
        What `json.dumps` takes: `traceEvents`, `displayTimeUnit`, `otherData`.
    """
    zero = origin(trace)
    events = [event for iteration in trace.iterations for event in _iteration(iteration, zero)]
    events += [event for drafts, verify in _drafted(trace) for event in _arrow(drafts, verify, zero)]
    used = {event["tid"] for event in events}
    return {
        "traceEvents": [*_names(trace, used), *events],
        "displayTimeUnit": "ms",
        "otherData": {
            "method": visible(trace.method, spaces=False, keep=200),
            "finish_reason": trace.finish_reason,
            "prompt_tokens": len(trace.prompt),
            "emitted_tokens": len(trace.tokens),
        },
    }


def _names(trace: Trace, used: set[object]) -> Iterator[Event]:
    """Metadata: what the process and its lanes are called, and their order."""
    title = f"phrasekit {visible(trace.method, spaces=False, keep=40)}"
    yield _event("M", "process_name", 0, args={"name": title})
    for lane, tid in LANES.items():
        if tid in used and tid:
            yield _event("M", "thread_name", tid, args={"name": lane})
            yield _event("M", "thread_sort_index", tid, args={"sort_index": tid})


def _iteration(iteration: Iteration, zero: float) -> Iterator[Event]:
    spans = [*forwards(iteration)]
    parts = list(phases(iteration))
    begin, end = starts(iteration), parts[-1].end if parts else starts(iteration)
    told = {"sentence": sentence(iteration), "position": iteration.position}
    yield _bar(f"iteration {iteration.index + 1}", HOST_LANE, begin - zero, end - zero) | {"args": told}
    for part in parts:
        if part.name != FORWARD:
            yield _bar(visible(part.name, keep=40), HOST_LANE, part.start - zero, part.end - zero)
    yield from (_forward(span, zero) for span in spans)
    yield from _counters(iteration, spans[-1].start - zero)


def _forward(span: Span, zero: float) -> Event:
    name = "verify" if span.lane == TARGET_LANE else "draft"
    bar = _bar(f"{name} {span.iteration + 1}", span.lane, span.start - zero, span.end - zero)
    return bar | {"args": {"rows": span.rows, "tokens": span.tokens, "cached": span.cached}}


def _drafted(trace: Trace) -> Iterator[tuple[list[Span], Span]]:
    """Draft forwards with the forward that verifies what they wrote: in a parallel round the next one's."""
    for place, iteration in enumerate(trace.iterations):
        spans = list(forwards(iteration))
        drafts = [span for span in spans if span.lane == draft_lane(1)]
        if not iteration.round.schedule:
            yield drafts, spans[-1]
        elif iteration.round.kept and place + 1 < len(trace.iterations):
            yield drafts, list(forwards(trace.iterations[place + 1]))[-1]


def _arrow(drafts: Iterable[Span], verify: Span, zero: float) -> Iterator[Event]:
    """From the first draft forward over the others to the verifying one."""
    phase = "s"
    for span in drafts:
        yield _flow(phase, span, zero)
        phase = "t"
    if phase == "t":
        yield _flow("f", verify, zero) | {"bp": "e"}


def _flow(phase: str, span: Span, zero: float) -> Event:
    event = _event(phase, "draft to verify", LANES.get(span.lane, 0), ts=_micro(span.start - zero))
    return event | {"cat": "flow", "id": span.iteration + 1}


def _counters(iteration: Iteration, at: float) -> Iterator[Event]:
    gamma = iteration.knobs.get("gamma")
    values = {
        "accepted": iteration.accepted,
        "gamma": gamma if isinstance(gamma, int) else iteration.drafted,
        "KV length": iteration.forward.cached,
    }
    for name, value in values.items():
        yield _event("C", name, 0, ts=_micro(at), args={name: value})


def _bar(name: str, lane: str, start: float, end: float) -> Event:
    """A bar; both ends are rounded, so that bars that touch or nest still do."""
    begin = _micro(start)
    tid = LANES.get(lane, LANES[draft_lane(LEVELS)])
    return _event("X", name, tid, ts=begin) | {"dur": round(_micro(end) - begin, 3), "cat": lane}


def _event(
    phase: str, name: str, tid: int, *, ts: float = 0.0, args: Mapping[str, object] | None = None
) -> Event:
    event: Event = {"ph": phase, "name": name, "pid": PID, "tid": tid, "ts": ts}
    return event | ({"args": dict(args)} if args else {})


def _micro(ms: float) -> float:
    return round(1000.0 * ms, 3)
