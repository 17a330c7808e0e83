"""Search: find the fastest setting on this device, and whether speculation pays at all."""

from __future__ import annotations

from typing import Any

import panel as pn

from dashboard.jobs.run import PLAIN
from dashboard.jobs.search import SearchRun
from dashboard.parts.apply import Apply
from dashboard.parts.button import Button
from dashboard.parts.jobline import job_line
from dashboard.parts.look import card, html, section
from dashboard.parts.runbar import RunBar
from dashboard.tabs.search.fields import SearchFields
from dashboard.tabs.search.table import STYLE, best_chart, heat_maps, held_out_table, status, trials_table
from dashboard.visitor.session import Session
from phrasekit.trace.summary import counted
from phrasekit.tune import Setting
from phrasekit.tune.verdict import OPEN, SPECULATE, STAY
from phrasekit.views.escape import escape

INTRO = """
<div class="intro"><h1>Find the fastest setting here</h1><p>Every trial decodes the same prompts beside plain
decoding, in turns. Half of the prompts choose the setting; the verdict is measured on the other half. A trial
whose text differs from plain decoding's fails and is shown.</p></div>
"""

LABELS = {  # of what gives the setting to Tune, and of what shows it as code
    SPECULATE: ("Apply to Tune", "Show as code"),
    STAY: ("Apply plain decoding to Tune", "Show plain decoding as code"),
    OPEN: ("Apply best trial to Tune", "Show best trial as code"),
}
SIGNS = {SPECULATE: "✓", STAY: "–", OPEN: "?"}


class SearchTab(pn.viewable.Viewer):
    """What to search, the trials as they come, the verdict, and the setting for use elsewhere."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._drawn: tuple[object, ...] = ()
        self.fields = SearchFields(session)
        self.start = Button(label="Search", variant="contained", width=120, margin=(0, 8, 0, 0))
        self.cancel = Button(label="Cancel", width=96, margin=(0, 8, 0, 0))
        self.use = Button(label="Apply to Tune", margin=(0, 8, 0, 0))
        self.apply = Apply(session, setting=self.setting)
        self.apply.button.label, self.apply.button.visible = "Show as code", False
        self.apply.button.width, self.apply.button.margin = None, (0, 8, 0, 0)  # as wide as its label
        self.told = html(padding="4px 0 0")
        self.state = html(min_width=220)
        self.verdict = html(more=STYLE)
        self.held = html(more=STYLE)
        self.chart = html(more=STYLE)
        self.maps = html(more=STYLE)
        self.trials = html(more=STYLE)
        self.ending = section(
            "Verdict", "measured on prompts that no trial has seen", self.verdict, self.held
        )
        self.found = section("Best so far", "a dot is a trial; higher is faster", self.chart)
        self.heat = section("Two knobs at a time", "the best speed seen at each pair of values", self.maps)
        self.body = card(
            self.ending, self.found, section("Trials", "on the calibration prompts", self.trials), self.heat
        )
        self.layout = self._laid_out()
        self._connect()
        self.show()

    @property
    def run(self) -> SearchRun | None:
        """The visitor's last search; a page that is loaded again finds it."""
        return self.session.last(SearchRun)

    def begin(self) -> bool:
        """Search; whether it was accepted."""
        session = self.session
        try:
            wish = self.fields.wish(self.run)
        except ValueError as error:
            session.notice = str(error)
            return False
        if self.run is not None:
            self.run.cancel()
        run = SearchRun(wish, owner=session.owner)
        if not session.submit(run):
            return False
        self.told.object = ""
        session.tick()
        self.show()
        return True

    def stop(self) -> None:
        """End the search within an iteration; trials that are over stay in the study."""
        if self.run is not None:
            self.run.cancel()
        self.session.tick()

    def setting(self) -> Setting:
        """What the verdict says, or the best trial's setting where nothing is decided.

        Raises:
            ValueError: nothing was found yet.
        """
        run = self.run
        stays = run is not None and _outcome(run) == STAY
        best = None if run is None else run.verdict if _outcome(run) == SPECULATE else run.best
        if run is None or run.place is None or not (stays or best):
            raise ValueError("a search must have ended a trial before it can be applied; wait for one")
        spec = run.place.spec  # the pair that was searched on, whichever is chosen by now
        return Setting(
            method=PLAIN if stays or best is None else best.method,
            knobs={} if stays or best is None else best.knobs,
            target=spec.target or None,
            draft=spec.draft or None,
            device=spec.device,
            dtype=spec.dtype or None,
            max_new_tokens=self.session.settings.tokens,
        )

    def put(self) -> None:
        """Give the setting to Tune; plain decoding has no knobs, so those there stay."""
        found, settings = self.setting(), self.session.settings
        settings.method = found.method
        if found.method != PLAIN:
            settings.take_knobs(found.knobs)
        self.told.object = (
            '<p class="note" role="status">Tune has this setting now; press Run there to see it work.</p>'
        )

    def show(self) -> None:
        """Where the search is; fields and buttons even where nobody looks, as a tab is opened as it was."""
        run = self.run
        self.fields.offer()
        self._switch(run)
        if self.session.settings.tab != "search":
            return
        self.state.object = _state(run)
        self.body.visible = run is not None and bool(run.trials or run.progress)
        if run is None or (run.number, run.version, run.status) == self._drawn:
            return
        ended = run.over and not (self._drawn and self._drawn[2] == run.status)
        self._drawn = (run.number, run.version, run.status)
        self.trials.object = trials_table(run)
        self.chart.object = best_chart(run.trials)
        self.maps.object = heat_maps(run.trials)
        self.found.visible, self.heat.visible = bool(self.chart.object), bool(self.maps.object)
        self.ending.visible = run.over and (run.verdict is not None or bool(run.trials))
        if self.ending.visible:
            self.verdict.object = _verdict(run)
            self.held.object = held_out_table(run.held_out) if run.held_out else ""
        if ended:
            self.fields.list_studies()

    def _switch(self, run: SearchRun | None) -> None:
        """Buttons on and off."""
        active = run is not None and run.active
        outcome = OPEN if run is None else _outcome(run)
        found = run is not None and run.over and (outcome == STAY or run.best is not None)
        self.start.label = "Search again" if run is not None and not active else "Search"
        self.start.off("A search goes on; cancel it to begin another." if active else "")
        self.cancel.off("" if active else "No search goes on.")
        waits = (
            "The search goes on; cancel it to apply its best trial." if active else "No trial is over yet."
        )
        self.use.off("" if found else waits)
        self.apply.button.visible = found
        labels = LABELS[outcome] if found else LABELS[SPECULATE]
        for button, label in zip((self.use, self.apply.button), labels, strict=True):
            button.label = label

    def _connect(self) -> None:
        session, settings = self.session, self.session.settings
        self.start.on_click(lambda _: self.begin())
        self.cancel.on_click(lambda _: self.stop())
        self.use.on_click(lambda _: self.put())
        session.watch(self.show)
        settings.param.watch(lambda *_: self._opened(), "tab")
        if self.fields.missing:
            told = f"The link names the study {escape(self.fields.missing)}, which is not here."
            self.told.object = f'<p class="note" role="status">{told}</p>'

    def _opened(self) -> None:
        self.fields.list_studies()
        self.show()

    def _laid_out(self) -> pn.Column:
        buttons = (self.start, self.cancel, self.use, self.apply.button, self.apply.dialog)
        return pn.Column(
            html(INTRO, padding="8px 0 4px", more=STYLE),
            card(
                pn.Column(
                    self.fields.layout,
                    pn.FlexBox(
                        *buttons,
                        gap="8px 0",
                        margin=(14, 0, 0, 0),
                        sizing_mode="stretch_width",
                        align_items="center",
                    ),
                    self.told,
                    self.state,
                    margin=0,
                    sizing_mode="stretch_width",
                    stylesheets=[":host{padding:4px 20px 10px}"],
                )
            ),
            self.body,
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "16px"},
        )

    def __panel__(self) -> Any:
        return self.layout


