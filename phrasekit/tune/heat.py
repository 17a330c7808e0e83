"""Two knobs against speed: the best ratio seen at each pair of values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from phrasekit.tune.records import TrialRecord
from phrasekit.tune.strategy import Value


@dataclass(frozen=True, slots=True)
class HeatInfo:
    """A heatmap as data.

    Attributes:
        method: whose trials.
        x: knob across.
        y: knob down.
        columns: its values, in order.
        rows: its values, in order.
        cells: median ratio to plain decoding, row by row; None where nothing counts. Where several
            trials share a cell, since they differ in a third knob, the best one.
        failed: cells, as (row, column), all of whose trials failed.
    """

    method: str
    x: str
    y: str
    columns: tuple[Value, ...]
    rows: tuple[Value, ...]
    cells: tuple[tuple[float | None, ...], ...]
    failed: frozenset[tuple[int, int]]

    @property
    def best(self) -> tuple[int, int] | None:
        """Row and column of the largest ratio."""
        known = [
            (ratio, (row, column))
            for row, line in enumerate(self.cells)
            for column, ratio in enumerate(line)
            if ratio is not None
        ]
        return max(known)[1] if known else None


def heat_info(trials: Iterable[TrialRecord], method: str, x: str, y: str) -> HeatInfo | None:
    """The map of two knobs over a method's trials, None where one of them was not searched."""
    own = [one for one in trials if one.method == method and x in one.values and y in one.values]
    if not own:
        return None
    columns, rows = _values(own, x), _values(own, y)
    found: dict[tuple[int, int], list[float]] = {}
    tried: set[tuple[int, int]] = set()
    for one in own:
        place = rows.index(one.values[y]), columns.index(one.values[x])
        if one.settled:
            tried.add(place)
        if one.score is not None:
            found.setdefault(place, []).append(one.score)
    best = {place: max(scores) for place, scores in found.items()}
    cells = tuple(
        tuple(best.get((row, column)) for column in range(len(columns))) for row in range(len(rows))
    )
    return HeatInfo(method, x, y, columns, rows, cells, frozenset(tried - found.keys()))


def _values(trials: Iterable[TrialRecord], name: str) -> tuple[Value, ...]:
    return tuple(
        sorted({one.values[name] for one in trials}, key=lambda value: (isinstance(value, str), value))
    )
