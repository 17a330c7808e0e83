"""One check for every setting: both ends, what is no number, and the rule in words."""

from __future__ import annotations

import math
import re

import pytest

from phrasekit.decode.bounds import check_number, check_whole


@pytest.mark.parametrize(
    ("bounds", "rule", "inside", "outside"),
    [
        ((1, 4), "from 1 to 4", [1, 2, 4], [0, 5, -(10**30), 10**30]),
        ((1,), "from 1 up", [1, 10**30], [0]),
        ((-math.inf,), "that is finite", [-(10**30), 0, 10**30], []),
    ],
)
def test_whole_numbers(bounds, rule, inside, outside):
    rule = re.escape(f"n must be a whole number {rule}, but got ")
    for value in inside:
        check_whole("n", value, *bounds)
    for value in outside:
        with pytest.raises(ValueError, match=f"^{rule}{value}$"):
            check_whole("n", value, *bounds)
    for value in (True, None, "2", 2.0, math.inf):
        with pytest.raises(TypeError, match=f"^{rule}{value!r}$"):
            check_whole("n", value, *bounds)


@pytest.mark.parametrize(
    ("bounds", "above", "rule", "inside", "outside"),
    [
        ((0, 1), False, "from 0 to 1", [0, 0.5, 1], [-0.001, 1.001]),
        ((0, 1), True, "over 0 to 1", [1e-9, 1], [0, -1, 1.001]),
        ((0,), False, "from 0 up", [0, 1e300], [-1, math.inf]),
        ((0,), True, "over 0 up", [1e-300, 7], [0, math.inf]),
        ((-math.inf,), False, "that is finite", [-1e300, 0, 1e300], [math.inf, -math.inf]),
    ],
)
def test_numbers(bounds, above, rule, inside, outside):
    rule = re.escape(f"x must be a number {rule}, but got ")
    for value in inside:
        check_number("x", value, *bounds, above=above)
    for value in (*outside, math.nan, 10**400):
        with pytest.raises(ValueError, match=f"^{rule}{value}$"):
            check_number("x", value, *bounds, above=above)
    for value in (True, None, "2", 1j):
        with pytest.raises(TypeError, match=f"^{rule}{re.escape(repr(value))}$"):
            check_number("x", value, *bounds, above=above)


def test_the_lowest_number_is_allowed_unless_said_otherwise():
    check_number("x", 0, 0)
