"""A small grid of knobs for one method, every point against plain decoding in alternation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from phrasekit.bench.contender import Contender, OwnMethod
from phrasekit.bench.standings import PLAIN
from phrasekit.decode import Knobs
from phrasekit.lm import Pair

MOST_POINTS = 256


def grid_contenders(
    pair: Pair,
    method: str,
    grid: Mapping[str, Sequence[object]],
    *,
    knobs: Mapping[str, object] | None = None,
    max_new_tokens: int = 128,
    fresh_pool: bool = False,
) -> list[Contender]:
    """Plain decoding, and the method at every combination of the grid's values.

    Args:
        pair: models.
        method: name of the method.
        grid: values to try by knob.
        knobs: changes to the pair's tuned knobs that hold at every point.
        max_new_tokens: limit.
        fresh_pool: an empty pool for every prompt.

    Raises:
        ValueError: a method that the pair cannot run, or see `points`.
    """
    contenders: list[Contender] = [OwnMethod(pair, PLAIN, max_new_tokens=max_new_tokens)]
    for point in points(grid):
        name = " ".join(f"{knob}={value}" for knob, value in point.items())
        contenders.append(
            OwnMethod(
                pair,
                method,
                knobs={**(knobs or {}), **point},
                max_new_tokens=max_new_tokens,
                fresh_pool=fresh_pool,
                name=name,
            )
        )
    return contenders


def points(grid: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Every combination of the grid's values.

    Raises:
        ValueError: an empty grid, too many points, an unknown knob or a value outside its bounds.
    """
    if not grid or not all(grid.values()):
        raise ValueError(
            "a sweep needs at least one knob with values, but got none; write --grid gamma=3,4,5"
        )
    for knob, values in grid.items():
        for value in values:
            Knobs().but(**{knob: value})
    count = prod(map(len, grid.values()))
    if count > MOST_POINTS:
        raise ValueError(f"a grid must have at most {MOST_POINTS} points, but this one has {count}")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
