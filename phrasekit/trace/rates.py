"""Counts are fields, and rates are properties of them: what such records share, and how they read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

ABSENT = "-"  # where there is nothing to divide by


def rate(part: float, whole: float) -> float | None:
    """`part` of `whole`; None where there is nothing to divide by."""
    return part / whole if whole else None


def counts_and_rates(record: Any) -> dict[str, object]:
    """Every field of a dataclass, and every property of its class, by name."""
    rates = [name for name, member in vars(type(record)).items() if isinstance(member, property)]
    return asdict(record) | {name: getattr(record, name) for name in rates}


def number(value: float | None) -> str:
    """Two decimals."""
    return ABSENT if value is None else f"{value:.2f}"


def percent(value: float | None, *, digits: int = 0) -> str:
    """A share of 1 in percent."""
    return ABSENT if value is None else f"{100 * value:.{digits}f} %"
