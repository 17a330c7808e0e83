"""Model: which pair on which device, what it will take, and whether it passes the probe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.hub import PairSpec, Place
from dashboard.jobs.weights import pair_weights
from dashboard.jobs.words import count_short, megabytes
from dashboard.parts.button import Button
from dashboard.parts.look import card, html
from dashboard.parts.runbar import RunBar, both_ways
from dashboard.visitor.session import Session
from phrasekit.lm.progress import DOWNLOAD, PROBE, TOKENIZER, WAIT, WEIGHTS, Loading
from phrasekit.views.escape import escape

EMBEDDED = "the embedded pair"
NO_DRAFT, OWN_DRAFT = "none", "its own"
DTYPES = {
    "float32 on a CPU, else as stored": "",
    "float32": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
}


class ModelTab(pn.viewable.Viewer):
    """Choose, estimate, load, look at the probe."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._refused = ""  # why this server does not load what was chosen
        settings = session.settings
        self.target, self.draft = self._models()
        self.device = pmui.Select(label="Device", options=_with(devices(), settings.device), **FIELD)
        self.dtype = pmui.Select(label="Dtype", options=_named(DTYPES, settings.dtype), **FIELD)
        self.load = Button(label="Load", variant="contained", width=110, margin=(4, 0, 8, 0))
        self.load.on_click(lambda _: self._load())
        self.estimate = html(padding="4px 0 12px")
        self.state = html(more=STYLE)
        for name, widget in (
            ("target", self.target),
            ("draft", self.draft),
            ("device", self.device),
            ("dtype", self.dtype),
        ):
            widget.value = getattr(settings, name)
            both_ways(settings, name, widget)
        settings.param.watch(lambda *_: self._estimate(), ["target", "draft", "device", "dtype"])
        settings.param.watch(self._settle, "target")
        self._settle()
        self.layout = pn.Column(
            html(INTRO, padding="0 0 12px"), self._laid_out(), margin=0, sizing_mode="stretch_width"
        )
        session.watch(self.show)
        self._estimate()
        self.show()

    def _laid_out(self) -> pn.FlexBox:
        return pn.FlexBox(
            card(
                html("<h2>Pair</h2>", padding="14px 20px 6px"),
                pn.Column(
                    self.target,
                    self.draft,
                    self.device,
                    self.dtype,
                    self.estimate,
                    self.load,
                    sizing_mode="stretch_width",
                    stylesheets=[":host{padding:0 20px 12px}"],
                    margin=0,
                ),
                max_width=520,
                min_width=300,
            ),
            card(
                html("<h2>State</h2>", padding="14px 20px 6px"),
                pn.Column(
                    self.state,
                    sizing_mode="stretch_width",
                    stylesheets=[":host{padding:0 20px 16px}"],
                    margin=0,
                ),
                min_width=300,
                max_width=760,
            ),
            gap="16px",
            align_items="flex-start",
            margin=0,
            sizing_mode="stretch_width",
        )

    def show(self) -> None:
        """What is loaded."""
        place = self.session.place
        status = place.status if place is not None else ""
        self.load.off(OFF.get(status, self._refused))
        self.load.label = "Loaded" if status == "ready" else "Load"
        markup = "".join(_state(place))
        if self.state.object != markup:
            self.state.object = markup

    def _load(self) -> None:
        self.session.load()
        self.session.tick()
        self.show()

    def _models(self) -> tuple[Any, Any]:
        """Fields for target and draft: of what is offered, or with room for any name."""
        options, settings = self.session.options, self.session.settings
        offered = list(options.offered)
        if options.any_model:
            free = {"options": offered, "restrict": False, **FIELD}
            return (
                pmui.AutocompleteInput(label="Target: a name on the Hub; empty is the embedded pair", **free),
                pmui.AutocompleteInput(label="Draft: a name on the Hub; empty is none", **free),
            )
        names = {name: name for name in offered}
        return (
            pmui.Select(label="Target", options=_named({EMBEDDED: "", **names}, settings.target), **FIELD),
            pmui.Select(label="Draft", options=_named({NO_DRAFT: "", **names}, settings.draft), **FIELD),
        )

    def _settle(self, *_: Any) -> None:
        """The embedded pair brings its own draft."""
        own = not self.session.settings.target
        self.draft.disabled = own
        if own:
            self.session.settings.draft = ""
        if not self.session.options.any_model:
            names = [name for name in self.draft.options if name not in (OWN_DRAFT, NO_DRAFT)]
            none = {OWN_DRAFT if own else NO_DRAFT: ""}
            self.draft.options = {**none, **{name: name for name in names}}

    def _estimate(self) -> None:
        settings, self._refused = self.session.settings, ""
        try:
            self.session.options.check(settings.spec)
        except ValueError as error:
            self._refused = str(error)
            self.estimate.object = f'<p class="note" role="alert">{escape(error)}</p>'
            self.show()
            return
        known = pair_weights(settings.spec)
        if None in known:
            told = "Not on this machine yet, so its size is not known: it is downloaded when it is loaded."
        else:
            bytes_ = sum(one.loaded(settings.dtype, settings.device) for one in known if one is not None)
            sizes = " and ".join(
                count_short(one.parameters) for one in known if one is not None and one.parameters
            )
            numbers = f" ({sizes} parameters)" if sizes else ""
            told = f"About {megabytes(bytes_)} for weights{numbers}, and caches that grow with the text."
        self.estimate.object = f'<p class="note">{escape(told)}</p>'
        self.show()

    def __panel__(self) -> Any:
        return self.layout


