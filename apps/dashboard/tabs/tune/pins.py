"""Settings kept for comparison: each measured by a whole run of its own, on the same prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs.job import FAILED, RUNNING, WAITING
from dashboard.jobs.proof import compare
from dashboard.jobs.run import LiveRun
from dashboard.jobs.words import short
from dashboard.parts.look import ends, html
from dashboard.visitor.session import Session
from phrasekit.trace import Metrics, measure
from phrasekit.views.escape import escape

HEAD = (
    "setting",
    "tokens/s",
    "against plain",
    "tokens per<br>target forward",
    "tokens per<br>draft forward",
    "hit rate",
    "#Match − A",
    "same text",
)


class PinTable(pn.viewable.Viewer):
    """Plain decoding, every pin, and the run so far."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.pin = pmui.Button(label="Pin this setting", variant="outlined", width=150, margin=0)
        self.pin.on_click(lambda _: session.pin())
        self.clear = pmui.Button(label="Remove the last", variant="text", width=140, margin=0, visible=False)
        self.clear.on_click(lambda _: session.unpin(session.pins[-1]) if session.pins else None)
        self.table = html()
        self._drawn: tuple[object, ...] = ()
        self.layout = pn.Column(
            ends(
                html("<h2>Pinned</h2><span>same prompt, each measured alone from an empty pool</span>"),
                self.clear,
                self.pin,
            ),
            self.table,
            margin=0,
            sizing_mode="stretch_width",
            stylesheets=[":host{padding:16px 20px;border-top:1px solid var(--line)}"],
        )
        session.watch(self.show)
        self.show()

    def show(self) -> None:
        """Draw the table, where anything in it changed."""
        session = self.session
        runs = [session.plain, *(pin.run for pin in session.pins)]
        live = session.run
        settled = len(live.iterations) if live is not None and not live.active else -1
        state = (
            *((run.number, run.version) for run in runs if run is not None),
            live and live.number,
            settled,
        )
        self.clear.visible = bool(session.pins)
        if state == self._drawn and self._drawn:
            return
        self._drawn = state
        self.table.object = "".join(self._rows())

    def _rows(self) -> Iterator[str]:
        session = self.session
        plain = session.plain
        if plain is None and not session.pins:
            yield (
                '<p class="note">Found a better setting? Pin it: it is decoded once more from the beginning, '
                "beside plain decoding, so that the numbers can be compared.</p>"
            )
            return
        base = _rate(plain)
        yield '<div class="scroll" tabindex="0" role="region" aria-label="Pinned settings"><table><thead><tr>'
        yield "".join(f'<th scope="col">{name}</th>' for name in HEAD)
        yield "</tr></thead><tbody>"
        if plain is not None:
            yield _row("plain decoding", "", plain, plain, base)
        for pin in session.pins:
            yield _row(pin.name, pin.knobs, pin.run, plain, base)
        live = session.run
        if live is not None and live.iterations and not live.active:
            told = (
                short(live.method, live.knobs.as_dict()) if live.knobs is not None and not live.marks else ""
            )
            moved = f"{len(live.marks)} moves" if live.marks else told
            yield _row("this run", moved, live, plain, base, now=True)
        yield "</tbody></table></div>"

    def __panel__(self) -> Any:
        return self.layout


def _row(name: str, more: str, run: LiveRun, plain: LiveRun | None, base: float, *, now: bool = False) -> str:
    head = f"<td>{escape(name)}<small>{escape(more)}</small></td>"
    opened = '<tr class="mine">' if now else "<tr>"
    if not run.over:
        said = {WAITING: "waits in the queue", RUNNING: "measuring"}.get(run.status, run.status)
        return f'{opened}{head}<td colspan="7" class="said">{said}</td></tr>'
    if run.status == FAILED:
        return f'{opened}{head}<td colspan="7" class="said bad">{escape(run.message)}</td></tr>'
    return f"{opened}{head}{''.join(_cells(measure(run.trace), run, plain, base))}</tr>"


def _cells(numbers: Metrics, run: LiveRun, plain: LiveRun | None, base: float) -> Iterator[str]:
    speed = numbers.tokens_per_second or 0.0
    ratio = speed / base if base else 0.0
    yield f"<td>{speed:.0f}</td>"
    bar = f'<span class="ratio"><i style="width:{min(100, round(ratio * 36))}%"></i></span>'
    yield f"<td>{ratio:.2f}×{bar}</td>" if base else "<td>–</td>"
    for value, form in (
        (numbers.block_efficiency, "{:.2f}"),
        (numbers.tokens_per_draft_forward, "{:.2f}"),
        (numbers.hit_rate, "{:.0%}"),
        (numbers.misplaced, "{:.1f}"),
    ):
        yield f"<td>{form.format(value) if value is not None else '–'}</td>"
    if plain is None or not plain.iterations or plain.plan.text_of != run.plan.text_of:
        yield "<td>–</td>"
        return
    verdict = compare(run.tokens, plain.tokens)
    yield (
        f"<td>✓ {verdict.checked}</td>"
        if verdict.same
        else f'<td class="bad">✗ at {verdict.differs + 1}</td>'
    )


def _rate(run: LiveRun | None) -> float:
    return (
        (measure(run.trace).tokens_per_second or 0.0)
        if run is not None and run.over and run.iterations
        else 0.0
    )
