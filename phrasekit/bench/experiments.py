"""The experiments of the DOUBLE paper (arXiv 2601.05524), on whatever pair is at hand.

Every experiment is a list of points, each a method at a setting, raced against plain decoding in
alternation. A point keeps its traces, from which come the numbers that the paper reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from phrasekit.bench.contender import Account, OwnMethod
from phrasekit.bench.prompts import Task
from phrasekit.bench.runner import Progress, Runner, synchronizer
from phrasekit.bench.standings import PLAIN, Spread, spread
from phrasekit.bench.suite import CLOCKS
from phrasekit.lm import Pair
from phrasekit.propose import Datastore
from phrasekit.trace import Metrics, RoundMetrics, Trace, measure, measure_rounds, speed_by_forwards
from phrasekit.trace.records import SERIAL, THREADS
from phrasekit.warmup import warm_up

GAMMAS = (1, 2, 3, 4, 6, 8)
DEPTHS = (1, 2, 3, 5, 8, 10, 15, 20)
ROUNDS = (0, 1, 2, 5, 10, 15)
PROMPTS_PER_ROUND = 2  # that a warm-up round decodes


class Point(OwnMethod):
    """A contender that keeps the traces of the repeat it is in."""

    traces: Sequence[Trace] = ()

    def renew(self) -> None:
        """See `Contender.renew`."""
        super().renew()
        self.traces = ()

    def account(self) -> Account:
        """See `Contender.account`."""
        account = super().account()
        if account.trace is not None:
            self.traces = (*self.traces, account.trace)
        return account


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What an experiment stands on.

    Attributes:
        pair: models.
        tasks: prompts that are measured.
        others: prompts to warm a store up on; none of `tasks`.
        max_new_tokens: limit.
        knobs: changes to the tuned knobs, at every point.
        store: texts to retrieve from, at every point that does not bring its own.
        schedule: of every point that does not bring its own.
    """

    pair: Pair
    tasks: Sequence[Task]
    others: Sequence[Task] = ()
    max_new_tokens: int = 128
    knobs: Mapping[str, object] = field(default_factory=dict)
    store: Datastore | None = None
    schedule: str = SERIAL

    def point(
        self,
        name: str,
        method: str,
        *,
        store: Datastore | None = None,
        schedule: str | None = None,
        **knobs: object,
    ) -> Point:
        """A method with some knobs changed."""
        return Point(
            self.pair,
            method,
            knobs={**self.knobs, **knobs},
            max_new_tokens=self.max_new_tokens,
            fresh_pool=True,
            store=self.store if store is None else store,
            schedule=schedule or self.schedule,
            name=name,
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A question and the points that answer it.

    Attributes:
        name: what users type.
        summary: the question.
        points: makes the points; plain decoding is added.
        warms: whether it needs prompts to warm stores up on.
    """

    name: str
    summary: str
    points: Callable[[Ground], Iterable[Point]]
    warms: int = 0


def _ceiling(ground: Ground) -> Iterable[Point]:
    for gamma in GAMMAS:
        for method in ("pearl", "double"):
            for schedule in (SERIAL, THREADS) if ground.schedule == SERIAL else (SERIAL, ground.schedule):
                yield ground.point(f"{method} γ={gamma} {schedule}", method, schedule=schedule, gamma=gamma)


def _ablation(ground: Ground) -> Iterable[Point]:
    names = ("double", "double-no-retrieval", "double-no-guide", "double-no-rejected", "double-ouroboros")
    for name in (*names, "pearl", "speculative"):
        yield ground.point(name, name)


def _depth(ground: Ground) -> Iterable[Point]:
    return (ground.point(f"d={depth}", "double", depth=depth) for depth in DEPTHS)


def _rejected(ground: Ground) -> Iterable[Point]:
    yield ground.point("rejected cache on", "double")
    yield ground.point("rejected cache off", "double-no-rejected")


def _rounds(ground: Ground) -> Iterable[Point]:
    """A store after K warm-up rounds; each round decodes prompts that no other one, and no task, has."""
    store, done = Datastore(fingerprint=ground.pair.fingerprint), 0
    for rounds in ROUNDS:
        fresh = ground.others[done * PROMPTS_PER_ROUND : rounds * PROMPTS_PER_ROUND]
        prompts = [task.ids for task in fresh]
        for _ in warm_up(
            ground.pair, store, prompts, rounds=rounds - done, max_new_tokens=ground.max_new_tokens
        ):
            pass
        done = rounds
        yield ground.point(f"K={rounds}", "double", store=_copy(store))


def _copy(store: Datastore) -> Datastore:
    return Datastore.restore(
        *store.contents(), capacity=store.capacity, ngram=store.ngram, fingerprint=store.fingerprint
    )


EXPERIMENTS: Mapping[str, Experiment] = {
    one.name: one
    for one in (
        Experiment(
            name="ceiling",
            summary="speed against γ: PEARL under the ceiling C, DOUBLE past it",
            points=_ceiling,
        ),
        Experiment(name="ablation", summary="DOUBLE without each of its parts", points=_ablation),
        Experiment(name="depth", summary="tokens retrieved per query, d", points=_depth),
        Experiment(
            name="rounds",
            summary="warm-up rounds of the datastore, K",
            points=_rounds,
            warms=max(ROUNDS) * PROMPTS_PER_ROUND,
        ),
        Experiment(name="rejected", summary="the cache of thrown-away drafts on and off", points=_rejected),
    )
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a point gave.

    Attributes:
        name: of the point.
        settings: method, knobs, schedule.
        times_plain: measured speed over plain decoding's; median and quartiles over repeats.
        modelled: the same with perfect overlap, from this point's own lanes; None for other methods.
        by_forwards: the same by forwards alone, at this run's C; None for other methods.
        identical: whether every token was plain decoding's.
        metrics: of all prompts together.
        rounds: of all prompts together.
        trace: of the first prompt.
    """

    name: str
    settings: Mapping[str, object]
    times_plain: Spread
    modelled: float | None
    by_forwards: float | None
    identical: bool
    metrics: Metrics
    rounds: RoundMetrics
    trace: Trace

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON; without the trace."""
        return {
            "name": self.name,
            "settings": dict(self.settings),
            "times_plain": [self.times_plain.low, self.times_plain.median, self.times_plain.high],
            "modelled": self.modelled,
            "by_forwards": self.by_forwards,
            "identical": self.identical,
            "metrics": self.metrics.as_dict(),
            "rounds": self.rounds.as_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What an experiment gave.

    Attributes:
        experiment: its name.
        results: one per point, in order.
        ceiling: C, from one-row forwards of this run.
        partial: whether it was interrupted.
        failures: why a point had to leave.
    """

    experiment: str
    results: tuple[Result, ...]
    ceiling: float | None
    partial: bool
    failures: Mapping[str, str]

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "experiment": self.experiment,
            "ceiling": self.ceiling,
            "partial": self.partial,
            "failures": dict(self.failures),
            "results": [result.as_dict() for result in self.results],
        }


