"""The lookahead window: rows of guesses over time, and the n-grams read off one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from phrasekit.trace.records import WINDOW, Iteration, Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import token_text
from phrasekit.views.phrases import Life, levels, lives
from phrasekit.views.table import Table
from phrasekit.views.tokens import compact, quoted

FIRST, CHANGED, SAME, CONVERGED = "first", "changed", "same", "converged"
MOST = 8  # rows in one picture
SIGNS = {FIRST: "+", CHANGED: "~", SAME: " ", CONVERGED: "="}


@dataclass(frozen=True, slots=True)
class Cell:
    """A guess for one position.

    Attributes:
        position: in the whole sequence.
        text: of the guessed token.
        state: "first" guess for the position, "changed" since the row before, the "same", or
            "converged": equal to the text and so in every later row.
        right: equal to the text that was written there.
    """

    position: int
    text: str
    state: str
    right: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The newest window row of one forward.

    Attributes:
        label: "9" for iteration 9, "9.2" for its second draft forward.
        cells: from left to right.
    """

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Ngram:
    """A phrase read off one column.

    Attributes:
        column: 0 for the column of the last committed token.
        texts: key and followers.
        cells: level and position of every token; level −1 is the last committed token.
        new: whether the pool did not know it.
        kept: tokens it put into the text later.
    """

    column: int
    texts: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]
    new: bool
    kept: int


@dataclass(frozen=True, slots=True)
class Frame:
    """All levels of the window in one forward.

    Attributes:
        label: as in `Row`.
        root: text of the last committed token.
        position: of the first guess.
        levels: the rows fed, then the row of picks that completes the n-grams.
        ngrams: read off it; none while the window fills.
    """

    label: str
    root: str
    position: int
    levels: tuple[tuple[Cell, ...], ...]
    ngrams: tuple[Ngram, ...]


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """The window of a run.

    Attributes:
        rows: newest row of each forward shown.
        text: what was written, by position.
        frame: one forward in full; None for a run without a window.
        forwards: of the run that carried a window.
        ngrams: phrases the window brought into the pool over the run.
        kept: tokens that those put into the text.
    """

    rows: tuple[Row, ...]
    text_at: Mapping[int, str]
    frame: Frame | None
    forwards: int
    ngrams: int
    kept: int

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        if self.frame is None:
            return "This run had no lookahead window."
        return (
            f"The window guessed ahead in {counted(self.forwards, 'forward')}; "
            f"{counted(self.ngrams, 'new n-gram')} entered the pool and put {counted(self.kept, 'token')} "
            "into the text; window tokens themselves are never emitted."
        )

    def table(self) -> Table:
        """A row per guess shown."""
        rows = tuple(
            (row.label, cell.position, cell.text, cell.state, self.text_at.get(cell.position), cell.right)
            for row in self.rows
            for cell in row.cells
        )
        return Table(("iteration", "position", "guess", "state", "text there", "right"), rows)

    def text(self) -> str:
        """A line per row, then the n-grams of the frame."""
        lines = [self.sentence]
        if self.frame is None:
            return lines[0]
        lines.append("+ first guess, ~ changed, = converged to the text; a blank: the same as before")
        for row in self.rows:
            cells = " ".join(f"{SIGNS[cell.state]}{compact(cell.text)}" for cell in row.cells)
            lines.append(f"{row.label:>5} from {row.cells[0].position if row.cells else '–'}: {cells}")
        for ngram in self.frame.ngrams:
            state = f"kept {ngram.kept}" if ngram.kept else "new" if ngram.new else "known"
            lines.append(
                f"n-gram {ngram.column}: {compact(ngram.texts[0])} → {quoted(ngram.texts[1:])} {state}"
            )
        return "\n".join(lines)


def window_info(trace: Trace, iteration: int | None = None, *, most: int = MOST) -> WindowInfo:
    """Lay out the window's rows over time and one forward in full.

    Args:
        trace: the run; the window may be the target's (lookahead) or the draft model's (Ouroboros).
        iteration: show its forwards and those before it, the last in full; counted from 1. Without one,
            the forward whose n-grams put most tokens into the text.
        most: rows to show.

    Raises:
        ValueError: there is no such iteration, or `most` is below 1.
    """
    if most < 1:
        raise ValueError(f"most must be 1 or more, but got {most}")
    if iteration is not None and not 1 <= iteration <= len(trace.iterations):
        raise ValueError(f"iteration must be from 1 to {len(trace.iterations)}, but got {iteration}")
    carried = list(_carried(trace))
    found = [life for life in lives(trace) if life.source == WINDOW and life.born >= 0]
    text_at = _text(trace)
    if not carried:
        return WindowInfo((), {}, None, 0, 0, 0)
    by_tokens = {life.tokens: life for life in found}
    frames = [_frame(trace, label, one, text_at, by_tokens) for label, one in carried]
    at = _chosen(carried, frames, iteration)
    rows = list(_rows(trace, carried, text_at))
    shown = rows[max(0, at + 1 - most) : at + 1]
    reached = {cell.position for row in shown for cell in row.cells}
    return WindowInfo(
        rows=tuple(shown),
        text_at={place: text for place, text in text_at.items() if place in reached},
        frame=frames[at],
        forwards=len(carried),
        ngrams=len(found),
        kept=sum(life.kept for life in found),
    )


