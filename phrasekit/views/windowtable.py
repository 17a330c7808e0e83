"""The picture of the lookahead window: a space-time table, and one forward with its n-grams outlined."""

from __future__ import annotations

from collections.abc import Mapping

from phrasekit.trace.records import Trace
from phrasekit.trace.summary import counted
from phrasekit.views.escape import escape
from phrasekit.views.html import Html, lead, plain
from phrasekit.views.tokens import compact
from phrasekit.views.view import View
from phrasekit.views.window import Cell, Frame, Ngram, WindowInfo, window_info

LONGEST = 9  # characters of a cell
TITLES = {
    "first": "first guess for this position",
    "changed": "changed since the row before",
    "same": "the same as in the row before",
    "converged": "converged: equal to the text, and so in every later row",
}


def draw_window(info: WindowInfo, theme: str = "auto") -> Html:  # noqa: ARG001  (its style follows)
    """Two tables on axes of positions."""
    if info.frame is None:
        return Html(lead(info.sentence))
    return Html(
        f"{lead(info.sentence)}"
        f"<h4>Guesses over time</h4>{_legend()}{_time(info)}"
        f"<h4>Iteration {info.frame.label} in full</h4>{_frame(info.frame)}{_ngrams(info.frame)}"
    )


def window_view(trace: Trace, iteration: int | None = None, *, most: int = 8) -> View:
    """The lookahead window over time and in one forward; see `window_info`."""
    return View(window_info(trace, iteration, most=most), draw_window)


def _legend() -> str:
    entries = "".join(
        f'<span><span class="pk-cell pk-{state}">a</span> {words}</span>'
        for state, words in (
            ("first", "first guess"),
            ("changed", "changed"),
            ("same", "same as before"),
            ("converged", "converged to the text"),
        )
    )
    return f'<div class="pk-legend">{entries}</div>'


def _time(info: WindowInfo) -> str:
    places = sorted({cell.position for row in info.rows for cell in row.cells})
    span = range(places[0], places[-1] + 1) if places else range(0)
    body = "".join(_row(row.label, {cell.position: cell for cell in row.cells}, span) for row in info.rows)
    written = "".join(
        f"<td>{_short(info.text_at[at])}</td>" if at in info.text_at else "<td></td>" for at in span
    )
    text = f'<tr class="pk-written"><th scope="row">text</th>{written}</tr>'
    return _grid(span, body + text)


def _row(label: str, cells: Mapping[int, Cell], span: range) -> str:
    shown = "".join(
        f'<td class="pk-cell pk-{cells[at].state}" title="{_told(cells[at])}">{_short(cells[at].text)}</td>'
        if at in cells
        else "<td></td>"
        for at in span
    )
    return f'<tr><th scope="row">{escape(label)}</th>{shown}</tr>'


def _frame(frame: Frame) -> str:
    """Levels one below the other; n-grams run down the diagonal."""
    chosen = _outlined(frame)
    marked = {cell for ngram in chosen for cell in ngram.cells}
    spots = [cell.position for level in frame.levels for cell in level]
    span = range(frame.position - 1, max(spots, default=frame.position) + 1)
    rows = []
    for number, level in enumerate(frame.levels):
        cells = {cell.position: cell for cell in level}
        last = number == len(frame.levels) - 1
        name = "picks" if last else f"level {number}"
        rows.append(_level(name, number, cells, span, marked, frame if number == 0 else None))
    return _grid(span, "".join(rows))


def _level(
    name: str,
    number: int,
    cells: Mapping[int, Cell],
    span: range,
    marked: set[tuple[int, int]],
    frame: Frame | None,
) -> str:
    shown = []
    for at in span:
        if frame is not None and at == frame.position - 1:
            key = " pk-ngram" if (-1, at) in marked else ""
            shown.append(f'<td class="pk-cell{key}" title="last committed token">{plain(frame.root)}</td>')
        elif at in cells:
            ring = " pk-ngram" if (number, at) in marked else ""
            right = " pk-right" if cells[at].right else ""
            shown.append(f'<td class="pk-cell{ring}{right}">{_short(cells[at].text)}</td>')
        else:
            shown.append("<td></td>")
    return f'<tr><th scope="row">{name}</th>{"".join(shown)}</tr>'


def _outlined(frame: Frame) -> list[Ngram]:
    """N-grams that saved tokens later, else the first new one."""
    useful = [ngram for ngram in frame.ngrams if ngram.kept]
    return useful or [ngram for ngram in frame.ngrams if ngram.new][:1]


def _ngrams(frame: Frame) -> str:
    if not frame.ngrams:
        return '<p class="pk-note">The window still fills: no n-gram yet.</p>'
    outlined = _outlined(frame)
    items = "".join(
        f'<li>{plain(ngram.texts[0])}<span class="pk-arrow">→</span>'
        f'<span class="pk-t phrase pk-first">{"".join(map(_marked, ngram.texts[1:]))}</span> '
        f'<span class="pk-note">{_fate(ngram)}{", outlined" if ngram in outlined else ""}</span></li>'
        for ngram in frame.ngrams
    )
    words = "Bold: equal to the text. N-grams read off the columns:"
    return f'<p class="pk-note">{words}</p><ul class="pk-list">{items}</ul>'


def _marked(text: str) -> str:
    return escape(compact(text))


def _fate(ngram: Ngram) -> str:
    if ngram.kept:
        told = f"put {counted(ngram.kept, 'token')} into the text"
        return f"new, {told} later" if ngram.new else told
    return "new" if ngram.new else "already known"


def _grid(span: range, body: str) -> str:
    head = "".join(f'<th scope="col">{at}</th>' for at in span)
    return (
        f'<div class="pk-scroll"><table class="pk-grid"><thead><tr><th scope="col">position</th>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _short(text: str) -> str:
    shown = compact(text)
    return escape(shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…")


def _told(cell: Cell) -> str:
    right = ", equal to the text" if cell.right else ""
    return escape(f"{cell.text!r} at {cell.position}: {TITLES[cell.state]}{right}")
