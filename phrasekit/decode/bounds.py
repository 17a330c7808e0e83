"""The same check and the same words for every setting: the rule, then what was given."""

from __future__ import annotations

from math import inf, isfinite


def check_whole(name: str, value: object, low: float, high: float = inf) -> None:
    """Refuse what is no whole number from `low` to `high`.

    Raises:
        TypeError: no whole number.
        ValueError: outside the bounds.
    """
    rule = f"{name} must be a whole number {_range(low, high)}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{rule}, but got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{rule}, but got {value}")


def check_number(name: str, value: object, low: float, high: float = inf, *, above: bool = False) -> None:
    """Refuse what is no finite number from `low` to `high`; with `above`, `low` itself as well.

    Raises:
        TypeError: no number.
        ValueError: outside the bounds, infinite or NaN.
    """
    rule = f"{name} must be a number {_range(low, high, above=above)}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{rule}, but got {value!r}")
    try:
        inside = isfinite(value) and (low < value if above else low <= value) and value <= high
    except OverflowError:  # a whole number too large for a float
        inside = False
    if not inside:
        raise ValueError(f"{rule}, but got {value}")


def _range(low: float, high: float, *, above: bool = False) -> str:
    if low == -inf:
        return "that is finite"
    start = f"over {low}" if above else f"from {low}"
    return f"{start} up" if high == inf else f"{start} to {high}"
