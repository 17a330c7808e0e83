"""The frame: header, tabs, colours, the tour, links and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import panel as pn
import panel_material_ui as pmui
from panel.io import hold
from panel.util import edit_readonly

from dashboard.frame.address import Address, no_room
from dashboard.frame.apology import heed, made
from dashboard.frame.browsertab import browser_tab
from dashboard.frame.files import Files
from dashboard.frame.tour import Tour
from dashboard.jobs.hub import ModelHub
from dashboard.parts.look import FRAME, PAGE_CSS, THEME, Ink, html
from dashboard.parts.runbar import RunBar
from dashboard.tabs.compare.tab import CompareTab
from dashboard.tabs.model import ModelTab
from dashboard.tabs.pool.tab import PoolTab
from dashboard.tabs.search.tab import SearchTab
from dashboard.tabs.step import StepTab
from dashboard.tabs.theory.tab import TheoryTab
from dashboard.tabs.tune.tab import TuneTab
from dashboard.visitor.options import Options
from dashboard.visitor.pulse import PERIOD, Look
from dashboard.visitor.session import Session
from dashboard.visitor.state import NAMES, REACH, Settings
from phrasekit.views.escape import escape

# name of the tab in links → title and its view; a new tab is a line here
TABS: Mapping[str, tuple[str, Callable[[Session, RunBar], Any]]] = {
    "step": ("Step", StepTab),
    "tune": ("Tune", TuneTab),
    "compare": ("Compare", CompareTab),
    "pool": ("Pool", PoolTab),
    "search": ("Search", SearchTab),
    "theory": ("Theory", TheoryTab),
    "model": ("Model", ModelTab),
}


class Dashboard(pn.viewable.Viewer):
    """One visitor's page.

    Attributes:
        session: what the visitor has.
        layout: the tabs; `page` puts the frame around them.
    """

    def __init__(
        self, hub: ModelHub, options: Options, settings: Settings | None = None, **params: Any
    ) -> None:
        super().__init__(**params)
        self.session = session = Session(hub, options, settings)
        self._no_room = ""
        bar = RunBar(session)
        self.tabs = pmui.Tabs(
            *((title, self._tab(view, bar)) for title, view in TABS.values()),
            dynamic=True,
            active=_place(session.settings.tab),
            margin=0,
            sizing_mode="stretch_width",
            stylesheets=[OPENING],
        )
        self.notice = html(visible=False)
        self.files = Files(session)
        self.tour = Tour(session)
        self.address = Address()
        self.layout = pn.Column(
            self.notice,
            self.tour,
            self.files.dialog,
            self.tabs,
            margin=0,
            sizing_mode="stretch_width",
            stylesheets=[BODY],
        )
        self.tabs.param.watch(self._turn, "active")
        session.settings.param.watch(self._turned, "tab")
        session.param.watch(lambda *_: self._note(), "notice")
        self._note()

    def page(self) -> pmui.Page:
        """The whole page, for a server."""
        session = self.session
        ink, tab = Ink(dark=False), browser_tab(session)
        room = pn.Spacer(sizing_mode="stretch_width")
        page = pmui.Page(
            title="phrasekit",
            header=[self.pair, room, self.tour.button, self.files, ink, self.address, tab],
            main=[self.layout],
            theme_config=THEME,
            sx=FRAME,
            raw_css=[PAGE_CSS],
            busy_indicator=None,
            favicon=FAVICON,
            meta_name="phrasekit",
            meta_description="Phrase-level speculative decoding, live",
        )
        with edit_readonly(page):
            page.busy = False  # Panel's is every visitor's: a click would write to all pages

        def paint(event: Any) -> None:
            ink.dark = event.new
            session.theme = "dark" if event.new else "light"

        def prefer(event: Any) -> None:
            if event.new is not None and "theme" not in pn.state.session_args:
                pn.state.onload(lambda: setattr(page, "dark_theme", event.new))

        page.param.watch(paint, "dark_theme")
        ink.param.watch(prefer, "prefers_dark")
        # a link that asks for a theme has set the page's already, so that nothing changes any more
        page.dark_theme = page.dark_theme or pn.state.session_args.get("theme") == [b"dark"]
        ink.dark, session.theme = page.dark_theme, "dark" if page.dark_theme else "light"
        return page

    @property
    def pair(self) -> Any:
        """Which pair, for the header."""
        told = html(margin=(0, 0, 0, 8), sizing_mode=None, styles={"align-self": "center"}, more=WIDE_ONLY)

        def show() -> None:
            place = self.session.place
            name = self.session.settings.spec.name
            state = {"loading": "loading", "failed": "could not be loaded", "ready": "ready"}.get(
                place.status if place else "", "not loaded"
            )
            told.object = f'<p class="note">{escape(name, keep=60)}: {state}</p>'

        self.session.watch(show)
        show()
        return told

    def follow(self) -> None:
        """Look at what goes on, as long as something does; a page that only stands there costs nothing."""
        session = self.session
        session.together = hold
        heed(session)
        look = Look(session)
        clock = pn.state.add_periodic_callback(look, period=PERIOD, start=False)
        session.settings.param.watch(lambda *_: look.hurry(), [*REACH, "method"])
        session.param.watch(lambda event: clock.start() if event.new else clock.stop(), "following")
        session.tick()
        pn.state.on_session_destroyed(lambda _: session.close())

        self._write()
        session.settings.param.watch(self._write, list(NAMES))
        session.param.watch(self._write, "theme")

    def _write(self, *_: Any) -> None:
        """Put the state into the address; a theme that a link asked for stays in it."""
        session = self.session
        themed = "theme" in pn.state.session_args
        self.address.search = session.settings.query() + (f"&theme={session.theme}" if themed else "")
        told = no_room(session.settings)
        if told != self._no_room:
            self._no_room = session.notice = told

    def _tab(self, view: Callable[[Session, RunBar], Any], bar: RunBar) -> Any:
        return made(lambda: pn.panel(view(self.session, bar)))

    def _turn(self, event: Any) -> None:
        self.session.settings.tab = list(TABS)[event.new]

    def _turned(self, event: Any) -> None:
        self.tabs.active = _place(event.new)

    def _note(self) -> None:
        told = self.session.notice
        self.notice.visible = bool(told)
        self.notice.object = f'<div class="alarm" role="alert">{escape(told)}</div>' if told else ""

    def __panel__(self) -> Any:
        return self.layout


BODY = """
:host{
  width:100%!important;
  max-width:1560px;
  margin:0 auto!important;
  padding:0 24px 36px;
  gap:8px;
  box-sizing:border-box;
}
@media (max-width:640px){:host{padding:0 8px 24px}}
"""
# A tab is drawn when it is opened first, for which the page stands empty.
OPENING = """
.child-wrapper:has(>.bk-Spacer:only-child)::after{
  content:"The tab is being drawn.";
  display:block;
  padding:24px 4px;
  font:12px/17px var(--sans);
  color:var(--ink-3);
}
"""
# A phone has no room for it beside the buttons; Model says the same.
WIDE_ONLY = "@media (max-width:640px){:host{display:none!important}}"
FAVICON = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='3' "
    "fill='#17191C'/><path d='M3 8h3M7.5 8h2M11 8h2' stroke='white' stroke-width='2.4'/></svg>"
)


def _place(tab: str) -> int:
    return list(TABS).index(tab) if tab in TABS else 0
