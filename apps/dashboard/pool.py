"""Pool: the phrases that a visitor has, which of them were worth their place, and how the pool grew."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from time import monotonic
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.figures import FigureTab
from dashboard.look import beside, card, html
from dashboard.poolfile import pool_bytes, pool_from
from dashboard.poolrows import SORTS, STYLE, Row, chosen, listed, rows_of_pool, rows_of_trace, worth
from dashboard.runbar import RunBar, both_ways
from dashboard.session import Session
from dashboard.words import POOLS
from phrasekit.trace.summary import counted
from phrasekit.views import pool_view
from phrasekit.views.escape import escape
from phrasekit.views.html import fragment

OFTEN = 1.0  # seconds between two looks at a pool that grows
STEP = 40  # phrases shown, and more each time somebody asks
SAVED = "tokens saved"


class PoolTab(pn.viewable.Viewer):
    """Search, sort, save, load, clear; below it the growth of the run shown."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._seen: tuple[object, ...] = ()
        self._drawn = 0.0
        self._rows: tuple[Row, ...] = ()
        self._most = STEP
        self.which = pmui.Select(
            label="Phrase pool", options=POOLS, value=session.settings.pool, size="small", width=230,
            margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.save = pmui.FileDownload(
            callback=self._file, filename="pool.jsonl", label="Save pool", variant="outlined", width=140,
            margin=(0, 8, 8, 0),
        )  # fmt: skip
        self.upload = pmui.FileInput(
            label="Load a pool (.jsonl)",
            accept=".jsonl",
            multiple=False,
            variant="outlined",
            width=200,
            margin=(0, 8, 8, 0),
        )
        self.clear = pmui.Button(label="Clear", variant="outlined", width=90, margin=(0, 8, 8, 0))
        self.told = html()
        self.search = pmui.TextInput(
            label="Search phrases", size="small", max_length=80, width=230, margin=(0, 12, 8, 0)
        )
        self.order = pmui.Select(
            label="Sort by", options=list(SORTS), value=SAVED, size="small", width=190, margin=(0, 0, 8, 0)
        )
        self.intro = html(padding="8px 0 4px", more=STYLE)
        self.list = html(more=STYLE)
        self.count = html(padding="8px 0 0")
        self.more = pmui.Button(label=f"Show {STEP} more", variant="text", width=130, margin=0)
        self.worth = html(more=STYLE)
        self.figure = FigureTab(session, "pool", pool_view)
        self.layout = self._laid_out()
        self._connect()
        self.show()

    def show(self) -> None:
        """Look at the pool again, at most once a second while it grows, and only where somebody looks."""
        session = self.session
        if session.settings.tab != "pool":
            return
        pool, run = session.pool, session.run
        going = run is not None and run.active
        seen = (
            id(pool) if len(pool) else 0,
            len(pool),
            run and (run.number, run.version),
            session.source,
            session.uploaded is None,
        )
        if seen == self._seen or (going and monotonic() - self._drawn < OFTEN and self._seen):
            return
        self._seen, self._drawn = seen, monotonic()
        trace = session.run.trace if session.source == "run" and session.run is not None else None
        if len(pool) and session.uploaded is None:
            self._rows = rows_of_pool(pool, _texts(session), trace)
        else:
            self._rows = rows_of_trace(session.trace)
        self.worth.object = worth(self._rows)
        self.intro.object = self._intro(len(pool))
        self.save.disabled = not len(pool)
        self.clear.disabled = not len(pool) or session.settings.pool == "shared"
        self._list()

    def load(self, content: bytes) -> bool:
        """Take phrases from a file, for the runs to come; whether they could be read."""
        session, place = self.session, self.session.place
        if place is None or place.pair is None:
            session.notice = "A pool belongs to a tokenizer, and no pair is loaded yet; load one first."
            return False
        try:
            session.take_pool(pool_from(content, place.pair), place)
        except ValueError as error:
            session.notice = str(error)
            return False
        session.notice = ""
        self.show()
        return True

    def empty(self) -> None:
        """Forget the visitor's phrases."""
        self.session.pool.clear()
        self.show()

    def _list(self, *_: Any) -> None:
        found = chosen(self._rows, self.search.value_input or "", self.order.value)
        markup = listed(found, self._most) if found else '<p class="note">No phrase holds these words.</p>'
        if not self._rows:
            markup = '<p class="note">This pool is empty. A run of a method with phrases fills it.</p>'
        self.list.object = fragment(markup, self.session.theme)
        left = max(0, len(found) - self._most)
        used = sum(row.kept > 0 for row in found)
        told = f"{counted(len(found), 'phrase')}, {used} of them saved tokens"
        self.count.object = f'<p class="note">{told}{f"; {left} not shown" if left else ""}</p>'
        self.more.visible = left > 0

    def _intro(self, held: int) -> str:
        session, rows = self.session, self._rows
        used, kept = sum(row.kept > 0 for row in rows), sum(row.kept for row in rows)
        whose = {
            "shared": "The pool that everybody here shares",
            "kept": "Your pool, kept between runs,",
        }.get(session.settings.pool, "The pool of your last run")
        if not held or session.uploaded is not None:
            whose = (
                "The pool of the uploaded run"
                if session.uploaded is not None
                else "The pool of a recorded run"
            )
            if session.uploaded is None and session.source == "run":
                whose = "The pool of your last run"
        numbers = (
            f"has <b>{counted(len(rows), 'phrase')}</b>, and <b>{used} of them</b> put "
            f"<b>{counted(kept, 'token')}</b> into a text"
        )
        return f'<div class="intro"><h1>Phrase pool</h1><p>{escape(whose)} {numbers}.</p></div>'

    def _file(self) -> BytesIO:
        place = self.session.place
        if place is None or place.pair is None:
            return BytesIO()
        return BytesIO(pool_bytes(self.session.pool, place.pair))

    def _take(self, event: Any) -> None:
        if event.new:
            self.load(event.new)
            self.upload.value = None

    def _further(self, _: Any) -> None:
        self._most += STEP
        self._list()

    def _connect(self) -> None:
        session = self.session
        both_ways(session.settings, "pool", self.which)
        self.upload.param.watch(self._take, "value")
        self.clear.on_click(lambda _: self.empty())
        self.more.on_click(self._further)
        self.search.param.watch(self._list, "value_input")
        self.order.param.watch(self._list, "value")
        session.watch(self.show)
        session.settings.param.watch(lambda *_: self.show(), ["tab", "pool"])
        session.param.watch(lambda *_: self._list(), "theme")

    def _laid_out(self) -> pn.Column:
        row: dict[str, Any] = {"margin": 0, "sizing_mode": "stretch_width", "align_items": "center"}
        phrases = card(
            html(
                "<h2>Phrases</h2><span>open one to see its life in the run shown</span>", padding="0 0 10px"
            ),
            pn.FlexBox(self.search, self.order, **row),
            self.list,
            self.count,
            self.more,
            more=PAD,
        )
        sources = card(html("<h2>What each source is worth</h2>", padding="0 0 12px"), self.worth, more=PAD)
        return pn.Column(
            self.intro,
            card(
                pn.FlexBox(self.which, self.save, self.upload, self.clear, **row),
                html(
                    '<p class="note">Phrases only propose: a pool from elsewhere can cost speed, never '
                    "change the text. A pool that you load is kept for your next runs.</p>"
                ),
                more=PAD,
            ),
            beside(sources, phrases, width=340),
            html("<h2>Growth in the run shown</h2>", padding="8px 0 0"),
            self.figure.layout,
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "16px"},
        )

    def __panel__(self) -> Any:
        return self.layout


PAD = ":host{padding:16px 20px} @media (max-width:640px){:host{padding:14px 12px}}"


def _texts(session: Session) -> Callable[[int], str]:
    """What token ids read like: as the run has looked them up, else by the pair's tokenizer."""
    place = session.place
    known = dict(session.run.texts) if session.run is not None else {}
    tokenizer = place.pair.tokenizer if place is not None and place.pair is not None else None

    def text_of(token: int) -> str:
        if token not in known:
            known[token] = tokenizer.decode([token]) if tokenizer is not None else f"#{token}"
        return known[token]

    return text_of
