"""The buttons, sliders and fields of a live run, and which of them mean something to its method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from phrasekit.decode.knobs import BOUNDS
from phrasekit.methods import METHODS
from phrasekit.views.stream import ORIGIN, SHADES
from phrasekit.widgets.session import LiveSession, LiveState

# knob → label, highest value of the slider
KNOBS: Mapping[str, tuple[str, int]] = {
    "gamma": ("γ draft", 16),
    "window": ("W window", 16),
    "level": ("N level", 12),
    "guesses": ("G guesses", 16),
    "beta": ("β length", 16),
    "suffixes": ("K suffixes", 12),
    "lookup": ("L copies", 24),
    "lookup_ngram": ("n-gram", 16),
    "depth": ("d retrieved", 20),
}
NARROW = {"width": "250px"}


class Controls:
    """Everything that can be clicked.

    Attributes:
        box: to show.
        buttons: by what they do.
        sliders: by knob.
        fields: by what waits for a reset.
        shade: what colours the text.
    """

    def __init__(self, kit: Any, session: LiveSession, methods: Sequence[str]) -> None:
        self._session = session
        self._setting = False
        state = session.state
        self.buttons = {
            "next": kit.Button(description="Next iteration", tooltip="One iteration"),
            "run": kit.Button(description="Run to end", tooltip="Until the text ends or you stop it"),
            "stop": kit.Button(description="Stop", tooltip="Within one iteration", disabled=True),
            "reset": kit.Button(description="Reset", tooltip="From the prompt, with what waits"),
        }
        self.sliders = {name: _slider(kit, name, getattr(state.knobs, name)) for name in KNOBS}
        self.fields = _fields(kit, state, methods)
        self.compare = kit.Checkbox(
            value=state.comparing, description="compare with plain decoding", indent=False
        )
        self.shade = kit.Dropdown(
            options=[(words, name) for name, words in SHADES.items()],
            value=ORIGIN,
            description="colour by",
            layout=NARROW,
        )
        self.box = _box(kit, self)
        self._connect()
        self.settle(state)

    def follow(self, state: LiveState) -> None:
        """Switch the buttons; safe from any thread."""
        for name in ("next", "run"):
            self.buttons[name].disabled = state.running or state.finished
        self.buttons["stop"].disabled = not state.running
        self.buttons["reset"].button_style = "warning" if state.pending else ""

    def settle(self, state: LiveState) -> None:
        """Show the knobs and settings in force; only from the thread of the notebook."""
        read = read_by(state.settings.method)
        with self._quietly():
            for name, slider in self.sliders.items():
                value = getattr(state.knobs, name)
                slider.max = max(slider.max, value)
                slider.value = value
                slider.disabled = name not in read

    def _connect(self) -> None:
        session = self._session
        actions: Mapping[str, Callable[[], None]] = {
            "next": session.next,
            "run": session.start,
            "stop": session.stop,
            "reset": self._reset,
        }
        for name, button in self.buttons.items():
            button.on_click(lambda _, act=actions[name]: act())
        for name, slider in self.sliders.items():
            slider.observe(lambda change, name=name: self._knob(name, change["new"]), names="value")
        for name, one in self.fields.items():
            one.observe(lambda change, name=name: session.want(**{name: change["new"]}), names="value")
        self.compare.observe(lambda change: session.compare(change["new"]), names="value")

    def _knob(self, name: str, value: int) -> None:
        if not self._setting:
            self._session.set_knobs(**{name: value})
            self.settle(self._session.state)

    def _reset(self) -> None:
        self._session.reset()
        self.settle(self._session.state)

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Set sliders without taking that for a person's doing."""
        self._setting = True
        try:
            yield
        finally:
            self._setting = False


def read_by(method: str) -> tuple[str, ...]:
    """The knobs with a slider that change what this method does; not those it holds where they are."""
    return tuple(name for name in KNOBS if name in METHODS[method].reads)


def _slider(kit: Any, name: str, value: int) -> Any:
    label, most = KNOBS[name]
    return kit.IntSlider(
        value=value,
        min=BOUNDS[name][0],
        max=max(most, value),
        description=label,
        tooltip=f"knob {name}: from the next iteration on",
        continuous_update=False,
        layout=NARROW,
    )


def _fields(kit: Any, state: LiveState, methods: Sequence[str]) -> dict[str, Any]:
    settings, common = state.settings, {"layout": NARROW}
    return {
        "method": kit.Dropdown(options=list(methods), value=settings.method, description="method", **common),
        "temperature": kit.BoundedFloatText(
            value=settings.temperature, min=0, max=10, step=0.1, description="temperature", **common
        ),
        "top_p": kit.BoundedFloatText(
            value=settings.top_p, min=0.01, max=1, step=0.05, description="top-p", **common
        ),
        "seed": kit.IntText(value=settings.seed, description="seed", **common),
    }


def _box(kit: Any, controls: Controls) -> Any:
    def row(title: str, parts: Sequence[Any]) -> Any:
        wrap = kit.Layout(flex_flow="row wrap", align_items="center")
        return kit.VBox([kit.HTML(value=f"<b>{title}</b>"), kit.HBox(list(parts), layout=wrap)])

    return kit.VBox(
        [
            kit.HBox(
                [*controls.buttons.values(), controls.compare, controls.shade],
                layout=kit.Layout(flex_flow="row wrap"),
            ),
            row(
                "From the next iteration on (the work changes, the text does not)",
                [*controls.sliders.values()],
            ),
            row("At the next reset", [*controls.fields.values()]),
        ]
    )
