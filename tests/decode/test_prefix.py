"""How far two sequences agree, whatever blocks they are compared in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasekit.decode.prefix import common_prefix


@given(st.integers(0, 600), st.lists(st.integers(0, 1), max_size=3), st.lists(st.integers(0, 1), max_size=3))
def test_the_first_difference_is_found_wherever_it_is(same, left, right):
    text = [place % 7 for place in range(same)]
    due = same + next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    assert common_prefix([*text, *left], [*text, *right]) == due


@pytest.mark.parametrize("place", [*range(20), 255, 256, 257, 271, 272, 273, 511, 512, 513, 599])
def test_every_place_around_the_blocks(place):
    left, right = [0] * 600, [0] * 600
    right[place] = 1
    assert common_prefix(left, right) == common_prefix(right, left) == place
