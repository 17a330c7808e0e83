"""The sliders: what each knob is, where it stands, and what it did over the last iterations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.run import SYMBOLS, runnable
from dashboard.jobs.words import KNOBS, LANES
from dashboard.parts.button import Button
from dashboard.parts.look import card, ends, html, live
from dashboard.parts.runbar import both_ways
from dashboard.visitor.session import Session
from dashboard.visitor.state import REACH, within
from phrasekit import METHODS
from phrasekit.methods import knobs_of
from phrasekit.trace import Iteration
from phrasekit.views.escape import escape
from phrasekit.widgets.controls import read_by

LAST = 4
OFTEN = 1.0  # seconds
DRAFT_SIDE = ("gamma", "guesses", "window", "level")
TARGET_SIDE = ("suffixes", "beta", "lookup")


class KnobRail(pn.viewable.Viewer):
    """Method and knobs hold from the next iteration on; sampling waits for a new run.

    Attributes:
        layout: the sliders.
        line: where the knobs stand, in one line, and a button that opens the sliders on a narrow page.
    """

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._shown = 0.0
        settings = session.settings
        self.method = pmui.Select(
            label="Method", options=runnable(None), value=settings.method, size="small", **BLOCK
        )
        self.summary = html(padding="0 20px 4px")
        self.search = pmui.Button(label="Search finds the fastest setting for you", **LINK)
        self.back = Button(label="Back to the pair's settings", **BLOCK)
        self.told = live()
        self.open = pmui.Button(label=OPEN, variant="outlined", size="small", margin=0)
        self.lanes = pmui.Select(
            label="Draft and target, from the next run on",
            options=LANES,
            value=settings.schedule,
            size="small",
            **BLOCK,
        )
        self.sliders = {
            name: pmui.IntSlider(
                label=f"{SYMBOLS[name]}  {KNOBS[name][0]}",
                start=REACH[name][0],
                end=REACH[name][1],
                value=getattr(settings, name),
                **SLIDER,
            )
            for name in (*DRAFT_SIDE, *TARGET_SIDE)
        }
        self.notes = {name: live("0 20px 10px") for name in self.sliders}
        self.sampling = {
            "temperature": pmui.FloatSlider(
                label="T  temperature", start=0, end=2, step=0.1, value=settings.temperature, **SLIDER
            ),
            "top_p": pmui.FloatSlider(
                label="top-p", start=0.05, end=1, step=0.05, value=settings.top_p, **SLIDER
            ),
            "seed": pmui.LiteralInput(label="seed", value=settings.seed, type=int, size="small", **BLOCK),
        }  # fmt: skip
        self._connect()
        self.layout = card(
            _title("Method"),
            self.method,
            self.summary,
            self.search,
            self.back,
            self.lanes,
            _title("Draft side", "from the next iteration on"),
            *self._with_notes(DRAFT_SIDE),
            _title("Target side", "from the next iteration on"),
            *self._with_notes(TARGET_SIDE),
            _title("Sampling", "waits for a new run"),
            *self.sampling.values(),
            html(
                '<p class="note">These change the text, so a run keeps those it began with.</p>',
                padding="0 20px 16px",
            ),
        )
        self.line = card(ends(self.told, self.open, more=":host{padding:10px 20px;align-items:center}"))
        self.settle()
        self.show()
        session.watch(self._follow)

    @property
    def usual(self) -> dict[str, int]:
        """The pair's own knobs of the method, as far as the sliders reach; {} while no pair is loaded."""
        place = self.session.place
        if place is None or place.pair is None:
            return {}
        known = knobs_of(METHODS[self.session.settings.method], place.pair, None).as_dict()
        return {name: within(name, known[name]) for name in self.sliders}

    def settle(self) -> None:
        """Switch sliders on and off by method."""
        method = self.session.settings.method
        read = read_by(method)
        for name, slider in self.sliders.items():
            slider.disabled = name not in read
        self.lanes.visible = METHODS[method].beside is not None
        self.summary.object = f'<p class="note">{escape(METHODS[method].summary)}</p>'

    def show(self) -> None:
        """What each knob did."""
        run, place = self.session.run, self.session.place
        if place is not None and place.pair is not None:
            offered = runnable(place.pair)
            if self.method.options != offered:
                self.method.options = offered
        recent = run.iterations[-LAST:] if run is not None else []
        held = run.knobs.as_dict() if run is not None and run.active and run.knobs is not None else {}
        knobs, usual = self.session.settings.knobs, self.usual
        read = read_by(self.session.settings.method)
        for name, note in self.notes.items():
            now = knobs[name]
            waits = name in read and name in held and held[name] != now
            told = (
                f"<b>{held[name]} → {now}</b> waits for iteration {len(run.iterations) + 1}"
                if waits and run
                else effect(name, recent)
            )
            known = f" Default {usual[name]}." if name in usual and name in read else ""
            markup = f'<p class="note">{KNOBS[name][1]}{known}</p><p class="now">{told or "&nbsp;"}</p>'
            if note.object != markup:
                note.object = markup
        self._mark(usual)
        stand = _stand([name for name in self.sliders if name in read], knobs, held)
        line = (
            f'<p class="words" style="margin:0;display:flex;flex-wrap:wrap;gap:0 14px">{"".join(stand)}</p>'
        )
        if self.told.object != line:
            self.told.object = line

    def _mark(self, usual: Mapping[str, int]) -> None:
        """Tick every slider where the pair has the knob."""
        read = read_by(self.session.settings.method)
        for name, slider in self.sliders.items():
            ticks = [{"value": usual[name]}] if name in usual and name in read else []
            if slider.marks != ticks:
                slider.marks = ticks
        knobs = self.session.settings.knobs
        moved = any(knobs[name] != value for name, value in usual.items())
        self.back.off("" if moved else "The knobs stand where the pair has them.")

    def _fold(self, _: Any) -> None:
        """Open the sliders on a narrow page, or fold them away; a wide one always shows them."""
        opens = self.open.label == OPEN
        self.open.label = FOLD if opens else OPEN
        others = [name for name in self.layout.css_classes if name != "open"]
        self.layout.css_classes = [*others, "open"] if opens else others

    def _follow(self) -> None:
        """Show, but no oftener than can be read while a run goes on."""
        run = self.session.run
        if run is None or not run.active or monotonic() - self._shown > OFTEN:
            self._shown = monotonic()
            self.show()

    def _connect(self) -> None:
        settings = self.session.settings
        both_ways(settings, "method", self.method)
        both_ways(settings, "schedule", self.lanes)
        for name, slider in self.sliders.items():
            both_ways(settings, name, slider, "value_throttled")
        for name, widget in self.sampling.items():
            both_ways(settings, name, widget, "value" if name == "seed" else "value_throttled")
        self.back.on_click(lambda _: settings.take_knobs(self.usual))
        self.search.on_click(lambda _: setattr(settings, "tab", "search"))
        self.open.on_click(self._fold)
        settings.param.watch(lambda *_: self.settle(), "method")
        settings.param.watch(lambda *_: self.show(), [*self.sliders, "method"])

    def _with_notes(self, names: Sequence[str]) -> list[Any]:
        return [part for name in names for part in (self.sliders[name], self.notes[name])]

    def __panel__(self) -> Any:
        return self.layout


