"""Counts are fields, and rates are properties of them: what records of both kinds share."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any


def rate(part: float, whole: float) -> float | None:
    """`part` of `whole`; None where there is nothing to divide by."""
    return part / whole if whole else None


def counts_and_rates(record: Any) -> dict[str, object]:
    """Every field of a dataclass, and every property of its class, by name."""
    rates = [name for name, member in vars(type(record)).items() if isinstance(member, property)]
    return asdict(record) | {name: getattr(record, name) for name in rates}
