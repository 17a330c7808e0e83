"""A search from cost table to verdict, as an iterator of records."""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from threading import Event
from time import monotonic
from typing import Any

import torch

from phrasekit import __version__
from phrasekit.bench.forwards import Clock
from phrasekit.bench.standings import PLAIN
from phrasekit.bench.suite import CLOCKS
from phrasekit.decode import Knobs, Limits, Sampling
from phrasekit.lm import LanguageModel, Pair
from phrasekit.methods import METHODS, tuned
from phrasekit.propose import Store
from phrasekit.trace.records import SERIAL
from phrasekit.tune.axes import BEFORE, PAPER, Plan
from phrasekit.tune.costs import CostTable, measure_costs, predict
from phrasekit.tune.ending import Ending
from phrasekit.tune.measure import Entry, Meter, Samples, Unfit
from phrasekit.tune.prompts import Ids, split
from phrasekit.tune.records import CANCELLED, COMPLETE, ERROR, FAILED, Cancelled, Progress, TrialRecord
from phrasekit.tune.strategy import MARGIN, Point
from phrasekit.tune.study import TrialStore, check_optuna, open_studies
from phrasekit.tune.verdict import Standing, Verdict, judge

CHOSEN, FROM_PAPER = "chosen", "paper"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a search measures.

    Attributes:
        max_new_tokens: limit per prompt.
        repeats: times the calibration prompts are run per trial.
        final_repeats: times the held-out prompts are run in the end.
        seed: deals the prompts into calibration and held-out half.
        clock: "wall", or "cpu" for seconds of processor time, which with one thread tells something
            even on a busy machine.
        fresh_pool: an empty phrase pool for every prompt instead of one that lives across them.
        budget: seconds after which no trial begins that would not leave time for the held-out prompts;
            None sets no end.
        sampling: fields of `phrasekit.decode.Sampling`; greedy without any.
        schedule: when draft and target of a parallel method run.

    Raises:
        ValueError: something outside its bounds.
    """

    max_new_tokens: int = 40
    repeats: int = 2
    final_repeats: int = 3
    seed: int = 0
    clock: str = "wall"
    fresh_pool: bool = False
    budget: float | None = None
    sampling: Mapping[str, Any] | None = None
    schedule: str = SERIAL

    def __post_init__(self) -> None:
        Limits(max_new_tokens=self.max_new_tokens)
        sampling = Sampling(**(self.sampling or {}))
        if sampling.rule != "match":
            raise ValueError(
                "a search compares tokens with plain decoding's, which only the rule 'match' keeps, but got "
                f"the rule {sampling.rule!r}; leave it out"
            )
        if self.repeats < 1 or self.final_repeats < 1:
            raise ValueError(f"repeats must be 1 or more, but got {self.repeats} and {self.final_repeats}")
        if self.clock not in CLOCKS:
            raise ValueError(f"clock must be one of {', '.join(CLOCKS)}, but got {self.clock!r}")
        if self.budget is not None and not self.budget > 0:
            raise ValueError(f"budget must be above 0 seconds, but got {self.budget}")


class Tuning:
    """A search: iterate for a record after every round of prompts; cut it short with `cancel`.

    First the costs of forwards are measured, then trials on the calibration prompts: every method at the
    setting that the pair has for it, then each plan's others, those of the fastest method first. Then the
    best setting of every method is measured on the held-out prompts, beside plain decoding, the setting
    that the pair had before, and for Ouroboros the paper's defaults. What the calibration prompts say is
    chosen, whatever the held-out prompts say about the others.

    Args:
        pair: models.
        prompts: token ids, from `encode_prompts`; half of them are held out.
        plans: from `plan_algorithm1` and `plan_grid`, one per method.
        options: how to measure.
        study: journal file of Optuna's; None keeps trials in memory.
        clock: gives seconds instead of the clock that the options name.
        costs: a table measured before; None measures one.
        store: texts to retrieve from, for methods that do.
        stopped: asked before every iteration; True does what `cancel` does.

    Raises:
        ImportError: Optuna is not installed.
        ValueError: no plan, two for one method, or too few prompts.
    """

    def __init__(
        self,
        pair: Pair,
        prompts: Sequence[Ids],
        *,
        plans: Sequence[Plan],
        options: Options | None = None,
        study: Path | None = None,
        clock: Clock | None = None,
        costs: CostTable | None = None,
        store: Store | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        check_optuna()
        methods = [plan.method for plan in plans]
        if not methods or len(set(methods)) < len(methods):
            raise ValueError(f"a search needs one plan per method, but got {', '.join(methods) or 'none'}")
        self.pair = pair
        self.plans = tuple(plans)
        self.options = options or Options()
        self.split = split(prompts, seed=self.options.seed)
        self.study = study
        self.costs = costs
        self.store = store
        self.held_out: tuple[Standing, ...] = ()
        self.verdict: Verdict | None = None
        self.seconds = 0.0
        self._clock = clock or CLOCKS[self.options.clock]
        self._cancelled = Event()
        self._stopped = stopped
        self._trials: list[TrialRecord] = []
        self._scores: dict[tuple[str, object], float | None] = {}  # by method and point
        self._expected = {plan.method: plan.points for plan in self.plans}
        self._took: list[float] = []  # seconds of trials
        self._cut = False
        self._begun = False
        self._meter = Meter(
            pair=pair,
            settings={
                "max_new_tokens": self.options.max_new_tokens,
                "schedule": self.options.schedule,
                "store": store,
                **(self.options.sampling or {}),
            },
            clock=self._clock,
            cancelled=self._ended,
            fresh_pool=self.options.fresh_pool,
        )

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        """Trials over so far, failures included."""
        return tuple(self._trials)

    @property
    def best(self) -> TrialRecord | None:
        """The fastest trial so far, over all methods."""
        return _fastest(self._trials)

    @property
    def chosen(self) -> TrialRecord | None:
        """The setting to take: the fastest, or the one that the pair has where that is as good as it."""
        best = self.best
        if best is None:
            return None
        known = [one for one in self._trials if one.stage == BEFORE and one.method == best.method]
        kept = [one for one in known if one.score is not None and one.score * MARGIN >= (best.score or 0.0)]
        return kept[0] if kept else best

    @property
    def planned(self) -> int:
        """About how many trials there will be; exact for plans that are through."""
        return sum(max(points, self._tried(method)) for method, points in self._expected.items())

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked for an end."""
        return self._ended()

    def cancel(self) -> None:
        """End the search within one iteration; what was measured is kept. From any thread."""
        self._cancelled.set()

    def __iter__(self) -> Iterator[Progress]:
        """Run the search, once.

        Raises:
            RuntimeError: it ran before, or another search has the study open.
            StudyFormatError: the study file is foreign or damaged.
            Exception: whatever plain decoding raises.
        """
        if self._begun:
            raise RuntimeError("a search runs once, but this one has been begun; make another Tuning")
        self._begun = True
        started = monotonic()
        for progress in self._run(lambda: monotonic() - started):
            self.seconds = monotonic() - started
            yield replace(progress, seconds=self.seconds)
        self.seconds = monotonic() - started

    def _run(self, elapsed: Callable[[], float]) -> Iterator[Progress]:
        with open_studies(self.study) as studies:
            stores = {plan.method: studies.store(plan, self._conditions()) for plan in self.plans}
            if self.costs is None and not self.cancelled:
                yield Progress(phase="costs", planned=self.planned)
                with suppress(Cancelled):
                    self.costs = measure_costs(self.pair, clock=self._clock, cancelled=self._ended)
            for plan in self.plans:
                yield from self._search(plan, stores[plan.method], elapsed, first=True)
            for plan in sorted(self.plans, key=self._promise, reverse=True):
                yield from self._search(plan, stores[plan.method], elapsed)
            yield from self._finish()
            if self.verdict is not None:
                for store in stores.values():
                    store.note("verdict", self.verdict.sentence)

    def _promise(self, plan: Plan) -> float:
        """How fast a method is at the pair's own setting for it."""
        return self._scores.get((plan.method, plan.first.key)) or 0.0

    def _tried(self, method: str) -> int:
        return sum(one.method == method for one in self._trials)

    def _search(
        self, plan: Plan, store: TrialStore, elapsed: Callable[[], float], *, first: bool = False
    ) -> Iterator[Progress]:
        """Try the points of a plan, or its first one only."""
        strategy = plan.strategy()
        point = next(strategy, None)
        while point is not None and not self.cancelled:
            key = plan.method, point.key
            if key not in self._scores:
                record = store.find(point)
                if record is None:
                    if self._spent(elapsed()):
                        self._cut = True
                        return
                    before = elapsed()
                    record = yield from self._try(plan, store, point)
                    self._took.append(elapsed() - before)
                self._trials.append(record)
                self._scores[key] = record.score
                yield self._progress("search", record)
            if first:
                return
            try:
                point = strategy.send(self._scores[key])
            except StopIteration:
                point = None
                self._expected[plan.method] = 0

    def _try(self, plan: Plan, store: TrialStore, point: Point) -> Generator[Progress, None, TrialRecord]:
        """Measure one setting; however it ends, the study is told."""
        record = store.begin(point)
        over = replace(record, state=FAILED, failure=CANCELLED, reason="the search was ended")
        try:
            planned = len(self.split.calibration) * self.options.repeats
            yield self._progress("search", record, 0, planned)
            entry = Entry(name=plan.method, method=plan.method, knobs=plan.knobs(point))
            rounds = self._meter.rounds([entry], self.split.calibration, self.options.repeats)
            samples = yield from self._through(rounds, "search", planned, record)
            failure = self._meter.failures.get(entry.name)
            over = _failed(record, failure) if failure else _succeeded(record, samples, entry.name)
        except Cancelled:
            pass
        except Exception as error:
            over = replace(over, failure=ERROR, reason=f"{type(error).__name__}: {error}")
            raise
        finally:
            store.finish(over)
        return over

    def _through(
        self,
        rounds: Generator[int, None, Samples],
        phase: str,
        planned: int,
        record: TrialRecord | None = None,
    ) -> Generator[Progress, None, Samples]:
        while True:
            try:
                done = next(rounds)
            except StopIteration as end:
                samples: Samples = end.value
                return samples
            yield self._progress(phase, record, done, planned)

    def _finish(self) -> Iterator[Progress]:
        """Put the best settings on the held-out prompts, and judge."""
        best = self.chosen
        if best is None or self.cancelled:
            chosen = None if best is None else _standing(CHOSEN, best.method, best.values, best.knobs)
            self.verdict = judge(chosen, ending=self._ending())
            return
        prompts, repeats = self.split.held_out, self.options.final_repeats
        finalists = self._finalists(best)
        entries = [
            Entry(name=one.name, method=one.method, knobs=Knobs().but(**one.knobs)) for one in finalists
        ]
        planned = len(prompts) * repeats
        yield self._progress("held-out", None, 0, planned)
        try:
            samples = yield from self._through(
                self._meter.rounds(entries, prompts, repeats), "held-out", planned
            )
        except Cancelled:
            self.verdict = judge(finalists[0], ending=self._ending())
            return
        self.held_out = tuple(self._placed(one, samples) for one in finalists)
        chosen = self.held_out[0]
        prediction = None
        if chosen.measured and self.costs:
            prediction = predict(self.costs, chosen.measured.metrics, chosen.measured.work)
        self.verdict = judge(
            chosen,
            prediction=prediction,
            prompts=len(prompts),
            repeats=repeats,
            ending=self._ending(),
            known=best.knobs == tuned(best.method, self.pair, {}).as_dict(),
            tried=len(self._trials),
            others=self.held_out[1:],
        )

    def _ending(self) -> Ending | None:
        """What was left out; None where nothing was."""
        if not self._cut and not self.cancelled:
            return None
        return Ending(
            tried=len(self._trials),
            planned=self.planned,
            untried=[plan.method for plan in self.plans if not self._tried(plan.method)],
            budget=None if self.cancelled else self.options.budget,
            each=median(self._took) if self._took else 0.0,
            reserve=self._reserve(),
            kept=self.study is not None,
        )

    def _finalists(self, best: TrialRecord) -> list[Standing]:
        """The chosen setting first, then what it is held against; equal settings run once."""
        found = [_standing(CHOSEN, best.method, best.values, best.knobs)]
        for plan in self.plans:
            own = _fastest([one for one in self._trials if one.method == plan.method])
            if own is not None and own.method != best.method:
                found.append(_standing(plan.method, plan.method, own.values, own.knobs))
        plan = next(plan for plan in self.plans if plan.method == best.method)
        before = plan.start.as_dict()
        found.append(_standing(BEFORE, plan.method, {name: before[name] for name in plan.axes}, before))
        if best.method == "ouroboros":
            paper = METHODS["ouroboros"].settle(Knobs().but(**PAPER)).as_dict()
            found.append(_standing(FROM_PAPER, "ouroboros", PAPER, paper))
        unique: dict[str, Standing] = {}
        for one in found:
            unique.setdefault(repr((one.method, sorted(one.knobs.items()))), one)
        return list(unique.values())

    def _placed(self, one: Standing, samples: Samples) -> Standing:
        failure = self._meter.failures.get(one.name)
        over = None if one.name == CHOSEN else samples.ratio(CHOSEN, one.name)
        return replace(one, measured=samples.of(one.name), over=over, failure=str(failure) if failure else "")

    def _ended(self) -> bool:
        return self._cancelled.is_set() or self._stopped()

    def _spent(self, seconds: float) -> bool:
        """Whether another trial would take what is kept for the held-out prompts."""
        if self.options.budget is None:
            return False
        return seconds + max(self._took, default=0.0) + self._reserve() >= self.options.budget

    def _reserve(self) -> float:
        """Seconds that the held-out prompts are expected to take."""
        if not self._took:
            return 0.0
        calibration = len(self.split.calibration) * self.options.repeats * 2
        contenders = 3 + len(self.plans)
        held_out = len(self.split.held_out) * self.options.final_repeats * contenders
        return median(self._took) * held_out / calibration

    def _progress(self, phase: str, trial: TrialRecord | None, rounds: int = 0, planned: int = 0) -> Progress:
        return Progress(
            phase=phase,
            trial=trial,
            best=self.best,
            trials=len(self._trials),
            planned=self.planned,
            rounds=rounds,
            rounds_planned=planned,
        )

    def _conditions(self) -> dict[str, object]:
        """What must be the same for a trial to be worth as much as a new one."""
        options = asdict(self.options)
        for name in ("budget", "final_repeats"):
            del options[name]
        models = {"target": self.pair.target, "draft": self.pair.draft, "smaller": self.pair.smaller}
        return {
            **options,
            "models": {role: _model(model) for role, model in models.items() if model is not None},
            "tokenizer": self.pair.fingerprint,
            "prompts": self.split.digest,
            "store": "" if self.store is None else f"{self.store.fingerprint} {len(self.store)}",
            "threads": torch.get_num_threads(),
            "machine": platform.node(),
            "phrasekit": __version__,
            "torch": torch.__version__,
        }