# the label has the value; a tooltip with it would cover the label
SLIDER: dict[str, Any] = {
    "size": "small",
    "tooltips": False,
    "sizing_mode": "stretch_width",
    "margin": (10, 24, 0, 20),
    # a tick where the pair has the knob
    "sx": {"& .MuiSlider-mark": {"width": 2, "height": 12, "backgroundColor": "var(--ink)", "opacity": 1}},
}
BLOCK: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (8, 20, 8, 20)}
LINK: dict[str, Any] = {
    "variant": "text",
    "size": "small",
    "margin": (0, 20, 0, 14),
    "sx": {"textDecoration": "underline", "justifyContent": "flex-start"},
}
OPEN, FOLD = "Move a knob", "Fold the knobs"


def _title(words: str, more: str = "") -> Any:
    note = f"<span>{more}</span>" if more else ""
    return html(
        f"<h2>{words}</h2>{note}", padding="14px 20px 4px", more=":host{border-top:1px solid var(--line)}"
    )


def _stand(read: Iterable[str], knobs: Mapping[str, int], held: Mapping[str, int]) -> Iterator[str]:
    """Where every knob that is read stands, as "γ 2", or "γ 2 → 3" while it waits."""
    for name in read:
        before = f"{held[name]} → " if held.get(name, knobs[name]) != knobs[name] else ""
        yield f"<span>{SYMBOLS[name]} {before}<b>{knobs[name]}</b></span>"


def effect(name: str, recent: Sequence[Iteration]) -> str:
    """What a knob did over some iterations, as markup; "" where it did nothing."""
    if not recent:
        return ""
    count = len(recent)
    inner = [one for iteration in recent for one in iteration.draft]
    if name == "gamma" and inner:
        drafted = sum(one.drafted for one in recent) / count
        kept = sum(one.accepted for one in recent) / count
        return f"now <b>{drafted:.1f} drafted, {kept:.1f} kept</b>"
    if name == "guesses":
        lookups = sum(one.pool.lookups for one in inner) or sum(one.pool.lookups for one in recent)
        hits = sum(one.pool.hits for one in inner) if inner else sum(one.pool.hits for one in recent)
        return f"now <b>{100 * hits / lookups:.0f}% of lookups hit</b>" if lookups else ""
    if name == "window":
        rows = max((len(one.window) for one in (*inner, *recent)), default=0)
        return f"now <b>{rows} rows deep</b>" if rows else "now <b>off</b>"
    if name == "level":
        longest = max((len(p.tokens) for one in (*inner, *recent) for p in one.pool.inserted), default=0)
        return f"now <b>new phrases of up to {longest} tokens</b>" if longest else ""
    if name == "suffixes":
        kept = sum(
            any(node in branch.nodes for branch in one.tree.branches for node in one.path) for one in recent
        )
        offered = sum(bool(one.tree.branches) for one in recent)
        return f"now <b>{kept} of the last {count} iterations kept some</b>" if offered else ""
    if name == "beta":
        sizes = [len(branch.nodes) for one in recent for branch in one.tree.branches]
        return f"now <b>{sum(sizes) / len(sizes):.1f} tokens a branch</b>" if sizes else ""
    return ""
