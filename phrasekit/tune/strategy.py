"""In which order points are tried: Algorithm 1 of the Ouroboros paper, and a grid.

A strategy is a generator: it yields the next point and is sent its score, higher is better, or None
where the point failed. It measures nothing itself.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

Value: TypeAlias = int | bool | str
Axes: TypeAlias = Mapping[str, Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Point:
    """Values to try together.

    Attributes:
        values: by knob, every axis among them.
        stage: knob that is being chosen, "grid", or "before" for the setting at the start.
    """

    values: Mapping[str, Value]
    stage: str

    @property
    def key(self) -> tuple[tuple[str, Value], ...]:
        """The values as something hashable."""
        return tuple(sorted(self.values.items()))


Strategy: TypeAlias = Generator[Point, float | None, None]
MARGIN = 1.02  # a smaller gain than this on the calibration prompts may be noise and changes no setting


@dataclass(frozen=True, slots=True)
class _Held:
    """The values that all knobs but one keep, and how fast they are together; None where unknown."""

    values: Mapping[str, Value]
    score: float | None = None

    def beaten(self, score: float | None, margin: float = 1.0) -> bool:
        """Whether a score is above this one's by more than the margin."""
        return score is not None and (self.score is None or score > margin * self.score)


def algorithm1(axes: Axes, start: Point | None = None) -> Strategy:
    """One knob after the other, in the order given; each keeps its best value while the next is chosen.

    The paper takes γ first, then W, then β, once, the others fixed at intermediate values: here the middle
    of an axis stands in until its turn comes. A knob all of whose values fail stays in the middle.

    It departs from the paper in what follows. Once a point is known, a knob moves away from it only for a
    gain of more than `MARGIN`. The γ that was best beside an intermediate W need not be so beside the W
    chosen, so the same passes are made again from the best point, until a round changes nothing; the best
    point is the start where that is ahead. Points come up more than once; whoever measures keeps their
    scores.
    """
    own = _Held(start.values, (yield start)) if start is not None else None
    held = yield from _round(_Held({name: middle(values) for name, values in axes.items()}), axes)
    if own is not None and held.beaten(own.score, MARGIN):
        held = own
    before = None
    while held != before:
        before = held
        held = yield from _round(held, axes)


def _round(held: _Held, axes: Axes) -> Generator[Point, float | None, _Held]:
    """Every knob once."""
    for name, values in axes.items():
        found = yield from _best(_Held(held.values), name, values)
        if held.beaten(found.score, MARGIN):
            held = found
    return held


def _best(held: _Held, name: str, values: Sequence[Value]) -> Generator[Point, float | None, _Held]:
    """The best value of one knob beside what the others hold, the earlier of equals."""
    best = held
    for value in values:
        point = Point({**held.values, name: value}, name)
        score = yield point
        if best.beaten(score):
            best = _Held(point.values, score)
    return best


def grid(axes: Axes, start: Point | None = None) -> Strategy:
    """The start, then every combination, the last axis fastest."""
    if start is not None:
        yield start
    for values in product(*axes.values()):
        yield Point(dict(zip(axes, values, strict=True)), "grid")


def middle(values: Sequence[Value]) -> Value:
    """The value in the middle of the list, the later one of two."""
    return values[len(values) // 2]


def algorithm1_points(axes: Axes) -> int:
    """Points that `algorithm1` is expected to try besides the start.

    A round, and the first knob once more beside what the others came to. One that comes up in two stages
    counts once. It needs fewer where the middles were right, and more where the second round moves a knob.
    """
    others = [len(values) - 1 for values in axes.values()]
    return 1 + sum(others) + (others[0] if len(others) > 1 else 0)


def grid_points(axes: Axes) -> int:
    """Points that `grid` tries."""
    count = 1
    for values in axes.values():
        count *= len(values)
    return count
