"""Theory: the paper's equations under sliders, with the point of the run shown on their curves."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.costs import CostRun
from dashboard.parts.button import Button
from dashboard.parts.figures import Drawing, FigureTab, lead
from dashboard.parts.look import beside, card, html
from dashboard.parts.runbar import RunBar
from dashboard.tabs.theory.curves import KEY, Numbers, curves_view
from dashboard.visitor.session import Session
from dashboard.visitor.state import CURVES
from phrasekit.trace import Trace
from phrasekit.trace.summary import counted
from phrasekit.tune import CostTable
from phrasekit.views import View, speedup_view
from phrasekit.views.escape import escape
from phrasekit.views.html import fragment
from phrasekit.views.speedup import SpeedupInfo, speedup_info

CONTEXT = 128  # cached rows that a forward is read off the table for
INTRO = """
<h1 style="font:600 22px/30px var(--sans);margin:0 0 4px">How fast it could be</h1>
<p class="big" style="font-size:16px;line-height:24px">Four numbers say what speculation can gain: how often
the target agrees, what a draft forward costs, how many tokens it writes, how many come for free behind the
draft.</p>
"""
WORDS = {
    "alpha": "α: chance that the target keeps a drafted token, all before it kept.",
    "c": "c: tokens drafted per draft forward. 1 without phrases.",
    "ratio": "t_S / t_T: a draft forward in target forwards. Its inverse is the ceiling C.",
    "beta": "β: suffix tokens behind the draft, which cost nothing by Eq. 6; their mean in a run. The knob β "
    "on Tune is the most there can be.",
}
EQUATIONS = """
<details><summary>The equations, and what they take for granted</summary><p class="words">
Eq. 5: (A(γ) + 1) · t_T / (γ · t_S + t_T). Eq. 6: (A(γ + β) + 1) · t_T / (γ · t_S / c + t_T).
A(n) is the mean number of kept tokens of a draft of n: α (1 − αⁿ) / (1 − α).
PEARL drafts while the target verifies, so that a round takes max(γ · t_S, t_T). It cannot exceed
C = t_T / t_S, and with c tokens a draft forward C · c.
All of them take α to be the same at every position, every target forward to cost the same however many rows
it has, and everything but forwards to be free.
</p></details>
"""


class TheoryTab(pn.viewable.Viewer):
    """Curves under sliders; below them Eq. 6 with the run's own numbers over γ and β."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._shown: tuple[object, ...] = ()
        self._ran: tuple[object, ...] = ()  # the run that the sliders were put at
        self._costs: CostRun | None = None
        self._read: CostTable | None = None
        self.sliders = {
            "alpha": _slider("alpha", "α  acceptance", 0.01, 0.7),
            "c": _slider("c", "c  tokens per draft forward", 0.1, 1.0),
            "ratio": _slider("ratio", "t_S / t_T  cost of a draft forward", 0.01, 0.25),
            "beta": _slider("beta", "β  tokens for free", 1, 0),
        }
        self.take = Button(label="Take the run's numbers", width=190, margin=(4, 8, 4, 0))
        self.measure = Button(label="Measure the costs here", width=190, margin=(4, 0, 4, 0))
        self.told = html(padding="4px 0 0")
        self.sentence = html(padding="14px 20px 0")
        self.drawing = Drawing(least=320, sizing_mode="stretch_width", margin=0)
        self.twin = html(padding="0 20px 16px")
        self.map = FigureTab(session, "theory", self._view)
        rail = card(
            html("<h2>Numbers</h2>", padding="14px 20px 4px"),
            *(part for name, slider in self.sliders.items() for part in (slider, _meaning(name))),
            pn.Column(
                pn.FlexBox(self.take, self.measure, margin=0, sizing_mode="stretch_width"),
                self.told,
                margin=0,
                sizing_mode="stretch_width",
                stylesheets=[":host{padding:8px 20px 14px}"],
            ),
        )
        self.layout = pn.Column(
            html(INTRO, padding="8px 0 4px"),
            beside(
                rail,
                card(self.sentence, html(_key(), padding="8px 20px 0"), self.drawing, self.twin),
                width=316,
            ),
            html(
                "<h2>The run over γ and β</h2><span>Eq. 6 with the acceptance that it measured</span>",
                padding="8px 0 0",
            ),
            self.map.layout,
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "16px"},
        )
        for slider in self.sliders.values():
            slider.param.watch(lambda _: self.show(), "value")
            slider.param.watch(self._moved, "value_throttled")
        self.take.on_click(lambda _: self.take_run())
        self.measure.on_click(lambda _: self.measure_here())
        session.watch(self.show)
        session.param.watch(lambda *_: self.show(), "theme")
        session.settings.param.watch(lambda *_: self.show(), "tab")
        chosen = self._chosen
        self.take_run()
        if chosen:
            self._choose(**chosen)
            self.told.object = '<p class="note">The numbers are those of the link.</p>'
        self.show()

    @property
    def numbers(self) -> Numbers:
        """What the sliders say."""
        values = {name: slider.value for name, slider in self.sliders.items()}
        return Numbers(**values)

    def take_run(self) -> bool:
        """Put the sliders where the run shown is; whether it has such numbers."""
        run = self._run()
        if run is None:
            self.told.object = (
                '<p class="note">The run shown has no draft model, so it has no such numbers.</p>'
            )
            return False
        self._put(alpha=_mean(run), c=run.c, ratio=run.t_draft / run.t_target, beta=run.beta)
        self.session.settings.param.update(dict.fromkeys(map(_setting, self.sliders)))
        self.told.object = (
            f'<p class="note">The run shown: a draft forward took {run.t_draft:.1f} ms, a target forward '
            f"{run.t_target:.1f} ms, and {counted(run.beta, 'suffix token')} stood behind a draft on "
            "average.</p>"
        )
        return True

    def measure_here(self) -> bool:
        """Time forwards of the pair; whether that was accepted."""
        job = CostRun(self.session.owner)
        if not self.session.submit(job):
            return False
        self._costs = job
        self.session.tick()
        self.show()
        return True

    def show(self) -> None:
        """Draw what changed, where somebody looks; sliders even where nobody does.

        A slider that moved while its tab was being opened would be drawn where it was before.
        """
        session = self.session
        self._follow_costs()
        run, plain = session.run, session.plain
        ran = (run.number, run.status) if run is not None and run.over else ()
        ran = (*ran, session.source, id(session.uploaded), plain is not None and plain.over)
        known, self._ran = self._ran, ran
        if ran != known and not self._chosen:
            self.take_run()
        if session.settings.tab != "theory":
            return
        state = (self.numbers, *ran, session.theme)
        if state == self._shown:
            return
        self._shown = state
        view = curves_view(self.numbers, self._run(), session.trace.method).themed(session.theme)
        self.sentence.object = lead(view.sentence)
        self.drawing.draw(view.draw())
        table = fragment(view.table.html(), session.theme)
        self.twin.object = (
            f"{EQUATIONS}<details><summary>Show as table</summary><div class='scroll'>{table}</div></details>"
        )

    def _follow_costs(self) -> None:
        job = self._costs
        if job is None:
            return
        self.measure.off("The costs are being measured." if job.active else "")
        if job.active:
            self.told.object = '<p class="note">Measuring forwards of both models.</p>'
        elif job.message:
            self.told.object = f'<p class="note">The costs could not be measured: {escape(job.message)}</p>'
        elif job.table is not None and job.table is not self._read:
            self._read = job.table
            self._take_costs(job.table)

    def _take_costs(self, table: CostTable) -> None:
        target = table.ms("target", 1, CONTEXT)
        if not table.draft:
            self.told.object = (
                f'<p class="note">A target forward takes {target:.1f} ms; there is no draft model.</p>'
            )
            return
        draft = table.ms("draft", 1, CONTEXT)
        rows = table.ms("target", 8, CONTEXT) / target
        self._choose(ratio=draft / target)
        self.told.object = (
            f'<p class="note">Measured here, one row behind {CONTEXT} cached ones: draft {draft:.1f} ms, '
            f"target {target:.1f} ms. The equations take rows to be free; 8 rows cost the target {rows:.2f} "
            "times one.</p>"
        )

    @property
    def _chosen(self) -> dict[str, float]:
        """The numbers that the visitor has chosen; a new run leaves the sliders alone then."""
        settings = self.session.settings
        known = {name: getattr(settings, _setting(name)) for name in self.sliders}
        return {name: value for name, value in known.items() if value is not None}

    def _choose(self, **values: float) -> None:
        """Put sliders somewhere, for good: a link carries all of them from now on."""
        self._put(**values)
        self._moved()

    def _put(self, **values: float) -> None:
        for name, value in values.items():
            slider = self.sliders[name]
            slider.value = type(slider.value)(min(slider.end, max(slider.start, round(value, 2))))

    def _moved(self, *_: Any) -> None:
        values = {_setting(name): slider.value for name, slider in self.sliders.items()}
        self.session.settings.param.update(values)

    def _run(self) -> SpeedupInfo | None:
        try:
            return speedup_info(self.session.trace, plain=self.session.baseline)
        except ValueError:
            return None

    def _view(self, trace: Trace) -> View:
        return speedup_view(trace, plain=self.session.baseline)

    def __panel__(self) -> Any:
        return self.layout


SLIDER: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (10, 24, 0, 20)}


def _key() -> str:
    """What the lines and signs of the chart are."""
    signs = (
        f'<span><b aria-hidden="true" style="color:var({hue})">{sign}</b> {words}</span>'
        for sign, hue, words in KEY
    )
    return f'<p class="note" style="display:flex;flex-wrap:wrap;gap:2px 16px">{"".join(signs)}</p>'


def _slider(name: str, label: str, step: float, value: float) -> Any:
    start, end = CURVES[name]
    kind = pmui.IntSlider if isinstance(step, int) else pmui.FloatSlider
    return kind(label=label, start=start, end=end, step=step, value=value, **SLIDER)


def _setting(name: str) -> str:
    """The setting that holds a slider's number."""
    return f"curve_{name}"


def _meaning(name: str) -> Any:
    return html(f'<p class="note">{WORDS[name]}</p>', padding="0 20px 10px")


def _mean(run: SpeedupInfo) -> float:
    """The constant chance that stands for the run's acceptance."""
    return run.acceptance.beyond
