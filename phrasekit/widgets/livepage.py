"""What a live run looks like: a state as HTML that needs no script, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phrasekit.trace.summary import summary
from phrasekit.trace.visible import visible
from phrasekit.views.escape import escape
from phrasekit.views.html import fragment
from phrasekit.views.stream import ORIGIN, draw_stream, stream_info
from phrasekit.views.tree import tree_info
from phrasekit.widgets.session import LiveState

SHOWN = 400  # tokens of the text drawn at once
ENDED: Mapping[str, str] = {
    "eos": "The run ended with an end-of-text token.",
    "stop": "The run ended at a stop string.",
    "length": "The run ended at its token limit.",
    "context": "The run ended where the model's context is full.",
    "cancelled": "The run was cancelled.",
}


def live_html(state: LiveState, *, shade: str = ORIGIN) -> str:
    """The verdict, what happened last, the text in the colours of `shade`, the last tree and the numbers."""
    return fragment("".join(_parts(state, shade)))


def live_text(state: LiveState) -> str:
    """The same as lines, without times, so that the same run gives the same text."""
    trace = state.trace
    head = f"{visible(state.settings.method, keep=40)}: {state.banner}"
    status = visible(state.status, spaces=False)
    lines = (head, *waiting(state), status, *_ended(state))
    return "\n".join((*lines, stream_info(trace, first=_first(state)).text()) if trace.iterations else lines)


def waiting(state: LiveState) -> Iterator[str]:
    """What a reset would change, in words."""
    if state.pending:
        told = ", ".join(f"{name} {_value(value)}" for name, value in state.pending.items())
        yield f"Waits for a reset: {told}"


def _parts(state: LiveState, shade: str) -> Iterator[str]:
    yield f'<p class="pk-lead" role="status" aria-live="polite"><b>{escape(state.banner)}</b></p>'
    yield f'<p class="pk-note"{_alarm(state)}>{escape(state.status)}</p>'
    yield from (f'<p class="pk-note"><b>{escape(line)}</b></p>' for line in (*waiting(state), *_ended(state)))
    if state.trace.iterations:
        yield draw_stream(stream_info(state.trace, first=_first(state)), shade=shade).markup
        yield _folded("Last iteration: the tree the target read", tree_info(state.trace).text().split("\n"))
        yield _folded("Numbers", list(summary(state.trace.metrics())))


def _alarm(state: LiveState) -> str:
    return ' role="alert" style="color:var(--mistake)"' if state.failed else ""


def _ended(state: LiveState) -> Iterator[str]:
    if state.trace.finish_reason:
        yield ENDED[state.trace.finish_reason]


def _folded(title: str, lines: list[str]) -> str:
    body = "\n".join(escape(line) for line in lines)
    pre = f'<pre style="white-space:pre-wrap;font:12px/18px var(--mono);margin:6px 0 0">{body}</pre>'
    return f'<details class="pk-more"><summary>{escape(title)}</summary>{pre}</details>'


def _first(state: LiveState) -> int:
    """The iteration to begin the text with, so that the newest tokens are seen."""
    room, first = SHOWN, len(state.trace.iterations)
    for iteration in reversed(state.trace.iterations):
        room -= len(iteration.emitted)
        if room < 0:
            break
        first = iteration.index
    return first + 1


def _value(value: Any) -> str:
    return visible(str(value), spaces=False, keep=40)
