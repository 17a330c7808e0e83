"""The stepper as self-contained HTML: data, script and style in one piece, nothing fetched.

It lives in a shadow root, so that several cells do not collide. Where scripts do not run (GitHub, an
untrusted notebook, a screen reader that reads text/plain) the same sentences stand as text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from phrasekit.errors import TraceFormatError
from phrasekit.trace import Trace, load_trace
from phrasekit.trace.summary import counted
from phrasekit.trace.whole import write_whole
from phrasekit.views.escape import escape, script_json
from phrasekit.views.stepper.info import LIMIT, notice_info, stepper_info
from phrasekit.views.stepper.records import StepperInfo

THEME_NAMES = ("auto", "light", "dark")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 0; padding: 16px; background: Canvas; color-scheme: light dark; }}</style>
</head>
<body>
{body}
</body>
</html>
"""

_FRAGMENT = """<div data-phrasekit-stepper>
<pre>{text}</pre>
<script type="application/json">{data}</script>
</div>
<script type="module">
{script}
boot({style});
</script>"""


def stepper_html(
    trace: Trace | str | os.PathLike[str],
    *,
    step: int = 0,
    theme: str = "auto",
    baseline: Trace | None = None,
    limit: int = LIMIT,
    page: bool = False,
) -> str:
    """Self-contained HTML that replays a run.

    Args:
        trace: a run, or the path of a trace file. One that cannot be shown gives a page that says why.
        step: iteration shown first, from 0; negative counts from the end.
        theme: "auto" follows the notebook or the system, or "light" or "dark".
        baseline: plain decoding of the same prompt, to compare text and time with.
        limit: show at most this many iterations.
        page: a whole document instead of a piece of one.

    Returns:
        ASCII text.

    Raises:
        ValueError: the theme is unknown, or the baseline is a run of another prompt.
    """
    view = stepper(trace, step=step, theme=theme, baseline=baseline, limit=limit)
    return view.page() if page else view.html()


def stepper(
    trace: Trace | str | os.PathLike[str],
    *,
    step: int = 0,
    theme: str = "auto",
    baseline: Trace | None = None,
    limit: int = LIMIT,
) -> StepperView:
    """The stepper as an object that a notebook shows; arguments as for `stepper_html`."""
    if theme not in THEME_NAMES:
        raise ValueError(f"theme must be one of {', '.join(THEME_NAMES)}, but got {theme!r}")
    info = info_of(trace, baseline=baseline, limit=limit)
    return StepperView(info, start(info, step), theme)


def info_of(
    trace: Trace | str | os.PathLike[str], *, baseline: Trace | None = None, limit: int = LIMIT
) -> StepperInfo:
    """What to show of a trace or a trace file; a file that cannot be read becomes a notice."""
    if not isinstance(trace, str | os.PathLike):
        return stepper_info(trace, baseline=baseline, limit=limit)
    try:
        loaded = load_trace(trace)
    except TraceFormatError as error:
        return notice_info(str(error))
    except OSError as error:
        return notice_info(f"The file cannot be read: {error}")
    return stepper_info(loaded, baseline=baseline, limit=limit)


def start(info: StepperInfo, step: int) -> int:
    """The iteration to begin with, within what there is."""
    last = max(0, len(info.steps) - 1)
    return min(max(0, step + len(info.steps) if step < 0 else step), last)


@dataclass(frozen=True)
class StepperView:
    """Shows itself in notebooks, and saves itself as a page.

    Attributes:
        info: everything it shows.
        step: iteration shown first.
        theme: "auto", "light" or "dark".
    """

    info: StepperInfo
    step: int = 0
    theme: str = "auto"

    def html(self) -> str:
        """A piece of HTML for a page or a notebook cell."""
        data = {"info": self.info.plain_data(), "step": self.step, "theme": self.theme}
        return _FRAGMENT.format(
            text=_ascii("\n".join(map(escape, self.lines()))),
            data=script_json(data),
            script=script(),
            style=script_json(style()),
        )

    def page(self) -> str:
        """A whole document."""
        return _PAGE.format(
            title=_ascii(escape(f"phrasekit: {self.info.method or 'trace'}")), body=self.html()
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole document to a file, which appears whole or stays as it was; returns where."""
        write_whole(path, self.page().encode("ascii"))
        return Path(path)

    def lines(self) -> Iterator[str]:
        """What can be said without a picture; the same on every machine and run, so it holds no time."""
        info = self.info
        if info.notice:
            yield f"This trace cannot be shown. {info.notice}"
            return
        written = sum(len(step.emitted) for step in info.steps)
        yield f"{info.method}: {counted(info.total, 'iteration')}, {counted(written, 'token')} written"
        if not info.steps:
            yield "Nothing to step through yet."
            return
        shown = info.steps[self.step]
        yield f"Iteration {shown.index + 1}: {''.join(shown.said)}"
        yield from (_reason(info, row.label, row.why) for row in shown.tree.rows if row.outcome != "aside")
        if info.plain is not None:
            yield _proof(info.plain.checked, info.plain.differs)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}


def _reason(info: StepperInfo, label: str, why: tuple[str | int, ...]) -> str:
    words = (piece if isinstance(piece, str) else f"«{escape_free(info.texts[piece])}»" for piece in why)
    return f"{label}: {''.join(words)}"


def escape_free(text: str) -> str:
    """Token text on one line; it is made safe for HTML where it becomes HTML."""
    return text.replace("\n", "⏎").replace(" ", "·")


def _proof(checked: int, differs: int) -> str:
    if differs >= 0:
        return f"The text differs from plain decoding at token {differs + 1}."
    return f"The text is that of plain decoding ({counted(checked, 'token')} compared)."


@cache
def script() -> str:
    """The module's source without comments and indentation, ASCII only."""
    source = files("phrasekit.views.stepper").joinpath("stepper.js").read_text(encoding="utf-8")
    lines = (line.strip() for line in source.splitlines())
    kept = [line for line in lines if line and not line.startswith(("//", "/**"))]
    return "\n".join(kept).encode("ascii", "backslashreplace").decode("ascii")


@cache
def style() -> str:
    """The style sheet without indentation."""
    source = files("phrasekit.views.stepper").joinpath("stepper.css").read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in source.splitlines() if line.strip())


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")
