"""A search in the pair's thread: trials as they come, then the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dashboard.jobs.job import Job
from phrasekit.errors import StudyFormatError
from phrasekit.tune import (
    Plan,
    Progress,
    TrialRecord,
    Tuning,
    Verdict,
    encode_prompts,
    plan_algorithm1,
    plan_grid,
)
from phrasekit.tune.axes import uses
from phrasekit.tune.strategy import Value
from phrasekit.tune.tuning import Options
from phrasekit.tune.verdict import Standing

GRID = "grid"


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What to search.

    Attributes:
        methods: names, one search each.
        strategy: "algorithm1" or "grid".
        axes: values by knob, for a grid; a method gets those that it has a use for.
        prompts: texts; half of them are held out.
        prompt_tokens: longest prompt.
        options: how to measure.
        study: file of the trials; None keeps them in memory.
    """

    methods: tuple[str, ...]
    strategy: str
    axes: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    prompts: tuple[str, ...]
    prompt_tokens: int = 2_048
    options: Options = field(default_factory=Options)
    study: Path | None = None

    def plans(self, pair: Any) -> list[Plan]:
        """One per method.

        Raises:
            ValueError: nothing to search, or values outside their bounds.
        """
        if self.strategy == GRID:
            return [plan_grid(method, pair, self._axes(method)) for method in self.methods]
        return [plan_algorithm1(method, pair) for method in self.methods]

    def encoded(self, pair: Any) -> tuple[tuple[int, ...], ...]:
        """The prompts' ids.

        Raises:
            ValueError: one of them is empty or too long.
        """
        found = encode_prompts(pair, self.prompts)
        longest = max(map(len, found), default=0)
        if longest > self.prompt_tokens:
            raise ValueError(
                f"a prompt may have at most {self.prompt_tokens} tokens here, but one has {longest}; "
                "shorten it"
            )
        return found

    def compares(self, other: Wish) -> bool:
        """Whether trials of one are worth as much to the other: same prompts, measured alike."""
        return (self.prompts, self._measuring) == (other.prompts, other._measuring)

    @property
    def _measuring(self) -> dict[str, Any]:
        """The options that a trial depends on."""
        return {
            name: value
            for name, value in asdict(self.options).items()
            if name not in ("budget", "final_repeats")
        }

    def _axes(self, method: str) -> dict[str, Sequence[Value]]:
        return {name: values for name, values in self.axes.items() if uses(method, name)}


class SearchRun(Job):
    """One search; a prompt with everybody in it is one step, so that nobody comes between what is compared.

    Attributes:
        wish: what to search.
        progress: where it stands; None before the first report.
        trials: over so far, failures included.
        held_out: settings on the held-out prompts.
        verdict: at the end.
    """

    def __init__(self, wish: Wish, *, owner: str) -> None:
        super().__init__(owner)
        self.wish = wish
        self.progress: Progress | None = None
        self.trials: tuple[TrialRecord, ...] = ()
        self.held_out: tuple[Standing, ...] = ()
        self.verdict: Verdict | None = None

    @property
    def best(self) -> TrialRecord | None:
        """The fastest trial so far."""
        return max((one for one in self.trials if one.score), key=lambda one: one.score or 0.0, default=None)

    @property
    def kept(self) -> int:
        """Trials that an earlier search made."""
        return sum(one.reused for one in self.trials)

    def work(self, pair: Any) -> Iterator[None]:
        """A round of prompts a step."""
        wish = self.wish
        tuning = Tuning(
            pair,
            wish.encoded(pair),
            plans=wish.plans(pair),
            options=wish.options,
            study=wish.study,
            costs=self.place.costs if self.place is not None else None,
            stopped=lambda: self.cancelled,
        )
        try:
            for progress in tuning:
                self.progress, self.trials = progress, tuning.trials
                self.changed()
                yield
        except (StudyFormatError, RuntimeError, OSError) as error:
            raise RuntimeError(_without_path(error, wish.study)) from error
        finally:
            if self.place is not None:
                self.place.costs = tuning.costs
            self.trials, self.held_out, self.verdict = tuning.trials, tuning.held_out, tuning.verdict


def _without_path(error: Exception, path: Path | None) -> str:
    told = str(error)
    return told if path is None else told.replace(str(path), path.stem)
