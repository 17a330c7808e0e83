"""What was measured: one sample per contender, prompt and repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any

from phrasekit.trace import Metrics


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One generation.

    Attributes:
        contender: its name.
        repeat: 0-based.
        task: prompt id.
        tokens: generated ids.
        seconds: wall time from prompt ids to generated ids.
        target_forwards: the one reading the prompt included; None where nobody could count.
        draft_forwards: None where nobody could count.
        forward_seconds: of `seconds`, inside the models' forwards; None where that cannot be told.
        steps: tokens by step, bonus included; () where unknown.
        metrics: derived from the trace, for phrasekit's own methods.
    """

    contender: str
    repeat: int
    task: str
    tokens: tuple[int, ...]
    seconds: float
    target_forwards: int | None = None
    draft_forwards: int | None = None
    forward_seconds: float | None = None
    steps: tuple[int, ...] = ()
    metrics: Metrics | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Everything a run gave.

    Attributes:
        samples: of finished rounds only, so that every contender has the same.
        repeats: repeats that were finished.
        partial: whether it was interrupted.
        failures: why a contender had to leave, by name; its samples are gone.
    """

    samples: tuple[Sample, ...]
    repeats: int
    partial: bool
    failures: Mapping[str, str]


def merged(metrics: Sequence[Metrics]) -> Metrics | None:
    """Several runs as one, as `measure` of all their traces would have it, without keeping the traces."""
    if not metrics:
        return None
    values: dict[str, Any] = {}
    for field in fields(Metrics):
        parts = [getattr(one, field.name) for one in metrics]
        if field.name == "pool_size":  # a state, not a count
            values[field.name] = next((size for size in reversed(parts) if size), 0)
        elif isinstance(parts[0], Mapping):
            total: Counter[str] = Counter()
            for part in parts:
                total.update(part)
            values[field.name] = dict(total)
        elif isinstance(parts[0], tuple):
            values[field.name] = tuple(map(sum, zip_longest(*parts, fillvalue=0)))
        else:
            values[field.name] = sum(parts)
    return Metrics(**values)