INTRO = """
<h1 style="font:600 22px/30px var(--sans);margin:0 0 4px">Which models</h1>
<p class="big" style="font-size:16px;line-height:24px">A target, and a draft that shares its tokenizer. A
probe says whether they can be exact here; a pair that cannot is refused.</p>
"""
OFF = {"loading": "This pair is being loaded.", "ready": "This pair is loaded."}
# steps of loading, in words
STEPS = {
    TOKENIZER: "Tokenizer of {}",
    WAIT: "Another model is loaded before {}",
    DOWNLOAD: "Download of {}",
    WEIGHTS: "Weights of {}",
    PROBE: "Probe of {}: is a token tree as good as its paths?",
}
STYLE = """
.steps{list-style:none;margin:8px 0;padding:0;color:var(--ink-2)}
.steps li{padding:4px 0}
.steps .progress{max-width:420px;margin:4px 0 0}
"""
FIELD: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (8, 0)}


def _with(known: list[str], chosen: str) -> list[str]:
    """A link may choose what is not here; it is shown, and refused when it is loaded."""
    return known if chosen in known else [*known, chosen]


def _named(known: dict[str, str], chosen: str) -> dict[str, str]:
    return known if chosen in known.values() else {**known, chosen: chosen}


def devices() -> list[str]:
    """The devices of this machine."""
    import torch

    return ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]


def _state(place: Place | None) -> Iterator[str]:
    if place is None:
        yield '<p class="note">This pair is not loaded. Run loads it, or press Load.</p>'
        return
    if place.status == "loading":
        yield f'<p role="status">Loading {escape(place.spec.name)}{_size(place.spec)}.</p>'
        yield from _steps(place.steps)
        return
    if place.status == "failed":
        yield f'<p class="alarm" role="alert">{escape(place.message)}</p>'
        return
    facts = place.facts
    yield f"<p><b>{escape(place.spec.name)}</b>, loaded in {place.seconds:.1f} s.</p><dl>"
    for name, told in facts:
        yield f"<dt>{escape(name)}</dt><dd>{escape(told)}</dd>"
    yield "</dl>"


def _size(spec: PairSpec) -> str:
    """What lies on the disk, where it does."""
    known = pair_weights(spec)
    return "" if None in known else f", {megabytes(sum(one.stored for one in known if one is not None))}"


def _steps(steps: Sequence[Loading]) -> Iterator[str]:
    """What was done, and how far what is being done has come; nothing is guessed."""
    yield '<ol class="steps">'
    for one in steps:
        yield f"<li>{'' if one is steps[-1] else '✓ '}{escape(STEPS[one.step].format(one.name))}"
        if one is steps[-1] and one.total:
            yield _bar(one)
        yield "</li>"
    yield "</ol>"


def _bar(one: Loading) -> str:
    count = (
        f"{megabytes(one.done)} of {megabytes(one.total)}"
        if one.step == DOWNLOAD
        else f"{one.done} of {one.total} tensors"
    )
    share = min(100, round(100 * one.done / one.total))
    values = f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{share}"'
    return (
        f'<div class="progress" role="progressbar" aria-label="{one.step}" {values}>'
        f'<em><span>{count}</span><span>{share} %</span></em><i><i style="width:{share}%"></i></i></div>'
    )
