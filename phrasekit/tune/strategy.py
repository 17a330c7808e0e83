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


def algorithm1(axes: Axes) -> Strategy:
    """One knob after the other, in the order given; each keeps its best value while the next is chosen.

    The paper takes γ first, then W, then β, the others fixed at intermediate values: here the middle of
    an axis stands in until its turn comes. A knob all of whose values fail stays in the middle.
    """
    held = {name: middle(values) for name, values in axes.items()}
    for name, values in axes.items():
        best = None
        for value in values:
            score = yield Point({**held, name: value}, name)
            if score is not None and (best is None or score > best[0]):
                best = score, value
        if best is not None:
            held[name] = best[1]


def grid(axes: Axes) -> Strategy:
    """Every combination, the last axis fastest."""
    for values in product(*axes.values()):
        yield Point(dict(zip(axes, values, strict=True)), "grid")


def middle(values: Sequence[Value]) -> Value:
    """The value in the middle of the list, the later one of two."""
    return values[len(values) // 2]


def algorithm1_points(axes: Axes) -> int:
    """Points that `algorithm1` tries; one that comes up in two stages counts once."""
    return 1 + sum(len(values) - 1 for values in axes.values())


def grid_points(axes: Axes) -> int:
    """Points that `grid` tries."""
    count = 1
    for values in axes.values():
        count *= len(values)
    return count
