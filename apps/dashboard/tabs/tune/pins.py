"""Settings kept for comparison, each with what it measured against plain decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from dashboard.jobs.job import CANCELLED, FAILED, WAITING
from dashboard.jobs.pinned import ROUNDS, Pinned, fastest
from dashboard.parts.look import SHEET, ends, html
from dashboard.visitor.session import PINS, Session
from phrasekit.trace import Metrics
from phrasekit.views.escape import escape

HEAD = (
    "setting",
    "× plain",
    "ms per<br>token",
    "tokens per<br>target forward",
    "tokens per<br>draft forward",
    "hit rate",
    "#Match − A",
    "same text",
    "",
)
NONE = (
    '<p class="note">Found a better setting? Pin it, and pin the one before it: each is decoded '
    f"{ROUNDS} times in turns with plain decoding, so that their numbers can be compared.</p>"
)


class PinMarkup(JSComponent):
    """The table, with a button in every row.

    Attributes:
        object: markup of ours; whatever came from outside must be escaped in it already.
    """

    object = param.String("")

    _esm = """
    export function render({ model, el }) {
      const paint = () => { el.innerHTML = model.object }
      el.style.width = "100%"
      el.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-pin]")
        if (button) model.send_msg({ pin: Number(button.dataset.pin) })
      })
      model.on("object", paint)
      paint()
    }
    """

    def __init__(self, remove: Callable[[int], None], **params: Any) -> None:
        """Make it.

        Args:
            remove: called with a number, which need not be a pin's.
            params: Panel's own.
        """
        super().__init__(**params)
        self._remove = remove

    def _handle_msg(self, data: Any) -> None:
        """What a page sends; it may send anything."""
        number = data.get("pin") if isinstance(data, dict) else None
        if isinstance(number, int):
            self._remove(number)


class PinTable(pn.viewable.Viewer):
    """Every pin, and which of them is the fastest, where that can be told."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.pin = pmui.Button(label="Pin this setting", variant="outlined", width=150, margin=0)
        self.pin.on_click(lambda _: session.pin())
        self.table = PinMarkup(self._remove, stylesheets=[SHEET], margin=0, sizing_mode="stretch_width")
        self._drawn: tuple[object, ...] = ()
        self.layout = pn.Column(
            ends(html(f"<h2>Pinned</h2><span>{ROUNDS} rounds each, from an empty pool</span>"), self.pin),
            self.table,
            margin=0,
            sizing_mode="stretch_width",
            stylesheets=[":host{padding:16px 20px;border-top:1px solid var(--line)}"],
        )
        session.watch(self.show)
        session.settings.param.watch(lambda *_: self.show(), ["prompt", "temperature", "top_p", "seed"])
        self.show()

    def show(self) -> None:
        """Draw the table, where anything in it changed."""
        pins, text = self.session.pins, self.session.settings.plan().text_of
        state = (text, *((pin.number, pin.version) for pin in pins))
        if state == self._drawn:
            return
        self._drawn = state
        self.pin.disabled = len(pins) >= PINS
        self.pin.label = f"{PINS} are pinned" if self.pin.disabled else "Pin this setting"
        self.table.object = "".join(table(pins, text)) if pins else NONE

    def _remove(self, number: int) -> None:
        for pin in self.session.pins:
            if pin.number == number:
                self.session.unpin(pin)

    def __panel__(self) -> Any:
        return self.layout


def table(pins: Sequence[Pinned], text: tuple[object, ...]) -> Iterator[str]:
    """The pins as markup.

    Args:
        pins: in the order they were made.
        text: what the text of a run would depend on now; pins of another one are marked.
    """
    mine = [pin for pin in pins if pin.plan.text_of == text]
    leaders = fastest(mine)
    top = max((max(pin.ratios) for pin in pins if pin.rounds), default=1.0)
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Pinned settings"><table><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in HEAD)
    yield "</tr></thead><tbody>"
    for number, pin in enumerate(pins, start=1):
        yield _row(number, pin, top, best=leaders == (pin,), strange=pin not in mine)
    yield f'</tbody></table></div><p class="words" role="status">{escape(told(mine))}</p>'


def told(pins: Sequence[Pinned]) -> str:
    """Which is the fastest, in a sentence."""
    leaders = fastest(pins)
    if not leaders:
        return ""
    first, *close = leaders
    speed = f"{first.name} {first.knobs}: {first.ratio:.2f} times as fast as plain decoding".replace(
        " :", ":"
    )
    if close:
        names = ", ".join(f"{pin.name} {pin.knobs}".strip() for pin in close)
        return f"Too close to tell: {speed} in the median, but its rounds reach into those of {names}."
    done = sum(pin.over and bool(pin.rounds) for pin in pins)
    if done < 2:
        return f"{speed}. Pin another setting to compare it with.".replace("..", ".")
    return f"The fastest of {done} on this prompt is {speed}. Compare and Search take more prompts."


def _row(number: int, pin: Pinned, top: float, *, best: bool, strange: bool) -> str:
    more = f"{pin.knobs}{', another prompt' if strange else ''}"
    head = f"<td>{number}. {escape(pin.name)}<small>{escape(more)}</small></td>"
    name = f"Remove pin {number}"
    names = f'data-pin="{pin.number}" aria-label="{name}" title="{name}"'
    button = f'<td><button type="button" {names}>×</button></td>'
    opened = '<tr class="mine">' if best else "<tr>"
    if pin.status == FAILED:
        return f'{opened}{head}<td colspan="7" class="said bad">{escape(pin.message)}</td>{button}</tr>'
    metrics = pin.metrics
    if metrics is None or not pin.over:
        said = {WAITING: "waits in the queue", CANCELLED: "cancelled"}.get(
            pin.status, f"measuring, round {len(pin.rounds) + 1} of {ROUNDS}"
        )
        return f'{opened}{head}<td colspan="7" class="said">{said}</td>{button}</tr>'
    return f"{opened}{head}{''.join(_cells(pin, metrics, top))}{button}</tr>"


def _cells(pin: Pinned, metrics: Metrics, top: float) -> Iterator[str]:
    ratio, low, high = pin.ratio or 0.0, min(pin.ratios), max(pin.ratios)
    bar = f'<span class="ratio"><i style="width:{min(100, round(100 * ratio / top))}%"></i></span>'
    yield f"<td>{ratio:.2f}×<small>{low:.2f} to {high:.2f}</small>{bar}</td>"
    yield f"<td>{metrics.total_ms / metrics.emitted:.1f}</td>"
    for value, form in (
        (metrics.block_efficiency, "{:.2f}"),
        (metrics.tokens_per_draft_forward, "{:.2f}"),
        (metrics.hit_rate, "{:.0%}"),
        (metrics.misplaced, "{:.1f}"),
    ):
        yield f"<td>{form.format(value) if value is not None else '–'}</td>"
    verdict = pin.verdict
    if verdict is not None and verdict.same:
        yield f"<td>✓ {verdict.checked}</td>"
    elif verdict is not None:
        yield f'<td class="bad">✗ at {verdict.differs + 1}</td>'
