"""The phrase that somebody chose: what it is, its life as a line, its birth and its uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.tabs.pool.birth import born, origin
from dashboard.tabs.pool.lifeline import labelled
from dashboard.tabs.pool.rows import SORTS, Row
from dashboard.tabs.pool.use import uses
from phrasekit.trace import Trace
from phrasekit.trace.summary import counted
from phrasekit.views.html import plain, ribbon
from phrasekit.views.phrases import Life

BEST = SORTS["tokens saved"]


def panel(row: Row, rows: Sequence[Row], trace: Trace | None) -> str:
    """All of it, as markup.

    Args:
        row: the phrase.
        rows: every phrase beside it.
        trace: the run shown, if it is one of this pool.
    """
    followers = ribbon(row.texts[1:], "idle")
    return (
        f"<h2>Selected phrase</h2><span>{_rank(row, rows)}</span>"
        f'<p class="big">{plain(row.texts[0])}<span class="pk-arrow">→</span>{followers}</p>'
        f"{''.join(_story(row, trace))}"
    )


def _rank(row: Row, rows: Sequence[Row]) -> str:
    if not row.kept:
        return "saved no token"
    used = sorted((one for one in rows if one.kept), key=BEST)
    place = next(place for place, one in enumerate(used, start=1) if one.id == row.id)
    return f"{place} of {len(used)} that saved tokens"


def _story(row: Row, trace: Trace | None) -> Iterator[str]:
    life = row.life
    if trace is None or life is None:
        yield f"<h3>Born in a run that is not shown</h3><p>{_untold(row, trace)}</p>"
        return
    yield labelled(life, len(trace.iterations))
    yield born(trace, life) if life.born >= 0 else f"<h3>Born before this run</h3><p>{_older(life)}</p>"
    yield from uses(trace, life)
    if life.evicted >= 0:
        yield (
            f"<h3>Gone in iteration {life.evicted + 1}</h3><p>The pool or its key was full, or a longer "
            "phrase that begins like it took its place.</p>"
        )


def _untold(row: Row, trace: Trace | None) -> str:
    """The little that is known of a phrase that a file, an earlier run or somebody else brought."""
    now = (
        "it will be seen in the next run with this pool"
        if trace is None
        else "the run shown does not name it"
    )
    return (
        f"It came from {origin(row.source)}, and was in the pool before. Until now it was looked up "
        f"{counted(row.tried, 'time')} and put {counted(row.kept, 'token')} into texts; {now}."
    )


def _older(life: Life) -> str:
    made = f" It came from {origin(life.source)}." if life.source else ""
    return f"It was in the pool when this run began, or what put it there was not recorded.{made}"
