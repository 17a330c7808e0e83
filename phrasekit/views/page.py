"""A run as one HTML file that needs no network: the stepper, what it shows at one glance, the numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from phrasekit.trace.export import FORMATS, Format
from phrasekit.trace.export import convert as convert_trace
from phrasekit.trace.metrics import measure
from phrasekit.trace.records import Trace
from phrasekit.trace.summary import summary
from phrasekit.trace.visible import visible
from phrasekit.views.escape import escape
from phrasekit.views.harvest import harvest_info
from phrasekit.views.harvestlist import draw_harvest
from phrasekit.views.html import details, fragment, page
from phrasekit.views.matches import matches_info
from phrasekit.views.matchesgrid import draw_matches_grid
from phrasekit.views.pool import pool_info
from phrasekit.views.poollist import draw_pool_list
from phrasekit.views.stepper import stepper
from phrasekit.views.stream import draw_stream, stream_info
from phrasekit.views.window import window_info
from phrasekit.views.windowtable import draw_window


def trace_page(trace: Trace, *, plain: Trace | None = None, theme: str = "auto") -> str:
    """The whole document.

    Args:
        trace: the run.
        plain: plain decoding of the same prompt, to compare text and time with.
        theme: "auto", "light" or "dark".

    Raises:
        ValueError: the theme is unknown, or `plain` is a run of another prompt.
    """
    stepped = stepper(trace, theme=theme, baseline=plain).html()
    title = f"phrasekit: {visible(trace.method, spaces=False, keep=60)}"
    body = "<br>".join((stepped, *(fragment(section, theme) for section in _sections(trace))))
    return page(body, title, theme)


def convert(trace: Trace, path: str | os.PathLike[str], to: str = "") -> str:
    """Write a trace in any format, HTML among them; see `phrasekit.trace.export.convert`.

    Args:
        trace: a finished or unfinished run.
        path: the file; its folder must exist.
        to: name of the format; without it the file's suffix decides.

    Returns:
        The format's name.

    Raises:
        ValueError: an unknown format, or a suffix that names none.
        ImportError: the format needs a package that is not installed.
        OSError: the file cannot be written.
    """
    return convert_trace(trace, path, to, formats=EVERY_FORMAT)


def _html(trace: Trace) -> bytes:
    return trace_page(trace).encode("utf-8")


EVERY_FORMAT: Mapping[str, Format] = {**FORMATS, "html": Format("any browser", (".html", ".htm"), _html)}


def _sections(trace: Trace) -> Iterator[str]:
    """What the stepper shows step by step, at one glance; folded away, the tables."""
    text = stream_info(trace)
    yield draw_stream(text).markup + details("Show as table", text.table().html())
    pool = pool_info(trace)
    if pool.top:
        yield draw_pool_list(pool).markup + details("Show as table", pool.table().html())
    matches = matches_info(trace)
    if matches.drafts:
        yield draw_matches_grid(matches).markup + details("Show as table", matches.table().html())
    harvest = harvest_info(trace)
    if harvest.harvests:
        yield draw_harvest(harvest).markup + details("Show as table", harvest.table().html())
    window = window_info(trace)
    if window.frame is not None:
        yield draw_window(window).markup + details("Show as table", window.table().html())
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in summary(measure(trace)))
    yield f'<h4>Numbers</h4><ul class="pk-list">{facts}</ul>'
