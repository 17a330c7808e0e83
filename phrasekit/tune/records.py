"""What a search tells while it runs: plain frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from phrasekit.bench.standings import Spread
from phrasekit.tune.strategy import Value

RUNNING, COMPLETE, FAILED = "running", "complete", "failed"
DIFFERS, ERROR, CANCELLED, KILLED = "differs", "error", "cancelled", "killed"


class Cancelled(Exception):  # noqa: N818 - nothing went wrong
    """Somebody asked for an end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRecord:
    """One setting and how it did on the calibration prompts.

    Attributes:
        number: of the trial in its study, from 0.
        method: name of the method.
        values: the knobs searched.
        knobs: every knob.
        stage: knob that was being chosen, "grid", or "before" for the setting at the start.
        state: "running", "complete" or "failed".
        ratio: speed over plain decoding of the same prompts in the same run, over the repeats.
        tokens_per_target_forward: η, bonus included, the forward that reads the prompt counted.
        tokens_per_draft_forward: c; None without a draft model.
        ms: milliseconds per token, reading the prompt included.
        plain_ms: the same of plain decoding.
        identical: whether the tokens were those of plain decoding; None where that was not seen.
        failure: "", or "differs", "error", "cancelled", "killed".
        reason: the failure in words.
        reused: measured by an earlier search on the same study.
    """

    number: int
    method: str
    values: Mapping[str, Value]
    knobs: Mapping[str, Any]
    stage: str
    state: str
    ratio: Spread | None = None
    tokens_per_target_forward: float | None = None
    tokens_per_draft_forward: float | None = None
    ms: float | None = None
    plain_ms: float | None = None
    identical: bool | None = None
    failure: str = ""
    reason: str = ""
    reused: bool = False

    @property
    def score(self) -> float | None:
        """Median ratio of a trial that counts."""
        return self.ratio.median if self.ratio and self.state == COMPLETE else None

    @property
    def settled(self) -> bool:
        """Whether measuring again would tell nothing new; a trial that was cut short is worth another."""
        return self.state == COMPLETE or self.failure in (DIFFERS, ERROR)

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a search stands.

    Attributes:
        phase: "costs", "search" or "held-out".
        trial: the trial at work or just over; None outside the search.
        best: the fastest trial so far.
        trials: trials over, failures included.
        planned: trials that will be over at the end, if none turns out to be needless.
        rounds: prompts done in this trial or phase.
        rounds_planned: of so many.
        seconds: since the start.
    """

    phase: str
    trial: TrialRecord | None = None
    best: TrialRecord | None = None
    trials: int = 0
    planned: int = 0
    rounds: int = 0
    rounds_planned: int = 0
    seconds: float = 0.0
