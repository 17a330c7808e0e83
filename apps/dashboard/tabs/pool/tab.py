"""Pool: the phrases that a visitor has, which of them were worth their place, and how the pool grew."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.poolfile import pool_bytes, pool_from
from dashboard.jobs.words import POOLS
from dashboard.parts.look import html
from dashboard.parts.runbar import RunBar, both_ways
from dashboard.tabs.pool.frame import framed
from dashboard.tabs.pool.growth import Growth, growth_of, marks_of
from dashboard.tabs.pool.panel import panel
from dashboard.tabs.pool.phrases import PhraseList, foot, heads, lines
from dashboard.tabs.pool.rows import SORTS, Row, chosen
from dashboard.tabs.pool.shown import Shown, shown
from dashboard.tabs.pool.sources import worth
from dashboard.visitor.session import Session
from phrasekit.views.pool import pool_info

OFTEN = 1.0  # seconds between two looks at a pool that grows, or more:
SHARE = 20  # it rests this many times what a look took
FIRST, STEP = 14, 40  # phrases shown, and more each time somebody asks
UPLOAD = "Load a pool (.jsonl)"  # also with a file: what comes of it is said elsewhere
FOLDER = Path(__file__).parent
STYLE = "".join((FOLDER / name).read_text("utf-8") for name in ("sources.css", "pool.css"))
INTRO = (
    '<div class="intro"><h1>Phrase pool</h1><p>{}</p><p class="note">Phrases only propose: a pool '
    "from elsewhere can cost speed, never change the text. A pool that you load is kept for your next runs."
    "</p></div>"
)


class PoolTab(pn.viewable.Viewer):
    """Growth and sources above; below them the phrases, searched and sorted, beside the one chosen."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._seen: tuple[object, ...] = ()
        self._rests = 0.0  # until then a pool that grows is not looked at again
        self._shown = Shown("", (), None)
        self._picked: Row | None = None  # by the visitor; else the first one listed is shown
        self._most = FIRST
        self.which = pmui.Select(
            label="Phrase pool", options=POOLS, value=session.settings.pool, size="small", width=230,
            margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.save = pmui.FileDownload(
            callback=self._file, filename="pool.jsonl", label="Save pool", variant="outlined", width=140,
            margin=(0, 8, 8, 0),
        )  # fmt: skip
        self.upload = pmui.FileInput(
            label=UPLOAD, uploaded_label=UPLOAD, accept=".jsonl", multiple=False, variant="outlined",
            width=200, margin=(0, 8, 8, 0),
        )  # fmt: skip
        self.clear = pmui.Button(label="Clear", variant="outlined", width=90, margin=(0, 0, 8, 0))
        self.search = pmui.TextInput(
            label="Search phrases", value=session.settings.words, size="small", max_length=80, width=230,
            margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.order = pmui.Select(
            label="Sort by", options=list(SORTS), value=session.settings.sort, size="small", width=190,
            margin=(0, 0, 8, 0),
        )  # fmt: skip
        self.intro = html(more=STYLE)
        self.growth = Growth(margin=0, sizing_mode="stretch_width")
        self.worth = html(more=STYLE)
        self.list = PhraseList(
            pick=self.pick, more=self._further, theme=session.theme, margin=0, sizing_mode="stretch_width"
        )
        self.layout = framed(
            self.intro, self.growth, self.worth, self.list,
            controls=(self.which, self.save, self.upload, self.clear), tools=(self.search, self.order),
        )  # fmt: skip
        self._connect()
        self.show()

    def show(self) -> None:
        """Look at the pool again, about once a second while it grows, and only where somebody looks."""
        session = self.session
        if session.settings.tab != "pool":
            return
        pool, run, began = session.pool, session.run, monotonic()
        what = (session.source, run and run.number, id(session.uploaded), session.settings.pool)
        seen = (what, id(pool) if len(pool) else 0, len(pool), run and run.version)
        grows = run is not None and run.active and self._seen[:1] == (what,)
        if seen == self._seen or (grows and began < self._rests):
            return
        self._seen = seen
        self._shown = shown(session)
        self.intro.object = INTRO.format(self._shown.sentence)
        self.worth.object = worth(self._shown.rows)
        trace = self._shown.trace
        self.growth.run = growth_of(pool_info(trace, top=0)) if trace is not None else {}
        self.save.disabled = not len(pool)
        self.clear.disabled = not len(pool) or session.settings.pool == "shared"
        self._list()
        self._rests = monotonic() + max(OFTEN, SHARE * (monotonic() - began))

    def pick(self, phrase: int) -> None:
        """Show one phrase beside the list, and where it was born and used in the growth."""
        row = next((row for row in self._shown.rows if row.id == phrase), None)
        if row is not None:
            self._picked = row
            self._choose(row)

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
        """The rows that are asked for, and the panel of one of them."""
        settings, rows, last = self.session.settings, self._shown.rows, self._shown.last
        found = chosen(rows, settings.words, settings.sort)
        below = foot(found, min(self._most, len(found))) if found else "No phrase holds these words."
        if not rows:
            below = "This pool is empty. A run of a method with phrases fills it."
        self.list.param.update(head=heads(last), rows=lines(found[: self._most], last), foot=below)
        self._choose(self._again() or next(iter(found or rows), None))

    def _again(self) -> Row | None:
        """The phrase that the visitor picked, as it is now; a number alone may be another pool's."""
        picked = self._picked
        if picked is None:
            return None
        return next(
            (row for row in self._shown.rows if (row.id, row.texts) == (picked.id, picked.texts)), None
        )

    def _choose(self, row: Row | None) -> None:
        shown = self._shown
        told = "" if row is None else panel(row, shown.rows, shown.trace)
        self.list.param.update(panel=told, chosen=-1 if row is None else row.id)
        self.growth.marks = marks_of(row.life if row is not None else None)

    def _file(self) -> BytesIO:
        place = self.session.place
        if place is None or place.pair is None:
            return BytesIO()
        return BytesIO(pool_bytes(self.session.pool, place.pair))

    def _take(self, event: Any) -> None:
        if event.new:
            self.load(event.new)
            self.upload.value = None

    def _typed(self, event: Any) -> None:
        self.session.settings.words = event.new or ""

    def _further(self) -> None:
        self._most += STEP
        self._list()

    def _connect(self) -> None:
        session = self.session
        both_ways(session.settings, "pool", self.which)
        self.upload.param.watch(self._take, "value")
        self.clear.on_click(lambda _: self.empty())
        self.search.param.watch(self._typed, "value_input")
        both_ways(session.settings, "sort", self.order)
        session.settings.param.watch(self._list, ["words", "sort"])
        session.watch(self.show)
        session.settings.param.watch(lambda *_: self.show(), ["tab", "pool"])
        session.param.watch(lambda event: setattr(self.list, "theme", event.new), "theme")

    def __panel__(self) -> Any:
        return self.layout
