"""Which knobs of a method are searched, over which values, and from where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from phrasekit.decode import Knobs
from phrasekit.decode.knobs import BOUNDS, FLAGS, REPAIRS
from phrasekit.lm import Pair
from phrasekit.methods import Method, named, tuned
from phrasekit.tune.strategy import (
    Axes,
    Point,
    Strategy,
    Value,
    algorithm1,
    algorithm1_points,
    grid,
    grid_points,
)

MOST_POINTS = 1024
BEFORE = "before"  # stage of the setting that a pair has already

# The defaults of the paper's published code (`gamma` 4, `window_size` 20, `guess_set_size` 20,
# `lookahead_level` 7, `topk` 3). Its suffixes are N−1 new tokens long, so β = N = 7 here.
PAPER: Mapping[str, Value] = {
    "gamma": 4,
    "window": 20,
    "level": 7,
    "guesses": 20,
    "suffixes": 3,
    "beta": 7,
}

GAMMAS = (1, 2, 3, 4, 6, 8, 12)  # of a method with a draft model that has no entry below
# What Algorithm 1 searches. W reaches down to 0: where rows are not free, as on a CPU, the window often
# does not pay.
AXES: Mapping[str, Axes] = {
    "prompt_lookup": {"lookup": (2, 4, 6, 10, 16), "lookup_ngram": (1, 2, 3, 5)},
    "lookahead": {"window": (0, 2, 4, 8, 15), "level": (3, 4, 5, 7), "guesses": (2, 4, 8, 15)},
    "cascade": {"gamma": (1, 2, 4, 6, 8, 12), "lookup": (2, 4, 8)},
    "ouroboros": {"gamma": (1, 2, 4, 8, 12), "window": (0, 8, 16), "beta": (3, 4, 6, 8)},
    "rest": {"depth": (4, 10, 16)},
    "double": {"gamma": (1, 2, 4, 6, 8), "depth": (4, 10, 16)},
    "double-ouroboros": {"gamma": (1, 2, 4, 6, 8)},
    "hybrid": {"gamma": (1, 2, 4, 6, 8), "beta": (3, 4, 6, 8), "lookup": (4, 10, 16)},
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The search for one method's knobs.

    Attributes:
        method: name of the method.
        start: the knobs that are not searched keep these values.
        axes: values to try by knob.
        name: of the strategy.
        search: makes the strategy.
        points: how many it is expected to try, the start included; Algorithm 1 may need fewer or more.
    """

    method: str
    start: Knobs
    axes: Axes
    name: str
    search: Callable[[Axes, Point], Strategy]
    points: int

    @property
    def first(self) -> Point:
        """What the pair has already."""
        return Point({name: getattr(self.start, name) for name in self.axes}, BEFORE)

    def strategy(self) -> Strategy:
        """The setting that the pair has already, so that nothing slower is chosen, then the search."""
        return self.search(self.axes, self.first)

    def knobs(self, point: Point) -> Knobs:
        """The knobs of a point; a phrase must be at least as long as the suffix cut from it (N ≥ β)."""
        values = dict(point.values)
        if "beta" in values and "level" not in values:
            values["level"] = max(self.start.level, int(values["beta"]))
        return self.start.but(**values)


def plan_algorithm1(
    method: str,
    pair: Pair,
    *,
    axes: Mapping[str, Sequence[Value]] | None = None,
    fixed: Mapping[str, Value] | None = None,
) -> Plan:
    """One knob after the other, then again: for Ouroboros γ, then W, then β, as in the paper's Algorithm 1.

    Args:
        method: name of the method.
        pair: whose tuned knobs are the start.
        axes: values to try, by knob; they take the place of the method's usual ones, and a knob that is
            not usually searched comes last.
        fixed: knobs that keep a value and are not searched.

    Raises:
        ValueError: an unknown method or knob, a value outside its bounds, or nothing left to search.
    """
    start = tuned(method, pair, fixed or {})
    found = check_axes(method, axes, fixed=fixed, usual=True)
    return Plan(
        method=method,
        start=start,
        axes=found,
        name="algorithm1",
        search=algorithm1,
        points=1 + algorithm1_points(found),
    )


def plan_grid(
    method: str,
    pair: Pair,
    axes: Mapping[str, Sequence[Value]],
    *,
    fixed: Mapping[str, Value] | None = None,
) -> Plan:
    """Every combination of the values; see `plan_algorithm1` for the arguments.

    Raises:
        ValueError: as there, or too many combinations.
    """
    start = tuned(method, pair, fixed or {})
    found = check_axes(method, axes, fixed=fixed)
    points = grid_points(found)
    return Plan(method=method, start=start, axes=found, name="grid", search=grid, points=1 + points)


def check_axes(
    method: str,
    axes: Mapping[str, Sequence[Value]] | None,
    *,
    fixed: Mapping[str, Value] | None = None,
    usual: bool = False,
) -> dict[str, Sequence[Value]]:
    """The axes of a search, without a model to look at.

    Args:
        method: name of the method.
        axes: values to try by knob.
        fixed: knobs that are not searched.
        usual: search the method's usual axes too (`plan_algorithm1`), else only these, all together.

    Raises:
        ValueError: see `plan_algorithm1` and `plan_grid`.
    """
    base, held = named(method), fixed or {}
    Knobs().but(**held)
    found = {name: values for name, values in _usual(base).items() if usual and name not in held}
    found |= {name: tuple(dict.fromkeys(values)) for name, values in (axes or {}).items()}
    _check(base, found, held)
    if not usual and grid_points(found) > MOST_POINTS:
        raise ValueError(
            f"a grid must have at most {MOST_POINTS} points, but this one has {grid_points(found)}"
        )
    return found


def uses(method: str, knob: str) -> bool:
    """Whether the knob changes what the method does."""
    return knob in named(method).reads


def _usual(method: Method) -> dict[str, Sequence[Value]]:
    """The axes of the method or, for an ablation, of the whole method without what is switched off."""
    drafting: Axes = {"gamma": GAMMAS} if method.drafts else {}
    axes = AXES.get(method.name) or AXES.get(method.name.split("-")[0]) or drafting
    return {name: values for name, values in axes.items() if name not in method.forced}


def _check(method: Method, axes: Axes, fixed: Mapping[str, Value]) -> None:
    if not axes or not all(axes.values()):
        raise ValueError(
            f"a search needs a knob with values to try, but {method.name} has none left; give some, such as "
            "gamma=1,2,4"
        )
    for name, values in axes.items():
        if name in method.forced:
            raise ValueError(
                f"{method.name} fixes {name} at {method.forced[name]}, so it cannot be searched; leave it out"
            )
        if name not in Knobs().as_dict():
            Knobs().but(**{name: values[0]})  # says which there are
        if not uses(method.name, name):
            raise ValueError(f"{method.name} has no use for {name}, so it cannot be searched; leave it out")
        if name in fixed:
            raise ValueError(f"a knob is either fixed or searched, but {name} is both; leave one out")
        for value in values:
            Knobs().but(**{name: value})


def choices(name: str) -> tuple[Value, ...] | None:
    """The values of a knob that is no number, None for a number; bounds are in `BOUNDS`."""
    if name in BOUNDS:
        return None
    return (False, True) if name in FLAGS else REPAIRS
