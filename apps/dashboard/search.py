"""Search: find the fastest setting on this device, and whether speculation pays at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard import studies
from dashboard.apply import Apply
from dashboard.jobline import job_line
from dashboard.look import card, html
from dashboard.run import PLAIN, SYMBOLS, runnable
from dashboard.runbar import RunBar, both_ways
from dashboard.searchrun import GRID, SearchRun, Wish
from dashboard.searchtable import STYLE, best_chart, heat_maps, held_out_table, status, trials_table
from dashboard.session import Session
from dashboard.tune import section
from dashboard.words import KNOBS
from phrasekit.trace.summary import counted
from phrasekit.tune import Setting, bundled
from phrasekit.tune.axes import check_axes, uses
from phrasekit.tune.tuning import Options
from phrasekit.views.escape import escape

MOST_METHODS = 4
MOST_PROMPTS = 64
NEW, NONE = "a new study", "no study: nothing is kept"
PASTED = "pasted below"
PROMPTS = {"all that are built in": 16, "8 that are built in": 8, PASTED: 0}
RULE = "---"  # between pasted prompts
STRATEGIES = {"Algorithm 1: γ, then W, then β": "algorithm1", "Grid: every combination": GRID}
GRIDS = {
    "gamma": "1, 2, 4",
    "window": "0, 8",
    "level": "4, 6",
    "guesses": "2, 4",
    "suffixes": "0, 3",
    "beta": "4, 6",
}
INTRO = """
<div class="intro"><h1>Find the fastest setting here</h1><p>Every trial decodes the same prompts beside plain
decoding, in turns. Half of the prompts choose the setting; the verdict is measured on the other half. A trial
whose text differs from plain decoding's fails and is shown.</p></div>
"""


class SearchTab(pn.viewable.Viewer):
    """What to search, the trials as they come, the verdict, and the setting for use elsewhere."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.run: SearchRun | None = None
        self._drawn: tuple[object, ...] = ()
        settings = session.settings
        self.methods = pmui.MultiChoice(
            label="Methods",
            max_items=MOST_METHODS,
            sizing_mode="stretch_width",
            min_width=240,
            margin=(0, 12, 8, 0),
        )
        self.strategy = pmui.Select(
            label="Strategy",
            options=STRATEGIES,
            value=settings.strategy,
            size="small",
            width=260,
            margin=(0, 12, 8, 0),
        )
        self.prompts = pmui.Select(
            label="Prompts", options=PROMPTS, value=16, size="small", width=210, margin=(0, 12, 8, 0)
        )
        self.tokens = _number("Tokens each", 40, 4, min(256, session.options.new_tokens), 120)
        self.repeats = _number("Repeats", 2, 1, 9, 110)
        self.budget = _number("Seconds at most, 0: no end", settings.budget, 0, 7200, 190)
        self.study = pmui.Select(
            label="Study", options=[NEW, NONE], value=NEW, size="small", width=300, margin=(0, 12, 8, 0)
        )
        self.knobs = pmui.MultiChoice(
            label="Knobs of the grid", options={_knob(name): name for name in GRIDS}, value=["gamma", "beta"],
            sizing_mode="stretch_width", min_width=240, margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.values = {
            name: pmui.TextInput(
                label=f"{_knob(name)}: values",
                value=values,
                max_length=80,
                size="small",
                width=170,
                margin=(0, 12, 8, 0),
            )
            for name, values in GRIDS.items()
        }
        self.grid = pn.Column(
            self.knobs,
            pn.FlexBox(*self.values.values(), margin=0, sizing_mode="stretch_width"),
            margin=0,
            sizing_mode="stretch_width",
        )
        self.pasted = pmui.TextAreaInput(
            label=f"Prompts, two or more, with a line {RULE} between them", rows=5,
            max_length=MOST_PROMPTS * 2000, size="small", sizing_mode="stretch_width", margin=(0, 12, 8, 0),
            sx={"& textarea": {"fontFamily": "var(--mono)", "fontSize": "12px", "lineHeight": "18px"}},
        )  # fmt: skip
        self.start = pmui.Button(label="Search", variant="contained", width=120, margin=(0, 8, 0, 0))
        self.cancel = pmui.Button(
            label="Cancel", variant="outlined", width=96, margin=(0, 8, 0, 0), disabled=True
        )
        self.use = pmui.Button(
            label="Apply to Tune", variant="outlined", width=130, margin=(0, 8, 0, 0), disabled=True
        )
        self.apply = Apply(session, setting=self.setting)
        self.apply.button.label, self.apply.button.visible = "Show as code", False
        self.apply.button.width, self.apply.button.margin = 130, (0, 8, 0, 0)
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
        self._offer()
        self._settle()
        self.show()

    def begin(self) -> bool:
        """Search; whether it was accepted."""
        session = self.session
        try:
            wish = self._wish()
        except ValueError as error:
            session.notice = str(error)
            return False
        if self.run is not None:
            self.run.cancel()
        run = SearchRun(wish, owner=session.owner)
        if not session.submit(run):
            return False
        self.run = run
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
        """What was found: the verdict's setting, or the best trial's where the search ended before one.

        Raises:
            ValueError: nothing was found yet.
        """
        run, settings = self.run, self.session.settings
        found = None if run is None else run.verdict or run.best
        if found is None:
            raise ValueError("a search must have ended a trial before it can be applied; wait for one")
        return Setting(
            method=found.method,
            knobs=found.knobs,
            target=settings.target or None,
            draft=settings.draft or None,
            device=settings.device,
            dtype=settings.dtype or None,
            max_new_tokens=settings.tokens,
        )

    def put(self) -> None:
        """Give the setting to Tune, and show it in every form."""
        found, settings = self.setting(), self.session.settings
        settings.method = found.method
        settings.take_knobs(found.knobs)
        self.told.object = (
            '<p class="note" role="status">Tune has this setting now; press Run there to see it work.</p>'
        )
        self.apply.show()

    def show(self) -> None:
        """Where the search is."""
        if self.session.settings.tab != "search":
            return
        self._offer()
        run = self.run
        active = run is not None and run.active
        self.start.label = "Search again" if run is not None and not active else "Search"
        self.start.disabled, self.cancel.disabled = active, not active
        self.state.object = _state(run)
        self.body.visible = run is not None and bool(run.trials or run.progress)
        if run is None or (run.number, run.version, run.status) == self._drawn:
            return
        ended = run.over and not (self._drawn and self._drawn[2] == run.status)
        self._drawn = (run.number, run.version, run.status)
        ready = run.over and (run.verdict is not None or run.best is not None)
        self.use.disabled, self.apply.button.visible = not ready, ready
        self.trials.object = trials_table(run)
        self.chart.object = best_chart(run.trials)
        self.maps.object = heat_maps(run.trials)
        self.found.visible, self.heat.visible = bool(self.chart.object), bool(self.maps.object)
        self.ending.visible = run.over and (run.verdict is not None or bool(run.trials))
        if self.ending.visible:
            self.verdict.object = _verdict(run)
            self.held.object = held_out_table(run.held_out) if run.held_out else ""
        if ended:
            self._list_studies()

    # --- what was chosen -----------------------------------------------------------------------

    def _wish(self) -> Wish:
        session, settings = self.session, self.session.settings
        methods = tuple(self.methods.value)
        if not methods:
            raise ValueError("A search needs a method; choose one.")
        axes = self._axes() if settings.strategy == GRID else {}
        for method in methods:
            own = {name: values for name, values in axes.items() if uses(method, name)}
            check_axes(method, own, usual=settings.strategy != GRID)
        options = Options(
            max_new_tokens=min(self.tokens.value, session.options.new_tokens),
            repeats=self.repeats.value,
            budget=float(settings.budget) if settings.budget else None,
            schedule=settings.schedule,
        )
        return Wish(
            methods=methods,
            strategy=settings.strategy,
            axes=axes,
            prompts=tuple(self._texts()),
            prompt_tokens=session.options.prompt_tokens,
            options=options,
            study=self._file(methods),
        )

    def _axes(self) -> dict[str, tuple[int, ...]]:
        found = {}
        for name in self.knobs.value:
            text = self.values[name].value
            try:
                found[name] = tuple(int(part) for part in text.replace(",", " ").split())
            except ValueError:
                raise ValueError(
                    f"the values of {SYMBOLS[name]} must be whole numbers with commas between, but got "
                    f"{text!r}"
                ) from None
        if not found:
            raise ValueError("A grid needs knobs with values; choose one or more.")
        return found

    def _texts(self) -> Iterator[str]:
        if self.prompts.value:
            yield from bundled()[: self.prompts.value]
            return
        lines, most = (self.pasted.value or "").splitlines(), self.session.options.prompt_characters
        parts = "\n".join("\0" if line.strip() == RULE else line for line in lines).split("\0")
        texts = [part.strip("\n") for part in parts if part.strip()]
        if not 2 <= len(texts) <= MOST_PROMPTS:
            raise ValueError(
                f"a search needs 2 to {MOST_PROMPTS} prompts with a line {RULE} between them, but got "
                f"{len(texts)}"
            )
        if any(len(text) > most for text in texts):
            raise ValueError(
                f"a prompt may have at most {most} characters here, but one has more; shorten it"
            )
        yield from texts

    def _file(self, methods: tuple[str, ...]) -> Path | None:
        chosen = self.study.value
        if chosen == NONE:
            return None
        if chosen == NEW:
            chosen = studies.fresh("-".join(methods))
            self.study.param.update(options=[NEW, NONE, chosen, *studies.names()], value=chosen)
        return studies.path_of(chosen)

    # --- what is offered -----------------------------------------------------------------------

    def _offer(self) -> None:
        place = self.session.place
        pair = place.pair if place is not None else None
        options = [name for name in runnable(pair) if name != PLAIN and _searchable(name)]
        if self.methods.options != options:
            chosen = self.methods.value or self.session.settings.searched.split(",")
            known = [name for name in chosen if name in options]
            self.methods.param.update(options=options, value=known[:MOST_METHODS])

    def _list_studies(self) -> None:
        known, chosen = [NEW, NONE, *studies.names()], self.study.value
        self.study.param.update(options=known, value=chosen if chosen in known else NEW)

    def _settle(self, *_: Any) -> None:
        """Show the fields that count."""
        self.grid.visible = self.session.settings.strategy == GRID
        for name, field in self.values.items():
            field.visible = name in self.knobs.value
        self.pasted.visible = self.prompts.value == 0

    def _chosen(self, event: Any) -> None:
        self.session.settings.searched = ",".join(event.new)

    def _connect(self) -> None:
        session, settings = self.session, self.session.settings
        both_ways(settings, "strategy", self.strategy)
        both_ways(settings, "budget", self.budget)
        self.methods.param.watch(self._chosen, "value")
        for widget in (self.knobs, self.prompts):
            widget.param.watch(self._settle, "value")
        settings.param.watch(self._settle, "strategy")
        self.start.on_click(lambda _: self.begin())
        self.cancel.on_click(lambda _: self.stop())
        self.use.on_click(lambda _: self.put())
        session.watch(self.show)
        settings.param.watch(lambda *_: self._opened(), "tab")
        self._list_studies()

    def _opened(self) -> None:
        self._list_studies()
        self.show()

    def _laid_out(self) -> pn.Column:
        row: dict[str, Any] = {"margin": 0, "sizing_mode": "stretch_width", "align_items": "center"}
        return pn.Column(
            html(INTRO, padding="8px 0 4px", more=STYLE),
            card(
                pn.Column(
                    self.methods,
                    pn.FlexBox(
                        self.strategy, self.prompts, self.tokens, self.repeats, self.budget, self.study, **row
                    ),
                    self.grid,
                    self.pasted,
                    pn.FlexBox(
                        self.start,
                        self.cancel,
                        self.use,
                        self.apply.button,
                        self.apply.dialog,
                        gap="8px 0",
                        **row,
                    ),
                    self.told,
                    self.state,
                    margin=0,
                    sizing_mode="stretch_width",
                    stylesheets=[":host{padding:16px 20px 10px}"],
                )
            ),
            self.body,
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "16px"},
        )

    def __panel__(self) -> Any:
        return self.layout


