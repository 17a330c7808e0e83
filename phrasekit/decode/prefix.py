"""How far two token sequences agree."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Tokens at the start of both; whole blocks are compared in C."""
    size = min(len(left), len(right))
    if left[:size] == right[:size]:
        return size
    low = 0
    for block in (256, 16, 1):
        while left[low : low + block] == right[low : low + block]:
            low += block
    return low