def _carried(trace: Trace) -> Iterator[tuple[str, Iteration]]:
    """Every forward that carried window rows, with its label."""
    for iteration in trace.iterations:
        inside = [level for level in levels(iteration) if level.window]
        for number, level in enumerate(inside, start=1):
            whole = str(iteration.index + 1)
            yield whole if level is iteration else f"{whole}.{number}", level


def _text(trace: Trace) -> dict[int, str]:
    whole = (*trace.prompt, *trace.tokens)
    return {place: token_text(token, trace.texts) for place, token in enumerate(whole)}


def _chosen(carried: Sequence[tuple[str, Iteration]], frames: Sequence[Frame], iteration: int | None) -> int:
    if iteration is not None:
        within = [at for at, (label, _) in enumerate(carried) if int(label.split(".")[0]) <= iteration]
        return within[-1] if within else 0
    kept = [sum(ngram.kept for ngram in frame.ngrams) for frame in frames]
    news = [sum(ngram.new for ngram in frame.ngrams) for frame in frames]
    return max(range(len(frames)), key=lambda at: (kept[at], news[at], -at))


def _offset(level: int) -> int:
    """Level 0 starts behind the last committed token, level k in its column, k tokens on."""
    return max(1, level)


def _rows(
    trace: Trace, carried: Sequence[tuple[str, Iteration]], text_at: Mapping[int, str]
) -> Iterator[Row]:
    """States need the rows before and after: the last guess for a position, and whether it stays right."""
    before: dict[int, str] = {}
    found: list[Row] = []
    for label, one in carried:
        last = len(one.window) - 1
        cells = []
        for place, token in enumerate(one.window[last]):
            position = one.position - 1 + place + _offset(last)
            text = token_text(token, trace.texts)
            state = FIRST if position not in before else SAME if before[position] == text else CHANGED
            cells.append(Cell(position, text, state, text_at.get(position) == text))
            before[position] = text
        found.append(Row(label, tuple(cells)))
    stays: dict[int, bool] = {}
    converged: list[Row] = []
    for row in reversed(found):
        cells = []
        for cell in row.cells:
            stays[cell.position] = cell.right and stays.get(cell.position, True)
            cells.append(replace(cell, state=CONVERGED) if stays[cell.position] else cell)
        converged.append(Row(row.label, tuple(cells)))
    return reversed(converged)


def _frame(
    trace: Trace,
    label: str,
    one: Iteration,
    text_at: Mapping[int, str],
    found: Mapping[tuple[int, ...], Life],
) -> Frame:
    picks = _picks(one)
    rows = [*one.window, picks]
    ngrams = [] if min(picks, default=-1) < 0 else list(_ngrams(trace, one, rows, found))
    cells = [
        tuple(
            _plain_cell(trace, token, one.position - 1 + place + _offset(level), text_at)
            for place, token in enumerate(row)
            if token >= 0
        )
        for level, row in enumerate(rows)
    ]
    return Frame(label, token_text(one.root, trace.texts), one.position, tuple(cells), tuple(ngrams))


def _plain_cell(trace: Trace, token: int, position: int, text_at: Mapping[int, str]) -> Cell:
    text = token_text(token, trace.texts)
    return Cell(position, text, SAME, text_at.get(position) == text)


def _picks(one: Iteration) -> tuple[int, ...]:
    """The model's own tokens behind the last level, which complete the n-grams."""
    nodes = [node for node, kind in enumerate(one.tree.kinds) if kind == WINDOW]
    last = nodes[len(nodes) - len(one.window[-1]) :] if one.window[-1] else []
    picks = tuple(one.picks[node + 1] for node in last)
    return (one.picks[0], *picks) if len(one.window) == 1 else picks


def _ngrams(
    trace: Trace, one: Iteration, rows: Sequence[Sequence[int]], found: Mapping[tuple[int, ...], Life]
) -> Iterator[Ngram]:
    """Column i: the key in level 0, then level after level, then the pick. None while the window fills."""
    due = one.knobs.get("level")
    if isinstance(due, int) and len(one.window) < due - 1:
        return
    new = {phrase.tokens for phrase in one.pool.inserted if phrase.source == WINDOW}
    for column, (key, *followers) in enumerate(zip((one.root, *rows[0]), *rows[1:], strict=False)):
        tokens = (key, *followers)
        places = [(level, one.position - 1 + column + level) for level in range(1, len(rows))]
        yield Ngram(
            column=column,
            texts=tuple(token_text(token, trace.texts) for token in tokens),
            cells=((0 if column else -1, one.position - 1 + column), *places),
            new=tokens in new,
            kept=found[tokens].kept if tokens in found else 0,
        )
