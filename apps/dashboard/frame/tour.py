"""The tour: five steps over the page, offered on a first visit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from dashboard.parts.button import LOOK, Button
from dashboard.visitor.session import Session

FOLDER = Path(__file__).parent
ROOM = "@media (max-width:440px){:host{display:none!important}}"  # a phone's header has none for it

PROMPT = """
Take an example or type your own, then press Run. The text depends on prompt, temperature, top-p and seed,
and on nothing else on this page.
"""
ITERATION = """
The draft model guesses, the target checks many guesses in one forward, what was right stays. ← and → step
through it; the sentence says what happened.
"""
KNOBS = """
Move γ, W, N, G, K or β while the run goes on. The next iteration takes it, and a mark on every chart says
where. Pin a setting to measure it beside plain decoding; Prove it checks every token.
"""
SEARCH = """
Search times settings on several prompts, finds the fastest and tells whether it pays. Compare lets methods
race on the same prompts.
"""
OWN = """
Load your own pair here: the probe says whether it can be exact, and one that cannot is refused. Export on
Tune gives a setting as Python, YAML, a command or options; Files gives the run.
"""

# tab to show, title, words
STEPS = (
    ("step", "A prompt", PROMPT),
    ("step", "One iteration", ITERATION),
    ("tune", "Knobs, live", KNOBS),
    ("search", "The fastest setting", SEARCH),
    ("model", "Your own pair", OWN),
)


class Guide(JSComponent):
    """The card of the tour. Whether this browser was here before, it remembers itself, and sends nothing on.

    Attributes:
        at: step shown, from 0; −1 shows none.
        steps: title and words of each.
        first: whether this browser is here for the first time; None until it has said so.
    """

    at = param.Integer(-1)
    steps = param.List(default=[])
    first = param.Boolean(default=None, allow_None=True)

    _esm = FOLDER / "guide.js"
    _stylesheets = [LOOK + (FOLDER / "guide.css").read_text("utf-8")]  # noqa: RUF012


class Tour(pn.viewable.Viewer):
    """Goes through the tabs and says what is there; it can be left at any moment, and ends where it began.

    Attributes:
        guide: the card, for the top of the page.
        button: begins it again.
    """

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._began = ""  # tab
        steps = [{"title": title, "words": " ".join(words.split())} for _, title, words in STEPS]
        self.guide = Guide(steps=steps, margin=0, sizing_mode="stretch_width")
        self.button = Button(label="Tour", variant="text", width=60, margin=0, stylesheets=[ROOM])
        self.button.on_click(lambda _: setattr(self.guide, "at", 0))
        self.guide.param.watch(self._turn, "at")
        self.guide.param.watch(self._first, "first")

    def _turn(self, event: Any) -> None:
        """Show the tab of a step, and at the end the one that was there before."""
        settings = self.session.settings
        if event.old < 0:
            self._began = settings.tab
        settings.tab = STEPS[event.new][0] if event.new >= 0 else self._began

    def _first(self, event: Any) -> None:
        if event.new and self.guide.at < 0:
            # what changes before a page is ready may get lost
            pn.state.onload(lambda: setattr(self.guide, "at", 0))

    def __panel__(self) -> Any:
        return self.guide