def _number(label: str, value: int, start: int, end: int, width: int) -> Any:
    """A field for a whole number; the buttons of an IntInput have no names."""
    field = pmui.LiteralInput(
        label=label, value=value, type=int, size="small", width=width, margin=(0, 12, 8, 0)
    )

    def keep_within(event: Any) -> None:
        within = min(max(event.new if isinstance(event.new, int) else value, start), end)
        if within != event.new:
            field.value = within

    field.param.watch(keep_within, "value")
    return field


def _knob(name: str) -> str:
    return f"{SYMBOLS[name]} {KNOBS[name][0]}"


def _searchable(method: str) -> bool:
    """Whether Algorithm 1 has knobs to try for it."""
    try:
        check_axes(method, None, usual=True)
    except ValueError:
        return False
    return True


def _verdict(run: SearchRun) -> str:
    if run.verdict is not None:
        sign, cls = ("✓", "") if run.verdict.speculate else ("–", "no")
        told = run.verdict.sentence
    else:
        sign, cls = "–", "no"
        told = "The search ended before the held-out prompts; the best trial so far is marked below."
    disc = f'<i class="{cls}" aria-hidden="true">{sign}</i>'
    return f'<div class="banner">{disc}<p class="verdict" role="status">{escape(told)}</p></div>'


def _state(run: SearchRun | None) -> str:
    if run is None:
        return job_line(None, idle="nothing was searched yet", doing="", kept="", share=0, count="")
    doing, share = status(run)
    best = f"; best so far {run.best.score or 0:.2f}×" if run.best is not None else ""
    done = counted(len(run.trials), "trial")
    return job_line(run, idle="", doing=f"{doing}{best}", kept=f"after {done}", share=share, count=done)