def run_experiment(
    experiment: Experiment,
    ground: Ground,
    *,
    repeats: int = 3,
    warmup: Sequence[Task] = (),
    clock: str = "wall",
    progress: Progress = lambda _: None,
) -> Findings:
    """Race the points against plain decoding; Ctrl-C ends it and keeps finished rounds.

    Raises:
        ValueError: the pair has no draft model, or a setting out of range.
    """
    plain = ground.point(PLAIN, PLAIN)
    points = [plain, *experiment.points(ground)]
    outcome = Runner(
        contenders=points,
        tasks=ground.tasks,
        repeats=repeats,
        warmup=warmup,
        clock=CLOCKS[clock],
        synchronize=synchronizer(ground.pair),
        progress=progress,
    ).run()
    finished = {sample.task for sample in outcome.samples}
    tokens = {(one.contender, one.task): one.tokens for one in outcome.samples}
    seconds: dict[str, dict[int, float]] = {}
    for one in outcome.samples:
        laps = seconds.setdefault(one.contender, {})
        laps[one.repeat] = laps.get(one.repeat, 0.0) + one.seconds
    ceiling = _measured_ceiling(points)
    results = []
    for point in points:
        laps = seconds.get(point.name, {})
        times = spread(seconds[PLAIN][repeat] / laps[repeat] for repeat in laps)
        if times is not None:
            same = all(tokens[point.name, task] == tokens[PLAIN, task] for task in finished)
            results.append(_result(point, times, ceiling, identical=same))
    return Findings(
        experiment=experiment.name,
        results=tuple(results),
        ceiling=ceiling,
        partial=outcome.partial,
        failures=outcome.failures,
    )


def _result(point: Point, times: Spread, ceiling: float | None, *, identical: bool) -> Result:
    rounds = measure_rounds(*point.traces)
    gain = rounds.modelled_gain
    return Result(
        name=point.name,
        settings=point.settings,
        times_plain=times,
        modelled=None if gain is None else gain * times.median,
        by_forwards=speed_by_forwards(*point.traces, ratio=ceiling) if ceiling else None,
        identical=identical,
        metrics=measure(*point.traces),
        rounds=rounds,
        trace=point.traces[0],
    )


def _measured_ceiling(points: Sequence[Point]) -> float | None:
    """C by the medians of one-row forwards, all of them of this run."""
    runs = [one for point in points for trace in point.traces for one in trace.iterations]
    targets = [one.forward.ms for one in runs if one.forward.rows == 1]
    drafts = [inner.forward.ms for one in runs for inner in one.draft if inner.forward.rows == 1]
    return median(targets) / median(drafts) if targets and drafts else None
