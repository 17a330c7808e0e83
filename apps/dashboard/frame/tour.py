"""The tour: five steps over the page, offered on a first visit."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from dashboard.parts.look import card, html
from dashboard.visitor.session import Session
from phrasekit.views.escape import escape

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


class FirstVisit(JSComponent):
    """Whether this browser was here before; it remembers, and sends nothing anywhere.

    Attributes:
        first: None until the browser has said so.
        seen: set to remember.
        open: whether the tour shows, so that Escape leaves it.
        left: grows with every Escape that does.
    """

    first = param.Boolean(default=None, allow_None=True)
    seen = param.Boolean(False)
    open = param.Boolean(False)
    left = param.Integer(0)

    _esm = """
    const KEY = "phrasekit-tour"
    export function render({ model, el }) {
      let before = null
      try { before = localStorage.getItem(KEY) } catch { before = "no storage" }
      model.first = before === null
      model.on("seen", () => {
        try { localStorage.setItem(KEY, "seen") } catch { /* asked again next time */ }
      })
      const leave = (event) => {
        if (event.key === "Escape" && !event.defaultPrevented && model.open) model.left += 1
      }
      document.addEventListener("keydown", leave)
      el.style.display = "none"
      return () => document.removeEventListener("keydown", leave)
    }
    """


class Tour(pn.viewable.Viewer):
    """Goes through the tabs and says what is there; it can be left at any moment."""

    at = param.Integer(-1, doc="step shown, −1 for none")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.visit = FirstVisit()
        self.words = html(padding="12px 16px 4px")
        self.next = pmui.Button(label="Next", variant="outlined", width=90, margin=(0, 8, 0, 0))
        self.leave = pmui.Button(label="Close the tour", variant="text", width=130, margin=0)
        self.box = card(
            self.words,
            pn.Row(self.next, self.leave, margin=(0, 16, 12, 16)),
            visible=False,
            more=":host{border-color:var(--ink)}",
        )
        self.next.on_click(lambda _: self.go(self.at + 1))
        self.leave.on_click(lambda _: self.go(len(STEPS)))
        self.visit.param.watch(self._first, "first")
        self.visit.param.watch(lambda _: self.go(len(STEPS)), "left")
        self.layout = pn.Column(self.visit, self.box, margin=0, sizing_mode="stretch_width")

    def go(self, to: int) -> None:
        """Show a step; behind the last one it closes, and this browser is not asked again."""
        if to >= len(STEPS):
            self.at, self.box.visible = -1, False
            self.visit.param.update(seen=True, open=False)
            return
        self.at, self.visit.open = to, True
        tab, title, words = STEPS[to]
        self.session.settings.tab = tab
        self.next.label = "Next" if to + 1 < len(STEPS) else "Done"
        self.words.object = (
            f'<div role="status"><h2>{to + 1} of {len(STEPS)}: {escape(title)}</h2>'
            f'<p class="words">{escape(" ".join(words.split()))}</p></div>'
        )
        self.box.visible = True

    def _first(self, event: Any) -> None:
        if event.new and self.at < 0:
            pn.state.onload(lambda: self.go(0))  # what changes before a page is ready may get lost

    def __panel__(self) -> Any:
        return self.layout
