"""The live chart: lanes over iterations, drawn in the page from a row of numbers each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from phrasekit.trace import Iteration

FOLDER = Path(__file__).parent
Row = tuple[float, ...]

# What a row holds, in this order; lanes.js reads it by place.
ROW = (
    "tokens",
    "ms",
    "drafted",
    "draft_forwards",
    "lookups",
    "hits",
    "misplaced",
    "draft_ms",
    "target_ms",
)


class Lanes(JSComponent):
    """Tokens a second, tokens per forward, c, hit rate, #Match − A and milliseconds, iteration by iteration.

    Attributes:
        part: `{"run": its number, "first": index of the first row, "rows": those from there on}`, see `row`.
        asked: raised by a page that opens in the middle of a run and needs all of it.
        marks: pairs of iteration (from 0) and text: a knob moved before that iteration.
        waiting: the knobs that move next, in words.
        plain: tokens a second of plain decoding, measured; 0 where it was not.
        made: tokens so far and at most.
        going: whether more is to come.
    """

    part = param.Dict(default={"run": 0, "first": 0, "rows": []})
    asked = param.Integer(0)
    marks = param.List(default=[])
    waiting = param.String("")
    plain = param.Number(0.0)
    made = param.List(default=[0, 0])
    going = param.Boolean(False)

    _esm = FOLDER / "lanes.js"
    _stylesheets = [(FOLDER / "lanes.css").read_text("utf-8")]  # noqa: RUF012

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.rows: list[Row] = []
        self._run = 0
        self.param.watch(lambda _: self._send(0), "asked")

    def begin(self, run: int) -> None:
        """Another run."""
        self.rows, self._run = [], run
        self.param.update(marks=[], waiting="")
        self._send(0)

    def extend(self, rows: Sequence[Row]) -> None:
        """More iterations."""
        known = len(self.rows)
        self.rows += rows
        self._send(known)

    def _send(self, first: int) -> None:
        self.part = {"run": self._run, "first": first, "rows": self.rows[first:]}


def row(iteration: Iteration) -> Row:
    """The numbers of an iteration, as `ROW` names them."""
    inner = iteration.draft
    draft_ms = sum(one.forward.ms for one in inner)
    pools = (iteration.pool, *(one.pool for one in inner))
    return (
        len(iteration.emitted),
        round(iteration.ms, 3),
        iteration.drafted,
        len(inner),
        sum(pool.lookups for pool in pools),
        sum(pool.hits for pool in pools),
        iteration.matches - iteration.accepted,
        round(draft_ms, 3),
        round(iteration.forward.ms, 3),
    )


def speed(rows: Sequence[Row]) -> float:
    """Tokens a second over some rows; 0 where there is none."""
    ms = sum(one[1] for one in rows)
    return 1000 * sum(one[0] for one in rows) / ms if ms else 0.0
