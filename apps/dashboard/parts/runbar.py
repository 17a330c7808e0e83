"""Prompt, Run, Pause, Cancel, and where the run is; the same bar on Step and on Tune."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.job import PAUSED, WAITING
from dashboard.jobs.words import POOLS, state_of
from dashboard.parts.button import Button
from dashboard.parts.look import card, html, live
from dashboard.parts.number import number
from dashboard.visitor.examples import EXAMPLES
from dashboard.visitor.session import Session
from dashboard.visitor.state import PACES, Settings
from phrasekit.views.escape import escape

OWN = "own prompt"
WAITS = {"max_new_tokens": "tokens at most", "top_p": "top-p"}


class RunBar(pn.viewable.Viewer):
    """What to decode and where it is.

    Attributes:
        layout: to show; the same object may stand on several tabs.
    """

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        settings = session.settings
        self.example = pmui.Select(
            label="Example prompts",
            options=[*EXAMPLES, OWN],
            value=_example_of(settings.prompt),
            size="small",
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
        )
        self.prompt = pmui.TextAreaInput(
            label="Prompt",
            value=settings.prompt,
            rows=2,
            auto_grow=True,
            max_rows=10,
            max_length=session.options.prompt_characters,
            size="small",
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
            sx={"& textarea": {"fontFamily": "var(--mono)", "fontSize": "12px", "lineHeight": "18px"}},
        )
        self.run = Button(label="Run", variant="contained", width=110, margin=(0, 8, 0, 0))
        self.hold = Button(label="Pause", width=96, margin=(0, 8, 0, 0))
        self.cancel = Button(label="Cancel", width=96, margin=(0, 16, 0, 0))
        self.pace = pmui.Select(
            label="Pace",
            options=list(PACES),
            value=settings.pace,
            size="small",
            width=190,
            margin=(0, 8, 0, 0),
        )
        self.pool = pmui.Select(
            label="Phrase pool",
            options=POOLS,
            value=settings.pool,
            size="small",
            width=200,
            margin=(0, 8, 0, 0),
        )
        self.tokens = number(settings, "tokens", "Tokens at most", width=170, margin=(0, 8, 0, 0))
        self.state = live()
        self.live = html('<div class="hidden" role="status"></div>')
        self._connect()
        self.layout = card(
            pn.Column(
                pn.Column(self.example, self.prompt, **WIDE, stylesheets=[PROMPT_ROW]),
                pn.FlexBox(
                    self.run,
                    self.hold,
                    self.cancel,
                    self.pace,
                    self.pool,
                    self.tokens,
                    align_items="center",
                    gap="16px 0",  # room for the labels, which stand on the fields' upper lines
                    sizing_mode="stretch_width",
                    margin=(8, 0, 6, 0),
                ),
                self.state,
                self.live,
                margin=0,
                sizing_mode="stretch_width",
                stylesheets=[":host{padding:16px 20px 10px}"],
            )
        )
        self.show()
        session.watch(self.show)

    def show(self) -> None:
        """Where the run is."""
        run = self.session.run
        word, more = state_of(run)
        place = self.session.place
        if place is not None and place.status == "loading" and (run is None or run.active):
            word, more = "Loading", f"the {place.spec.name}; the recorded run stays open meanwhile"
        active = run is not None and run.active
        self.run.label = "Run again" if run is not None and not active else "Run"
        for button in (self.hold, self.cancel):
            button.off("" if active else "No run goes on.")
        self.hold.label = "Go on" if run is not None and run.status == PAUSED else "Pause"
        waits = [WAITS.get(name, name) for name in self.session.waits]
        if waits:
            verb = "waits" if len(waits) == 1 else "wait"
            more = "; ".join(filter(None, (more, f"{', '.join(waits)} changed and {verb} for a new run")))
        bar = (
            _progress(len(run.iterations), len(run.tokens), run.plan.max_new_tokens)
            if run is not None
            else ""
        )
        self.state.object = (
            f'<div class="state"><i class="dot {word.lower()}"></i><b>{word}</b>'
            f"<span>{escape(more)}</span>{bar}</div>"
        )
        if run is not None and (run.over or run.status in (WAITING, PAUSED)):
            self.live.object = f'<div class="hidden" role="status">{word}. {escape(more)}</div>'

    def _connect(self) -> None:
        session, settings = self.session, self.session.settings
        self.run.on_click(lambda _: session.start())
        self.hold.on_click(lambda _: session.hold())
        self.cancel.on_click(lambda _: session.cancel())
        self.example.param.watch(self._take_example, "value")
        self.prompt.param.watch(self._typed, "value")
        for name, widget in (("pace", self.pace), ("pool", self.pool)):
            both_ways(settings, name, widget)
        settings.param.watch(self._prompt_moved, "prompt")
        settings.param.watch(lambda *_: self.show(), ["temperature", "top_p", "seed", "tokens"])

    def _take_example(self, event: Any) -> None:
        if event.new in EXAMPLES:
            self.session.settings.prompt = EXAMPLES[event.new]

    def _typed(self, event: Any) -> None:
        self.session.settings.prompt = event.new

    def _prompt_moved(self, event: Any) -> None:
        self.prompt.value = event.new
        self.example.value = _example_of(event.new)
        self.show()

    def __panel__(self) -> Any:
        return self.layout


WIDE = {"margin": 0, "sizing_mode": "stretch_width"}
# Side by side: on Tune every row above the charts pushes them out of sight.
PROMPT_ROW = """
:host{display:grid!important;grid-template-columns:230px minmax(0,1fr);column-gap:12px;align-items:start}
@media (max-width:640px){:host{grid-template-columns:minmax(0,1fr);row-gap:8px}}
"""


def both_ways(settings: Settings, name: str, widget: Any, value: str = "value") -> None:
    """Tie a widget and a setting; a value that does not fit leaves the setting as it was."""

    def to_settings(event: Any) -> None:
        try:
            setattr(settings, name, event.new)
        except (ValueError, TypeError):
            widget.value = getattr(settings, name)

    def to_widget(event: Any) -> None:
        if widget.value != event.new:
            widget.value = event.new

    widget.param.watch(to_settings, value)
    settings.param.watch(to_widget, name)


def _example_of(prompt: str) -> str:
    return next((name for name, text in EXAMPLES.items() if text == prompt), OWN)


def _progress(iterations: int, made: int, most: int) -> str:
    share = min(100, round(100 * made / most)) if most else 0
    values = f'aria-valuemin="0" aria-valuemax="{most}" aria-valuenow="{made}"'
    told = f"<em><span>iteration {iterations}</span><span>{made} of {most} tokens</span></em>"
    return (
        f'<div class="progress" role="progressbar" aria-label="tokens written" {values}>{told}'
        f'<i><i style="width:{share}%"></i></i></div>'
    )