def _model(model: LanguageModel) -> dict[str, object]:
    parameters = getattr(model.model, "num_parameters", None)
    return {
        "name": model.name,
        "parameters": parameters() if parameters else 0,
        "dtype": str(model.adapter.dtype),
        "device": str(model.device),
    }


def _standing(name: str, method: str, values: Mapping[str, Any], knobs: Mapping[str, Any]) -> Standing:
    return Standing(name=name, method=method, values=values, knobs=knobs, measured=None)


def _fastest(trials: Sequence[TrialRecord]) -> TrialRecord | None:
    counting = [one for one in trials if one.score is not None]
    return max(counting, key=lambda one: one.score or 0.0, default=None)


def _failed(record: TrialRecord, failure: Unfit) -> TrialRecord:
    return replace(
        record,
        state=FAILED,
        identical=False if failure.failure != ERROR else None,
        failure=failure.failure,
        reason=str(failure),
    )


def _succeeded(record: TrialRecord, samples: Samples, name: str) -> TrialRecord:
    own, plain = samples.of(name), samples.of(PLAIN)
    if own is None or plain is None:  # every prompt ended before its first token
        return replace(
            record, state=FAILED, failure=ERROR, reason="no prompt gave a token, so there is no time a token"
        )
    return replace(
        record,
        state=COMPLETE,
        ratio=own.ratio,
        tokens_per_target_forward=own.metrics.block_efficiency,
        tokens_per_draft_forward=own.metrics.tokens_per_draft_forward,
        ms=own.ms.median,
        plain_ms=plain.ms.median,
        identical=True,
    )
