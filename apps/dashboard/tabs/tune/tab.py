"""Tune: move the knobs of a run that goes on, see at once what it does, keep the better setting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.job import RUNNING
from dashboard.jobs.run import LiveRun, moves
from dashboard.parts.apply import Apply
from dashboard.parts.look import NARROW, SECTION, card, ends, html, section
from dashboard.parts.runbar import RunBar
from dashboard.tabs.tune.knobs import KnobRail
from dashboard.tabs.tune.lanes import Lanes, row, speed
from dashboard.tabs.tune.pins import PinTable
from dashboard.tabs.tune.prose import Prose, piece
from dashboard.visitor.session import Session
from phrasekit.views.escape import escape

WHY = """
<details><summary>Why a knob cannot change the text</summary><p class="words">
At every position the target's own token decides. Draft, phrases and copies only propose; a proposal that
differs from the target's token goes, and everything behind it. When sampling, the random draw belongs to the
position, so it is the same whatever was proposed. Move what you like: the work changes, the text does not.
</p></details>
"""

# what the text depends on, in words
TEXT = {"prompt": "the prompt", "temperature": "temperature", "top_p": "top-p", "seed": "the seed"}
NOT_YET = "The text is the same whatever the knobs do. Ask for the proof at any time."


class TuneTab(pn.viewable.Viewer):
    """Run bar, proof, lanes, text and pins; the rail of knobs beside them."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._run: LiveRun | None = None
        self._timed: LiveRun | None = None
        self._speed = 0.0
        self.rail = KnobRail(session)
        self.banner = html()
        self.prove = pmui.Button(label="Prove it", variant="outlined", width=110, margin=0)
        self.prove.on_click(lambda _: session.prove())
        self.lanes = Lanes(sizing_mode="stretch_width", margin=0)
        self.prose = Prose(theme=session.theme, sizing_mode="stretch_width", margin=0)
        self.pins = PinTable(session)
        self.apply = Apply(session)
        live = card(
            ends(self.banner, self.prove, self.apply.button, more=SECTION),
            section("Live", "a vertical mark is an iteration before which a knob moved", self.lanes),
            section(
                "Text",
                "a bracket is an iteration; a flag is a knob that moved just before",
                self.prose,
            ),
            self.pins,
            self.apply.dialog,
        )
        self.layout = _placed(bar=pn.panel(bar), line=self.rail.line, knobs=self.rail.layout, live=live)
        session.param.watch(lambda event: setattr(self.prose, "theme", event.new), "theme")
        session.watch(self.show)
        session.settings.param.watch(lambda *_: self.show(), ["tab", *TEXT])
        self.show()

    def show(self) -> None:
        """Bring everything up to date where somebody looks; only new iterations are looked at."""
        if self.session.settings.tab != "tune":
            return
        run = self.session.run
        if run is not self._run:
            self._run = run
            number = run.number if run is not None else 0
            self.lanes.begin(number)
            self.prose.begin(number)
        if run is not None:
            self._extend(run)
        self._say()

    def _extend(self, run: LiveRun) -> None:
        iterations, marks = tuple(run.iterations), tuple(run.marks)
        known = len(self.lanes.rows)
        new = iterations[known:]
        moved = {mark.iteration: mark.text for mark in marks}
        if new:
            self.lanes.extend([row(one) for one in new])
            pieces = [piece(one, run.texts, moved.get(one.index, "")) for one in new]
            self.prose.extend(pieces, {kind for one in new for kind in one.kinds})
        self.lanes.param.update(
            marks=[(mark.iteration, mark.text) for mark in marks],
            waiting=", ".join(waiting(run)),
            plain=self._plain_speed(),
            made=[len(run.tokens), run.plan.max_new_tokens],
            going=run.active,
        )

    def _plain_speed(self) -> float:
        """Tokens a second of plain decoding, once it ended."""
        plain = self.session.plain
        if plain is None or not plain.over:
            return 0.0
        if plain is not self._timed:
            self._timed, self._speed = plain, speed([row(one) for one in plain.iterations])
        return self._speed

    def _say(self) -> None:
        run, verdict, plain = self.session.run, self.session.verdict, self.session.plain
        checking = plain is not None and plain.active
        if run is not None and plain is not None and plain.status == "failed":
            sign, cls, told = "!", "no", f"The proof could not be made: {plain.message}"
        elif verdict is not None and verdict.checked:
            sign, cls = ("✓", "") if verdict.same else ("✗", "bad")
            told = str(verdict)
            if checking:
                told += " Still checking."
            changed = self._changed()
            if changed:
                cls, told = cls or "no", f"{told} That was the run shown; {changed} changed since."
        elif checking:
            sign, cls, told = "…", "no", "Decoding the same prompt plainly, to compare."
        else:
            sign, cls, told = "=", "no", NOT_YET
        disc = f'<i class="{cls}" aria-hidden="true">{sign}</i>'
        markup = f'<div class="banner">{disc}<div><b role="status">{escape(told)}</b>{WHY}</div></div>'
        if self.banner.object != markup:
            self.banner.object = markup
        self.prove.disabled = checking or run is None or not run.iterations
        self.prove.label = (
            "Check again" if verdict is not None and verdict.checked and not checking else "Prove it"
        )

    def _changed(self) -> str:
        """What was changed since the run shown and makes another text, in words."""
        return ", ".join(TEXT[name] for name in self.session.waits if name in TEXT)

    def __panel__(self) -> Any:
        return self.layout


# Wide, the knobs stand beside the rest. On a narrow page they stand above the charts, folded away behind a
# line, so that whoever moves one sees what it does.
PLACES = """
:host{
  display:grid!important;
  grid-template:"knobs bar" auto "knobs live" 1fr/316px minmax(0,1fr);
  gap:16px;
  align-items:start;
}
.bar{grid-area:bar}
.knobs{grid-area:knobs}
.live{grid-area:live}
.line{grid-area:line;display:none!important}
@media (max-width:%dpx){
  :host{grid-template:none/minmax(0,1fr)}
  .bar,.line,.knobs,.live{grid-area:auto}
  .line{display:flex!important}
  .knobs:not(.open){display:none!important}
}
"""


def _placed(**parts: Any) -> pn.Column:
    """The parts where `PLACES` has them."""
    for name, part in parts.items():
        part.css_classes = [*part.css_classes, name]
    return pn.Column(*parts.values(), stylesheets=[PLACES % NARROW], margin=0, sizing_mode="stretch_width")


def waiting(run: LiveRun) -> Iterator[str]:
    """What moves before the next iteration, in words."""
    wanted = run.wanted
    if wanted is None or run.knobs is None or run.status != RUNNING:
        return
    if wanted.method != run.method:
        yield f"{run.method} → {wanted.method}"
        return
    held = run.knobs.as_dict()
    known = {name: value for name, value in wanted.knobs.items() if held.get(name) != value}
    yield from moves(run.knobs, run.knobs.but(**known))
