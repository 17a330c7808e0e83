"""A whole search as one document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from phrasekit.bench.environment import environment
from phrasekit.tune.costs import CostTable
from phrasekit.tune.records import TrialRecord
from phrasekit.tune.verdict import Standing, Verdict

if TYPE_CHECKING:
    from phrasekit.tune.tuning import Tuning

SCHEMA = "phrasekit-tune"
SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class TuneReport:
    """Everything a search found.

    Attributes:
        environment: machine, versions, models.
        settings: what was asked.
        costs: milliseconds of forwards; None where the search ended before them.
        trials: every trial, failures included, in the order they ended.
        held_out: settings on the held-out prompts.
        verdict: None where the search ended before it.
        seconds: that the search took.
    """

    environment: Mapping[str, object]
    settings: Mapping[str, object]
    costs: CostTable | None
    trials: tuple[TrialRecord, ...]
    held_out: tuple[Standing, ...]
    verdict: Verdict | None
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "environment": dict(self.environment),
            "settings": dict(self.settings),
            "seconds": self.seconds,
            "costs": None if self.costs is None else self.costs.as_dict(),
            "trials": [trial.as_dict() for trial in self.trials],
            "held_out": [standing.as_dict() for standing in self.held_out],
            "verdict": None if self.verdict is None else self.verdict.as_dict(),
        }


def report_of(tuning: Tuning) -> TuneReport:
    """What a search has found so far, or at its end."""
    return TuneReport(
        environment=environment(tuning.pair),
        settings={**asdict(tuning.options), "plans": [_plan(plan) for plan in tuning.plans]},
        costs=tuning.costs,
        trials=tuning.trials,
        held_out=tuning.held_out,
        verdict=tuning.verdict,
        seconds=tuning.seconds,
    )


def _plan(plan: object) -> dict[str, object]:
    from phrasekit.tune.axes import Plan

    if not isinstance(plan, Plan):
        raise TypeError(f"a plan must be a Plan record, but got {plan!r}")
    return {
        "method": plan.method,
        "strategy": plan.name,
        "axes": {name: list(values) for name, values in plan.axes.items()},
        "start": plan.start.as_dict(),
        "points": plan.points,
    }
