"""A page of steppers, one below the other, that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phrasekit.trace import Trace
from phrasekit.trace.visible import visible
from phrasekit.views.comparison import comparison_info
from phrasekit.views.escape import escape
from phrasekit.views.html import fragment, lead, page
from phrasekit.views.stepper import stepper
from phrasekit.views.table import Table
from phrasekit.views.theme import SANS

PLAIN = "vanilla"
NAME = 40  # columns of a run's name
HEAD = ("run", "tokens", "target forwards", "tokens per target forward", "draft forwards", "text")


def gallery_page(runs: Mapping[str, Trace], *, theme: str = "auto") -> str:
    """One self-contained page: a table of the runs, then a stepper for each.

    Args:
        runs: traces by the names to show; a run of plain decoding, if there is one, is what the others of
            its prompt are held against.
        theme: "auto", "light" or "dark".

    Raises:
        ValueError: the theme is unknown.
    """
    plain = next((run for run in runs.values() if run.method == PLAIN), None)
    rows = tuple(_row(name, run, plain) for name, run in runs.items())
    links = " · ".join(
        f'<a href="#run-{place}">{_name(name)}</a>' for place, name in enumerate(runs, start=1)
    )
    top = f"{lead(_sentence(len(runs)))}{Table(HEAD, rows).html()}<p>{links}</p>"
    return page(
        "".join((fragment(top, theme), *_sections(runs, plain, theme))), "phrasekit: recorded runs", theme
    )


def _sections(runs: Mapping[str, Trace], plain: Trace | None, theme: str) -> Iterator[str]:
    for place, (name, run) in enumerate(runs.items(), start=1):
        other = None if plain is None or plain is run or plain.prompt != run.prompt else plain
        stepped = stepper(run, theme=theme, baseline=other).html()
        heading = f'<h2 style="font:600 20px/28px {escape(SANS)};margin:0 0 8px">{_name(name)}</h2>'
        yield f'<section id="run-{place}" style="margin-top:40px">{heading}{stepped}</section>'


def _sentence(count: int) -> str:
    runs = "One recorded run" if count == 1 else f"{count} recorded runs"
    return f"{runs}: step forward and back with the arrow keys; who proposed a token is its colour."


def _row(name: str, run: Trace, plain: Trace | None) -> tuple[str | int | float | None, ...]:
    metrics = run.metrics()
    return (
        visible(name, spaces=False, keep=NAME),
        metrics.emitted,
        metrics.iterations,
        metrics.block_efficiency,
        metrics.draft_forwards,
        _verdict(run, plain),
    )


def _verdict(run: Trace, plain: Trace | None) -> str:
    if plain is None:
        return "no plain decoding to compare with"
    return "plain decoding itself" if run is plain else comparison_info(plain, run).verdict


def _name(name: str) -> str:
    return escape(name, keep=NAME)
