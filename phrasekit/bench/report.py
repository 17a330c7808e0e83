"""The report of a benchmark: one part per family of prompts, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from phrasekit.bench.contender import Contender
from phrasekit.bench.prompts import Task
from phrasekit.bench.samples import Outcome
from phrasekit.bench.standings import GENERATE, PLAIN, Comparison, Standing, Table, comparisons

SCHEMA = "phrasekit-bench"
SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class FamilyReport:
    """What one family of prompts gave.

    Attributes:
        family: a key of `phrasekit.bench.prompts.FAMILIES`.
        tasks: the prompts, in order.
        repeats: repeats asked for.
        reference: contender whose tokens the others must equal.
        outcome: the samples.
        standings: one per contender, in the order they were named.
        comparisons: ratios people ask for.
        heat: tokens per second of every setting a peer was tried at before the race.
    """

    family: str
    tasks: tuple[Task, ...]
    repeats: int
    reference: str
    outcome: Outcome
    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]
    heat: Mapping[str, float] = field(default_factory=dict)

    @property
    def prompts(self) -> int:
        """Prompts that count: those every contender finished."""
        return max((standing.prompts for standing in self.standings), default=0)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Contenders whose tokens differ from the reference somewhere."""
        return tuple(standing.name for standing in self.standings if standing.differing)

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "family": self.family,
            "prompts": [{"id": task.id, "tokens": len(task.ids)} for task in self.tasks],
            "repeats_planned": self.repeats,
            "repeats": self.outcome.repeats,
            "partial": self.outcome.partial,
            "reference": self.reference,
            "heat": dict(self.heat),
            "standings": [standing.as_dict() for standing in self.standings],
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
            "samples": [
                {
                    "contender": sample.contender,
                    "repeat": sample.repeat,
                    "prompt": sample.task,
                    "tokens": len(sample.tokens),
                    "seconds": sample.seconds,
                    "forward_seconds": sample.forward_seconds,
                    "target_forwards": sample.target_forwards,
                    "draft_forwards": sample.draft_forwards,
                }
                for sample in self.outcome.samples
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole benchmark.

    Attributes:
        environment: machine, versions, models.
        settings: what was asked.
        families: one part per family that was begun.
    """

    environment: Mapping[str, object]
    settings: Mapping[str, object]
    families: tuple[FamilyReport, ...]

    @property
    def partial(self) -> bool:
        """Whether it was interrupted."""
        return any(family.outcome.partial for family in self.families)

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "partial": self.partial,
            "environment": dict(self.environment),
            "settings": dict(self.settings),
            "families": [family.as_dict() for family in self.families],
        }


def report_family(
    family: str,
    contenders: Sequence[Contender],
    tasks: Sequence[Task],
    outcome: Outcome,
    *,
    repeats: int,
    recording: Mapping[str, float | None] | None = None,
    strict: Mapping[str, float | None] | None = None,
    heat: Mapping[str, float] | None = None,
) -> FamilyReport:
    """Derive the report of one family from its samples.

    The tokens of transformers' `generate` are the right ones where it took part, since it shares no
    code with the methods; else those of plain decoding.
    """
    names = {contender.name for contender in contenders} - outcome.failures.keys()
    reference = next((name for name in (GENERATE, PLAIN) if name in names), contenders[0].name)
    table = Table(outcome, reference=reference)
    costs, own = recording or {}, strict or {}
    standings = tuple(
        table.standing(one, recording=costs.get(one.name), strict=own.get(one.name)) for one in contenders
    )
    return FamilyReport(
        family=family,
        tasks=tuple(tasks),
        repeats=repeats,
        reference=reference,
        outcome=outcome,
        standings=standings,
        comparisons=comparisons(table, standings),
        heat=heat or {},
    )
