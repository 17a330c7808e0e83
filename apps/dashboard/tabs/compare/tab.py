"""Compare: two or more methods or settings on the same prompts, racing for the same text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.pinned import Pinned
from dashboard.jobs.race import Entry, Lane, Race, results
from dashboard.jobs.run import PLAIN, runnable
from dashboard.jobs.words import LANES, short
from dashboard.parts.button import Button
from dashboard.parts.figures import Drawing, lead
from dashboard.parts.jobline import job_line
from dashboard.parts.look import CHIPS, card, html, section
from dashboard.parts.number import number
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
PIN = "pin"  # before its number, among those who may race
PROMPTS = {
    "the prompt of Step and Tune": "this",
    "the example prompts": "examples",
    "built-in set": "bundled",
}
INTRO = """
<div class="intro"><h1>Several methods, one text</h1><p>Plain decoding and everyone you choose write the same
prompts, one iteration at a time in turn, so that each has had the same time at every moment. Whoever is ahead
is faster; the text must be the same. All of it is done several times: where the passes of two overlap, it is
too close to tell.</p></div>
"""


class CompareTab(pn.viewable.Viewer):
    """Who races, the race, the result, and any two of them token by token."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._drawn: tuple[object, ...] = ()
        self._painted: tuple[object, ...] = ()
        self._known: Race | None = None
        settings = session.settings
        self.who = pmui.MultiChoice(
            label="Who races against plain decoding", max_items=MOST_COMPARED, margin=(14, 0, 0, 0), **CHIPS
        )
        self.prompts = pmui.Select(
            label="Prompts",
            options=PROMPTS,
            value=settings.prompts,
            size="small",
            width=240,
            margin=(14, 12, 0, 0),
        )
        self.tokens = number(settings, "race_tokens", "Tokens each", width=150, margin=(14, 12, 0, 0))
        self.passes = number(settings, "passes", "Passes", width=120, margin=(14, 12, 0, 0))
        self.schedule = pmui.Select(
            label="Draft and target of parallel methods", options=LANES, value=settings.schedule,
            size="small", width=260, margin=(14, 12, 0, 0),
        )  # fmt: skip
        self.start = Button(label="Race", variant="contained", width=110, margin=(0, 8, 0, 0))
        self.cancel = Button(label="Cancel", width=96, margin=(0, 8, 0, 0))
        self.save = pmui.FileDownload(
            callback=self._csv, filename="comparison.csv", label="Download CSV", variant="outlined",
            visible=False, width=160, margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.about = html(padding="4px 0 0")
        self.intro = html(INTRO, padding="8px 0 4px", more=STYLE)
        self.state = html(min_width=220)
        self.lanes = RaceLanes(sizing_mode="stretch_width", margin=0)
        self.race_note = html(padding="0 0 6px")
        self.result = html(more=STYLE)
        self.result_note = html(padding="0 0 6px")
        self.prompt = _choice("Prompt", 110)
        self.left, self.right = _choice("One", 210), _choice("The other", 210)
        self.sentence = html(padding="10px 0 0")
        # so wide that its legend has one line
        self.figure = Drawing(least=780, sizing_mode="stretch_width", margin=0)
        self.twin = html(padding="0 0 8px")
        self.pair = section(
            "Two of them, token by token",
            "where they cut the same text, and the clock of the first pass",
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
        race = Race(entries, plan, tuple(self._texts()), owner=session.owner, passes=settings.passes)
        if not session.submit(race):
            return False
        self._known = race
        session.tick()
        self.show()
        return True

    def stop(self) -> None:
        """End the race within an iteration; the prompts that were done stay."""
        if self.race is not None:
            self.race.cancel()
        self.session.tick()

    def show(self) -> None:
        """Where the race is; the lanes while it goes on, the rest when a prompt has ended.

        Fields and buttons even where nobody looks, as a tab is opened as it was.
        """
        self._offer()
        race = self.race
        if race is not self._known:
            self._known = race
            self._choose_again(race)
        active = race is not None and race.active
        self.start.label = "Race again" if race is not None and not active else "Race"
        self.start.off("A race goes on; cancel it to begin another." if active else "")
        self.cancel.off("" if active else "No race goes on.")
        if self.session.settings.tab != "compare":
            return
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
            words = _place(race, rounds.index(shown)) if shown else ""
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
        self.save.visible = known
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
        """Any prompt and any two; what was chosen stays, where it raced again.

        The labels are the values: a field whose value stays the same would not be told of other labels.
        """
        names = [_label(entry) for entry in race.entries]
        whole = sum(all(lane.over for lane in lanes) for lanes in race.lanes[: len(race.prompts)])
        prompts = [_numbered(number) for number in range(whole)]
        for field, options, usual in (
            (self.prompt, prompts, prompts[0]),
            (self.left, names, names[0]),
            (self.right, names, names[-1]),
        ):
            field.param.update(options=options, value=field.value if field.value in options else usual)
        self._show_pair()

    def _show_pair(self) -> None:
        race = self.race
        if race is None or not self.pair.visible or self.session.settings.tab != "compare":
            return
        fields = (self.prompt, self.left, self.right)
        if any(field.value not in field.options for field in fields):
            return
        prompt, *places = (field.options.index(field.value) for field in fields)
        sides: list[Lane] = [race.lanes[prompt][place] for place in places]
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
        settings = self.session.settings
        pins = {f"{PIN}:{pin.number}": (name, pin) for name, pin in _named(self.session.pins)}
        for value in self.who.value:
            if value == NOW:
                yield Entry(
                    name=f"{settings.method}, as on Tune",
                    method=settings.method,
                    knobs=settings.knobs,
                    more=short(settings.method, settings.knobs),
                    choice=value,
                )
            elif value in pins:
                name, pin = pins[value]
                yield Entry(name=name, method=pin.name, knobs=pin.plan.knobs, more=pin.knobs, choice=value)
            elif value in METHODS:
                yield Entry(name=value, method=value, more=self._tuned(value), choice=value)

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
        for name, pin in _named(session.pins):
            options[f"{name} {pin.knobs}"] = f"{PIN}:{pin.number}"
        if self.who.options == options:
            return
        self.about.object = about([name for name in options if name in METHODS])
        known = set(options.values())
        chosen = self.who.value or _split(settings.compared)
        self.who.param.update(
            options=options, value=[value for value in chosen if value in known][:MOST_COMPARED]
        )

    def _choose_again(self, race: Race | None) -> None:
        """A page that finds a race of before chooses its pins again, which no link carries."""
        choices = [entry.choice for entry in race.entries[1:]] if race is not None else []
        linked = [value for value in choices if not value.startswith(PIN)]
        if linked == self.who.value and set(choices) <= set(self.who.options.values()):
            self.who.value = choices

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
                    self.about,
                    pn.FlexBox(self.prompts, self.tokens, self.passes, self.schedule, **row),
                    pn.FlexBox(
                        self.start, self.cancel, self.save, gap="8px 0", **{**row, "margin": (14, 0, 0, 0)}
                    ),
                    self.state,
                    margin=0,
                    sizing_mode="stretch_width",
                    stylesheets=[":host{padding:4px 20px 10px}"],
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
    margin = (14, 0, 0, 0)  # room for the label, which stands on the field's upper line
    return pmui.Select(label=label, options=[""], value="", size="small", width=width, margin=margin)


def about(methods: Sequence[str]) -> str:
    """What the methods are, folded away; a field's own entries have no room for it."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(METHODS[name].summary)}</dd>" for name in methods)
    return f"<details><summary>What the methods do</summary><dl>{rows}</dl></details>"


def _named(pins: Sequence[Pinned]) -> Iterator[tuple[str, Pinned]]:
    """Pins with the numbers that their table gives them."""
    for place, pin in enumerate(pins, start=1):
        yield f"{PIN} {place}: {pin.name}", pin


def _label(entry: Entry) -> str:
    return " ".join(filter(None, (entry.name, entry.more)))


def _numbered(prompt: int) -> str:
    return f"prompt {prompt + 1}"


def _split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def _title(race: Race) -> str:
    numbers = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    prompts = len(race.prompts)
    return f"{numbers[len(race.entries)]} settings, {prompts} prompt{'' if prompts == 1 else 's'}, one text"


def _place(race: Race, round_: int) -> str:
    """Which prompt, and which pass where there are more."""
    number, prompt = divmod(round_, len(race.prompts))
    pass_ = f", pass {number + 1} of {race.passes}" if race.passes > 1 else ""
    return f"prompt {prompt + 1} of {len(race.prompts)}{pass_}: {_first_line(race.prompts[prompt])}"


def _first_line(prompt: str) -> str:
    return next((line.strip() for line in prompt.splitlines() if line.strip()), "")


def _state(race: Race | None) -> str:
    if race is None:
        return job_line(None, idle="nothing has raced yet", doing="", kept="", share=0, count="")
    done = sum(all(lane.over for lane in lanes) for lanes in tuple(race.lanes))
    share = min(100, round(100 * race.made / race.planned)) if race.planned else 0
    count = f"{done} of {counted(race.passes * len(race.prompts), 'prompt')}"
    if race.passes > 1:
        count += f" in {race.passes} passes"
    return job_line(race, idle="", doing="", kept=f"after {count}", share=share, count=count)
