"""Compare: two or more methods or settings on the same prompts, racing for the same text."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.race import Entry, Lane, Race, results
from dashboard.jobs.run import PLAIN, runnable
from dashboard.jobs.words import LANES, short
from dashboard.parts.figures import Drawing, lead
from dashboard.parts.jobline import job_line
from dashboard.parts.look import card, html, section
from dashboard.parts.runbar import RunBar, both_ways
from dashboard.tabs.compare.lanes import RaceLanes, lane_of
from dashboard.tabs.compare.table import STYLE, as_csv, heading, sentence, table
from dashboard.visitor.examples import EXAMPLES
from dashboard.visitor.session import Session
from dashboard.visitor.state import MOST_COMPARED, NOW
from phrasekit import METHODS
from phrasekit.trace.summary import counted
from phrasekit.tune import bundled
from phrasekit.views import comparison_view
from phrasekit.views.escape import escape
from phrasekit.views.html import fragment

BUNDLED = 8  # prompts of those that come with the package
PIN = "pin"
PROMPTS = {
    "the prompt of Step and Tune": "this",
    "the example prompts": "examples",
    "built-in set": "bundled",
}
INTRO = """
<div class="intro"><h1>Several methods, one text</h1><p>Plain decoding and everyone you choose write the same
prompts, one iteration at a time in turn, so that each has had the same time at every moment. Whoever is ahead
is faster; the text must be the same.</p></div>
"""


class CompareTab(pn.viewable.Viewer):
    """Who races, the race, the result, and any two of them token by token."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._drawn: tuple[object, ...] = ()
        self._painted: tuple[object, ...] = ()
        settings = session.settings
        self.who = pmui.MultiChoice(
            label="Who races against plain decoding", max_items=MOST_COMPARED,
            sizing_mode="stretch_width", min_width=240, margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.prompts = pmui.Select(
            label="Prompts",
            options=PROMPTS,
            value=settings.prompts,
            size="small",
            width=240,
            margin=(0, 12, 8, 0),
        )
        # the buttons of an IntInput have no names
        self.tokens = pmui.LiteralInput(
            label="Tokens each", value=settings.race_tokens, type=int,
            size="small", width=120, margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.schedule = pmui.Select(
            label="Draft and target of parallel methods", options=LANES, value=settings.schedule,
            size="small", width=260, margin=(0, 12, 8, 0),
        )  # fmt: skip
        self.start = pmui.Button(label="Race", variant="contained", width=110, margin=(0, 8, 0, 0))
        self.cancel = pmui.Button(
            label="Cancel", variant="outlined", width=96, margin=(0, 8, 0, 0), disabled=True
        )
        self.save = pmui.FileDownload(
            callback=self._csv, filename="comparison.csv", label="Download CSV", variant="outlined",
            disabled=True, width=160, margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.intro = html(INTRO, padding="8px 0 4px", more=STYLE)
        self.state = html(min_width=220)
        self.lanes = RaceLanes(sizing_mode="stretch_width", margin=0)
        self.race_note = html(padding="0 0 6px")
        self.result = html(more=STYLE)
        self.result_note = html(padding="0 0 6px")
        self.prompt = _choice("Prompt", 110)
        self.left, self.right = _choice("One", 210), _choice("The other", 210)
        self.sentence = html(padding="10px 0 0")
        self.figure = Drawing(sizing_mode="stretch_width", margin=0)
        self.twin = html(padding="0 0 8px")
        self.pair = section(
            "Two of them, token by token",
            "where they cut the same text, and the clock",
            pn.FlexBox(self.prompt, self.left, self.right, gap="8px", margin=0, sizing_mode="stretch_width"),
            self.sentence,
            self.figure,
            self.twin,
        )
        self.outcome = pn.Column(
            self.result_note, self.result, margin=0, sizing_mode="stretch_width", stylesheets=[PART]
        )
        self.layout = self._laid_out()
        self._connect()
        self._offer()
        self.show()

    @property
    def race(self) -> Race | None:
        """The visitor's last race; a page that is loaded again finds it."""
        return self.session.last(Race)

    def begin(self) -> bool:
        """Race; whether it was accepted."""
        session, settings = self.session, self.session.settings
        entries = tuple(self._entries())
        if not entries:
            session.notice = "A race needs somebody to race against plain decoding; choose a method."
            return False
        if self.race is not None:
            self.race.cancel()
        plan = settings.plan(
            pace=0.0,
            max_new_tokens=min(settings.race_tokens, session.options.new_tokens),
            prompt_tokens=session.options.prompt_tokens,
        )
        race = Race(entries, plan, tuple(self._texts()), owner=session.owner)
        if not session.submit(race):
            return False
        session.tick()
        self.show()
        return True

    def stop(self) -> None:
        """End the race within an iteration; the prompts that were done stay."""
        if self.race is not None:
            self.race.cancel()
        self.session.tick()

    def show(self) -> None:
        """Where the race is; the lanes while it goes on, the rest when a prompt has ended."""
        if self.session.settings.tab != "compare":
            return
        self._offer()
        race = self.race
        active = race is not None and race.active
        self.start.label = "Race again" if race is not None and not active else "Race"
        self.start.disabled, self.cancel.disabled = active, not active
        self.state.object = _state(race)
        if race is None:
            self.outcome.visible = self.pair.visible = False
            return
        rounds = tuple(race.lanes)
        shown = rounds[-1] if active and rounds else rounds[0] if rounds else ()
        now = (race.number, race.version, race.status)
        if now != self._drawn:
            self._drawn = now
            self.lanes.param.update(
                lanes=[lane_of(lane) for lane in shown], tokens=race.plan.max_new_tokens, going=active
            )
            place = rounds.index(shown) + 1 if shown else 0
            words = (
                f"prompt {place} of {len(race.prompts)}: {_first_line(race.prompts[place - 1])}"
                if place
                else ""
            )
            self.race_note.object = f"<h2>Race</h2><span>{escape(words, keep=90)}</span>"
        done = sum(all(lane.over for lane in lanes) for lanes in rounds)
        ended = (race.number, done, race.status if race.over else "")
        if ended != self._painted:
            self._painted = ended
            self._show_results(race, done)

    def _show_results(self, race: Race, done: int) -> None:
        found = results(race)
        known = done > 0 and any(one.prompts for one in found)
        self.outcome.visible = known
        self.save.disabled = not known
        self.pair.visible = race.over and known
        self.intro.object = (
            f'<div class="intro"><h1>{_title(race)}</h1><p role="status">{sentence(found)}</p></div>'
            if race.over and known
            else INTRO
        )
        if known:
            self.result_note.object = f"<h2>Result</h2><span>{escape(heading(race))}</span>"
            self.result.object = table(found)
        if self.pair.visible:
            self._offer_pair(race)

    def _offer_pair(self, race: Race) -> None:
        names = {_label(entry, number): number for number, entry in enumerate(race.entries)}
        whole = [number for number, lanes in enumerate(race.lanes) if all(lane.over for lane in lanes)]
        self.prompt.options = {f"prompt {number + 1}": number for number in whole}
        self.left.options = self.right.options = names
        self.prompt.value, self.left.value, self.right.value = whole[0], 0, len(race.entries) - 1
        self._show_pair()

    def _show_pair(self) -> None:
        race = self.race
        if race is None or not self.pair.visible or self.session.settings.tab != "compare":
            return
        lanes = race.lanes[self.prompt.value or 0]
        sides: list[Lane] = [lanes[self.left.value or 0], lanes[self.right.value or 0]]
        if any(lane.trace is None or not lane.iterations for lane in sides):
            self.figure.figure, self.twin.object = {}, '<p class="note">One of the two was not run.</p>'
            return
        left, right = (lane.trace for lane in sides)
        if left is None or right is None:
            return
        names = (sides[0].entry.name, sides[1].entry.name)
        view = comparison_view(
            left, right, names=names if names[0] != names[1] else (f"{names[0]} 1", f"{names[1]} 2")
        )
        view = view.themed(self.session.theme)
        self.sentence.object = lead(view.sentence)
        self.figure.draw(view.draw())
        table_ = fragment(view.table.html(), self.session.theme)
        self.twin.object = (
            f"<details><summary>Show as table</summary><div class='scroll'>{table_}</div></details>"
        )

    def _entries(self) -> Iterator[Entry]:
        settings, pins = self.session.settings, self.session.pins
        for value in self.who.value:
            kind, _, number = value.partition(":")
            if kind == NOW:
                knobs = short(settings.method, settings.knobs)
                yield Entry(
                    name=f"{settings.method}, as on Tune",
                    method=settings.method,
                    knobs=settings.knobs,
                    more=knobs,
                )
            elif kind == PIN and int(number) < len(pins):
                pin = pins[int(number)]
                yield Entry(
                    name=f"{pin.name}, pin {int(number) + 1}",
                    method=pin.name,
                    knobs=pin.plan.knobs,
                    more=pin.knobs,
                )
            elif value in METHODS:
                yield Entry(name=value, method=value, more=self._tuned(value))

    def _tuned(self, method: str) -> str:
        """The knobs that the pair brings for a method, short."""
        place = self.session.place
        if place is None or place.pair is None:
            return ""
        plan = self.session.settings.plan(method=method, knobs={})
        return short(method, plan.settled(place.pair).as_dict())

    def _texts(self) -> Iterator[str]:
        chosen = self.session.settings.prompts
        if chosen == "this":
            yield self.session.settings.prompt
        elif chosen == "examples":
            yield from EXAMPLES.values()
        else:
            yield from bundled()[:BUNDLED]

    def _offer(self) -> None:
        """Methods of the pair, the setting of Tune, and pins."""
        session = self.session
        place = session.place
        options = {
            name: name for name in runnable(place.pair if place is not None else None) if name != PLAIN
        }
        settings = session.settings
        options[f"as on Tune: {settings.method} {short(settings.method, settings.knobs)}"] = NOW
        for number, pin in enumerate(session.pins):
            options[f"pin {number + 1}: {pin.name} {pin.knobs}"] = f"{PIN}:{number}"
        if self.who.options == options:
            return
        known = set(options.values())
        chosen = self.who.value or [name for name in settings.compared.split(",") if name]
        self.who.param.update(
            options=options, value=[value for value in chosen if value in known][:MOST_COMPARED]
        )

    def _chosen(self, event: Any) -> None:
        names = [value for value in event.new if value in METHODS or value == NOW]
        self.session.settings.compared = ",".join(names)
        self.schedule.visible = any(METHODS[name].beside for name in self._methods(event.new))

    def _methods(self, values: list[str]) -> Iterator[str]:
        for value in values:
            if value in METHODS:
                yield value
            elif value == NOW:
                yield self.session.settings.method

    def _connect(self) -> None:
        session, settings = self.session, self.session.settings
        both_ways(settings, "prompts", self.prompts)
        both_ways(settings, "race_tokens", self.tokens)
        both_ways(settings, "schedule", self.schedule)
        self.who.param.watch(self._chosen, "value")
        self.start.on_click(lambda _: self.begin())
        self.cancel.on_click(lambda _: self.stop())
        for widget in (self.prompt, self.left, self.right):
            widget.param.watch(lambda *_: self._show_pair(), "value")
        session.watch(self.show)
        session.param.watch(lambda *_: self._show_pair(), "theme")
        settings.param.watch(lambda *_: self._opened(), "tab")

    def _opened(self) -> None:
        self.show()
        self._show_pair()

    def _csv(self) -> StringIO:
        return StringIO(as_csv(results(self.race)) if self.race is not None else "")

    def _laid_out(self) -> pn.Column:
        row = {"margin": 0, "sizing_mode": "stretch_width", "align_items": "center"}
        return pn.Column(
            self.intro,
            card(
                pn.Column(
                    self.who,
                    pn.FlexBox(self.prompts, self.tokens, self.schedule, **row),
                    pn.FlexBox(self.start, self.cancel, self.save, gap="8px 0", **row),
                    self.state,
                    margin=0,
                    sizing_mode="stretch_width",
                    stylesheets=[":host{padding:16px 20px 10px}"],
                )
            ),
            card(
                pn.Column(
                    self.race_note, self.lanes, margin=0, sizing_mode="stretch_width", stylesheets=[PART]
                ),
                self.outcome,
                self.pair,
            ),
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "16px"},
        )

    def __panel__(self) -> Any:
        return self.layout


PART = """
:host{padding:16px 20px;border-top:1px solid var(--line)}
@media (max-width:640px){:host{padding:14px 12px}}
"""


def _choice(label: str, width: int) -> Any:
    return pmui.Select(label=label, options={"": 0}, value=0, size="small", width=width, margin=(8, 0))


def _label(entry: Entry, number: int) -> str:
    return " ".join(filter(None, (entry.name, entry.more))) if number else entry.name


def _title(race: Race) -> str:
    numbers = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    prompts = len(race.prompts)
    return f"{numbers[len(race.entries)]} settings, {prompts} prompt{'' if prompts == 1 else 's'}, one text"


def _first_line(prompt: str) -> str:
    return next((line.strip() for line in prompt.splitlines() if line.strip()), "")


def _state(race: Race | None) -> str:
    if race is None:
        return job_line(None, idle="nothing has raced yet", doing="", kept="", share=0, count="")
    done = sum(all(lane.over for lane in lanes) for lanes in tuple(race.lanes))
    share = min(100, round(100 * race.made / race.planned)) if race.planned else 0
    count = f"{done} of {counted(len(race.prompts), 'prompt')}"
    return job_line(race, idle="", doing="", kept=f"after {count}", share=share, count=count)