def _verdict(run: SearchRun) -> str:
    if run.verdict is not None:
        sign, cls = SIGNS[run.verdict.outcome], "" if run.verdict.speculate else "no"
        told = run.verdict.sentence
    else:
        sign, cls = SIGNS[OPEN], "no"
        told = "Nothing is decided: the search ended before the held-out prompts; the best trial is marked."
    disc = f'<i class="{cls}" aria-hidden="true">{sign}</i>'
    return f'<div class="banner">{disc}<p class="verdict" role="status">{escape(told)}</p></div>'


def _state(run: SearchRun | None) -> str:
    if run is None:
        return job_line(None, idle="nothing was searched yet", doing="", kept="", share=0, count="")
    doing, share = status(run)
    best = f"; best so far {run.best.score or 0:.2f}×" if run.best is not None else ""
    done = counted(len(run.trials), "trial")
    kept = f"; goes on from {counted(run.kept, 'trial')} of before" if run.kept else ""
    return job_line(
        run,
        idle="",
        doing=f"{doing}{best}{kept}",
        kept=f"after {done}{kept}",
        share=share,
        count=done,
        done=_done(run),
    )


def _done(run: SearchRun) -> str:
    """What was left out and what was there already."""
    ending = run.verdict.ending if run.verdict is not None else None
    cut = f"{ending.tried} of about {ending.planned} trials, see the verdict" if ending else ""
    kept = f"{counted(run.kept, 'trial')} from before" if run.kept else ""
    return "; ".join(filter(None, (cut, kept)))


def _outcome(run: SearchRun) -> str:
    return run.verdict.outcome if run.verdict is not None else OPEN
