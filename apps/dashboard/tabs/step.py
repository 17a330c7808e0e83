"""Step: go through the run, iteration by iteration; a recorded one until there is another."""

from __future__ import annotations

from time import monotonic, thread_time
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.parts.look import html
from dashboard.parts.runbar import RunBar
from dashboard.visitor.session import RECORDED, Session
from phrasekit.trace import Trace
from phrasekit.views.escape import escape
from phrasekit.widgets.panel_stepper import PanelStepper

OFTEN = 1.0  # seconds between two pictures of a run that goes on, or more:
SHARE = 20  # times what the last picture took, as the run stands still meanwhile

# source of the trace → whose run it is
ORIGINS = {RECORDED: "recorded run", "run": "your run", "uploaded": "a run from your file"}
INTRO = """
<h1>Watch a language model write the same text, faster</h1>
<p class="big">A small draft model and a pool of remembered phrases guess ahead, and the large model checks
many guesses in one go. Step through every guess, move every knob while it writes: the text never changes.</p>
"""


class StepTab(pn.viewable.Viewer):
    """The stepper on whatever there is to step through."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._shown: tuple[object, ...] = ()
        self._due = 0.0
        settings = session.settings
        self.stepper = PanelStepper(
            session.trace,
            step=settings.step,
            baseline=session.baseline,
            theme=session.theme,
            margin=0,
            styles={"--pk-widest": "none"},  # as wide as the cards around it
        )
        self._trace: Trace = session.trace
        self.told = html(padding="0 0 8px")
        self.back = pmui.Button(
            label="Back to the run", variant="outlined", visible=False, margin=(0, 0, 8, 0)
        )
        self.back.on_click(lambda _: session.leave_upload())
        self.intro = html(INTRO, padding="8px 0 4px")
        self.layout = pn.Column(
            self.intro,
            bar,
            pn.Spacer(height=16),
            pn.Row(self.told, self.back, margin=0, sizing_mode="stretch_width"),
            self.stepper,
            margin=0,
            sizing_mode="stretch_width",
        )
        self.stepper.param.watch(lambda event: setattr(settings, "step", event.new), "step")
        settings.param.watch(lambda event: setattr(self.stepper, "step", event.new), "step")
        session.param.watch(self._paint, "theme")
        settings.param.watch(lambda *_: self.show(), "tab")
        session.watch(self.show)
        self.show()

    def show(self) -> None:
        """Show the trace, now and then while it grows, and only where somebody looks."""
        session = self.session
        run, source = session.run, session.source
        going = run is not None and run.active and source == "run"
        plain = session.plain if session.baseline is not None else None
        now = (
            source,
            run.number if run else 0,
            run.status if run else "",
            (plain.number, plain.status) if plain is not None else (),
        )
        if session.settings.tab != "step":
            return
        if now == self._shown and not (going and monotonic() > self._due):
            return
        fresh = now[:2] != self._shown[:2]
        self._shown, used = now, thread_time()
        self._trace = session.trace
        if fresh and source == "run":
            self.stepper.step = session.settings.step  # 0 in a new run; a page loaded again is where it was
        self.stepper.update(self._trace, baseline=session.baseline, origin=ORIGINS[source])
        self.back.visible = source == "uploaded"
        self.told.object = f'<p class="note">{escape(_source(session))}</p>'
        self._due = monotonic() + max(OFTEN, SHARE * (thread_time() - used))

    def _paint(self, event: Any) -> None:
        self.stepper.theme = event.new

    def __panel__(self) -> Any:
        return self.layout


def _source(session: Session) -> str:
    if session.source == "uploaded":
        return "A trace from your file. It is replayed, nothing of it runs."
    if session.source == RECORDED:
        return "A recorded run of the embedded pair. Press Run for one of your own."
    run = session.run
    if run is not None and run.active:
        return "The run so far; it grows while it goes on."
    return "Your run. ← and → step, ⇧← and ⇧→ go by iteration, ? lists every key."
