"""The benchmark from models to report: who takes part, on which prompts, family after family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, process_time

from phrasekit.bench.contender import OURS, Contender
from phrasekit.bench.environment import environment
from phrasekit.bench.forwards import Clock, ForwardMeter
from phrasekit.bench.heat import evenly, run_heat, several_settings
from phrasekit.bench.prompts import Task, encode, load_prompts
from phrasekit.bench.recording import recording_share
from phrasekit.bench.report import FamilyReport, Report, report_family
from phrasekit.bench.runner import Progress, Runner, synchronizer
from phrasekit.bench.samples import Outcome
from phrasekit.bench.strict import strict_share
from phrasekit.lm import Pair

CLOCKS: Mapping[str, Clock] = {"wall": perf_counter, "cpu": process_time}
RECORDED = 3  # prompts on which the cost of recording and of all own work is measured


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What to measure.

    Attributes:
        families: kinds of prompts.
        prompts: prompts per family.
        offset: prompts of each family to pass over.
        repeats: times everything is done.
        warmup: prompts run before the counted ones, taken from behind them.
        heat: of the counted prompts, how many a peer's fastest setting is found on; 0 races all settings.
        max_new_tokens: limit.
        chat: put prompts through the chat template.
        recording: measure what records and all own work cost, in passes of their own.
        clock: "wall", or "cpu" for seconds of processor time: with one thread that tells something even
            where others keep the cores busy.
    """

    families: Sequence[str] = ("code",)
    prompts: int = 20
    offset: int = 0
    repeats: int = 3
    warmup: int = 1
    heat: int = 6
    max_new_tokens: int = 128
    chat: bool = False
    recording: bool = True
    clock: str = "wall"

    def tasks(self, pair: Pair, family: str) -> tuple[list[Task], list[Task]]:
        """Counted and warm-up tasks of a family."""
        found = load_prompts(family, count=self.prompts + self.warmup, offset=self.offset)
        tasks = list(encode(pair, found, max_new_tokens=self.max_new_tokens, chat=self.chat))
        # a family with no more prompts warms up on its first ones: every repeat starts from nothing anyway
        return tasks[: self.prompts], tasks[self.prompts :] or tasks[: self.warmup]

    def generations(self, contenders: Sequence[Contender]) -> int:
        """How often a contender runs in all, for a progress bar."""
        tried = several_settings(contenders) if self.heat else []
        entered = len(contenders) - len(tried) + len({one.family for one in tried})
        race = entered * (self.warmup + self.repeats * self.prompts)
        heat = len(tried) * (self.warmup + min(self.heat, self.prompts))
        return len(self.families) * (heat + race)

    def run(
        self,
        pair: Pair,
        contenders: Sequence[Contender],
        *,
        settings: Mapping[str, object],
        progress: Progress,
    ) -> Report:
        """Measure every family; Ctrl-C ends it and keeps what is finished.

        Args:
            pair: whose forwards to count and whose tokenizer to use.
            contenders: who takes part.
            settings: what was asked, for the report.
            progress: told the contender's name after every generation.
        """
        machine = environment(pair)  # before the run, whose own load is no news
        work = [(family, *self.tasks(pair, family)) for family in self.families]
        reports: list[FamilyReport] = []
        for family, tasks, warmup in work:
            report = self._family(pair, contenders, family, tasks, warmup, progress)
            reports.append(report)
            if report.outcome.partial:
                break
        return Report(environment=machine, settings=settings, families=tuple(reports))

    def _family(
        self,
        pair: Pair,
        contenders: Sequence[Contender],
        family: str,
        tasks: Sequence[Task],
        warmup: Sequence[Task],
        progress: Progress,
    ) -> FamilyReport:
        clock = CLOCKS[self.clock]
        meter, synchronize = ForwardMeter(pair, clock=clock), synchronizer(pair)

        def start(who: Sequence[Contender], what: Sequence[Task], repeats: int = 1) -> Runner:
            return Runner(
                contenders=who,
                tasks=what,
                repeats=repeats,
                warmup=warmup,
                meter=meter,
                clock=clock,
                synchronize=synchronize,
                progress=progress,
            )

        heat = run_heat(contenders, evenly(tasks, self.heat), start)
        if heat.partial:
            outcome = Outcome(samples=(), repeats=0, partial=True, failures=heat.failures)
        else:
            outcome = start(heat.entered, tasks, self.repeats).run()
            outcome = replace(outcome, failures={**heat.failures, **outcome.failures})
        costs, own = (
            ({}, {}) if outcome.partial else self._own_work(pair, heat.entered, tasks, outcome.failures)
        )
        left = [one for one in contenders if one in heat.entered or one.name in outcome.failures]
        return report_family(
            family,
            left,
            tasks,
            outcome,
            repeats=self.repeats,
            recording=costs,
            strict=own,
            heat=heat.speeds,
        )

    def _own_work(
        self,
        pair: Pair,
        contenders: Sequence[Contender],
        tasks: Sequence[Task],
        failures: Mapping[str, str],
    ) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """What records cost, and what everything outside the models costs, by name."""
        costs: dict[str, float | None] = {}
        own: dict[str, float | None] = {}
        ours = [one for one in contenders if one.origin == OURS and one.name not in failures]
        if self.recording:
            try:
                for one in ours:
                    costs[one.name] = recording_share(one, tasks[:RECORDED])
                    own[one.name] = strict_share(one, pair, tasks[:RECORDED], clock=CLOCKS[self.clock])
            except KeyboardInterrupt:
                pass  # everything else is measured; go on to the report
        return costs, own
