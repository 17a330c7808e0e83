"""The list of phrases with the chosen one beside it: a table to walk through with the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from dashboard.tabs.pool.lifeline import lifeline
from dashboard.tabs.pool.rows import Row
from dashboard.tabs.pool.sources import named
from phrasekit.trace.summary import counted
from phrasekit.views.html import plain, ribbon, style

FOLDER = Path(__file__).parent
LONGEST_BAR = 60  # pixels


class PhraseList(JSComponent):
    """Rows and a panel, as markup of ours; a page keeps focus and scrolling while they change.

    Attributes:
        head: the cells of the table's head.
        rows: its rows, see `lines`.
        foot: below the table; a button in it asks for more.
        panel: the chosen phrase.
        chosen: its id, −1 for none.
        theme: "light" or "dark".
        pick: called with the id that a visitor chooses.
        more: called when a visitor asks for more rows.
    """

    head = param.String("")
    rows = param.String("")
    foot = param.String("")
    panel = param.String("")
    chosen = param.Integer(-1)
    theme = param.Selector(default="light", objects=["light", "dark"])

    _esm = FOLDER / "phraselist.js"
    _stylesheets = [  # noqa: RUF012
        style(),
        *(
            (FOLDER / name).read_text("utf-8")
            for name in ("sources.css", "phraselist.css", "phrasepanel.css")
        ),
    ]

    def __init__(self, *, pick: Callable[[int], None], more: Callable[[], None], **params: Any) -> None:
        super().__init__(**params)
        self._pick, self._more = pick, more

    def _handle_msg(self, data: Any) -> None:
        """What a page sends; it may send anything."""
        told = data if isinstance(data, dict) else {}
        if isinstance(told.get("pick"), int):
            self._pick(told["pick"])
        elif told.get("more"):
            self._more()


def heads(last: int) -> str:
    """The head's cells.

    Args:
        last: iterations of the run shown; 0 where none is.
    """
    life = f"life, iteration{'s 1 to' * (last > 1)} {last}"
    names = (("", "after the token"), ("from", "source"), ("life", life), ("n", "tried"), ("n used", "used"))
    cells = "".join(f'<th scope="col" class="{cls}">{name}</th>' for cls, name in names)
    alone = "" if last else ' class="alone"'  # nothing to draw of any life
    return f'<tr{alone}>{cells}<th scope="col" class="saved">tokens kept</th></tr>'


def lines(rows: Sequence[Row], last: int) -> str:
    """A table row per phrase."""
    most = max((row.kept for row in rows), default=0)
    return "".join(_line(row, last, most) for row in rows)


def foot(found: Sequence[Row], shown: int) -> str:
    """How many there are, and a button where not all of them are shown."""
    used = sum(row.kept > 0 for row in found)
    told = f"{counted(len(found), 'phrase')}, {used} of them saved tokens."
    left = len(found) - shown
    return f'{told} <button type="button">Show more</button> {left} not shown' if left > 0 else told


def _line(row: Row, last: int, most: int) -> str:
    life = row.life
    drawn = lifeline(life, last) if life is not None and last else '<span class="none">not in this run</span>'
    wide = LONGEST_BAR * row.kept / most if most else 0
    return (
        f'<tr data-id="{row.id}"><td class="words"><span>{plain(row.texts[0])}<span class="pk-arrow">→</span>'
        f'{ribbon(row.texts[1:], "idle")}</span></td><td class="from">{named(row.source)}</td>'
        f'<td class="life">{drawn}</td><td class="n">{row.tried}</td>'
        f'<td class="n used">{"–" if life is None else len(life.uses)}</td>'
        f'<td class="saved"><b>{row.kept}</b><i style="width:{wide:.0f}px"></i></td></tr>'
    )
