"""Several settings on the same prompts, in turns of one iteration: whoever had the least time goes next.

So at every moment all of them have had the same share of the pair's one thread, and a lane on the page is as
long as it would be with a machine of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median, quantiles
from typing import Any

from dashboard.jobs.job import Job, told
from dashboard.jobs.run import PLAIN, Plan
from phrasekit import Decoding
from phrasekit.bench.samples import merged
from phrasekit.pool import PhrasePool
from phrasekit.trace import Iteration, Metrics, Trace, measure

log = logging.getLogger("phrasekit.dashboard")

WARM = 2  # iterations of everybody that do not count: the first forwards of a process are slow


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Who races.

    Attributes:
        name: what to call it.
        method: name of the method.
        knobs: those that were moved; the others are the pair's tuned ones, or the method's own.
        more: the setting, short.
    """

    name: str
    method: str
    knobs: Mapping[str, int] = field(default_factory=dict)
    more: str = ""


@dataclass(eq=False)
class Lane:
    """One entry on one prompt.

    Attributes:
        entry: whose it is.
        iterations: so far.
        trace: the whole run, once it ended.
        failure: why there is none.
    """

    entry: Entry
    iterations: list[Iteration] = field(default_factory=list)
    trace: Trace | None = None
    failure: str = ""
    _decoding: Decoding | None = None
    _ms: float = 0.0

    @property
    def over(self) -> bool:
        """Whether it ended, however it did."""
        return self.trace is not None or bool(self.failure)

    @property
    def ms(self) -> float:
        """Milliseconds that it has had."""
        return self._ms

    @property
    def tokens(self) -> tuple[int, ...]:
        """Generated so far."""
        return tuple(token for one in tuple(self.iterations) for token in one.emitted)

    @cached_property
    def metrics(self) -> Metrics:
        """Its numbers, once it has ended.

        Raises:
            RuntimeError: it goes on.
        """
        if self.trace is None:
            raise RuntimeError("a lane must end before it is measured, but this one goes on; wait for it")
        return measure(self.trace)

    def begin(self, pair: Any, plan: Plan, ids: list[int], pool: PhrasePool) -> None:
        """Make ready for the first iteration."""
        try:
            self._decoding = plan.decoding(pair, ids, pool=pool)
        except ValueError as error:
            self.failure = told(error)

    def step(self) -> None:
        """One iteration."""
        decoding = self._decoding
        if decoding is None:
            raise RuntimeError("a lane must begin before it steps, but this one has not; call begin")
        try:
            iteration = decoding.step()
        except Exception as error:
            log.warning("a lane failed", exc_info=True)
            self.failure = told(error)
            self.end()
            return
        self._ms += iteration.ms
        self.iterations.append(iteration)
        if decoding.finished:
            self.end()

    def end(self) -> None:
        """Keep what was made, and let models and caches go."""
        decoding, self._decoding = self._decoding, None
        if decoding is not None:
            decoding.cancel()
            self.trace = decoding.trace


class Race(Job):
    """Every entry on every prompt, plain decoding first among them.

    Attributes:
        entries: who races.
        plan: what they have in common.
        prompts: texts.
        lanes: by prompt that has begun, one lane per entry.
    """

    def __init__(self, entries: Sequence[Entry], plan: Plan, prompts: Sequence[str], *, owner: str) -> None:
        super().__init__(owner)
        plain = Entry(name="Plain decoding", method=PLAIN)
        self.entries = (plain, *entries)
        self.plan, self.prompts = plan, tuple(prompts)
        self.lanes: list[tuple[Lane, ...]] = []

    @property
    def planned(self) -> int:
        """Tokens that will be there at the end, if no text ends early."""
        return len(self.prompts) * len(self.entries) * self.plan.max_new_tokens

    @property
    def made(self) -> int:
        """Of them, those that are there; a text that ended early counts whole."""
        whole = self.plan.max_new_tokens
        lanes = [lane for round_ in tuple(self.lanes) for lane in round_]
        return sum(whole if lane.over else len(lane.tokens) for lane in lanes)

    def work(self, pair: Any) -> Iterator[None]:
        """One iteration of one lane a step."""
        every = [replace(self.plan, prompt=prompt).encode(pair) for prompt in self.prompts]
        yield from self._warm(pair, every[0])
        pools = [PhrasePool() for _ in self.entries]
        for ids in every:
            lanes = tuple(Lane(entry) for entry in self.entries)
            try:
                self._line_up(lanes, pair, ids, pools)
                self.lanes.append(lanes)
                yield from self._run(lanes)
            finally:
                for lane in lanes:
                    lane.end()
            if self.cancelled:
                return

    def _warm(self, pair: Any, ids: list[int]) -> Iterator[None]:
        lanes = [Lane(entry) for entry in self.entries]
        try:
            self._line_up(lanes, pair, ids, [PhrasePool() for _ in lanes])
            for lane in lanes:
                for _ in range(WARM):
                    if not lane.over and not self.cancelled:
                        lane.step()
                        yield
        finally:
            for lane in lanes:
                lane.end()

    def _line_up(self, lanes: Sequence[Lane], pair: Any, ids: list[int], pools: Sequence[PhrasePool]) -> None:
        for lane, pool in zip(lanes, pools, strict=True):
            entry = lane.entry
            lane.begin(pair, replace(self.plan, method=entry.method, knobs=entry.knobs), ids, pool)

    def _run(self, lanes: Sequence[Lane]) -> Iterator[None]:
        """To the end of the prompt, or to an error of plain decoding, without which there is no comparing."""
        while not self.cancelled and not lanes[0].failure:
            open_ = [lane for lane in lanes if not lane.over]
            if not open_:
                return
            min(open_, key=lambda lane: lane.ms).step()
            self.changed()
            yield
        if lanes[0].failure:
            raise RuntimeError(lanes[0].failure)


@dataclass(frozen=True, kw_only=True)
class Result:
    """How an entry did on the prompts that it and plain decoding have ended.

    Attributes:
        entry: whose it is.
        prompts: how many they are.
        ratios: speed over plain decoding, by prompt.
        metrics: of all of them together; None before the first.
        plain_ms: milliseconds a token of plain decoding.
        same: prompts with the very tokens of plain decoding.
        differs: where the first other one differs, as prompt and token, from 1; None where none does.
        failure: why it left.
    """

    entry: Entry
    prompts: int = 0
    ratios: tuple[float, ...] = ()
    metrics: Metrics | None = None
    plain_ms: float = 0.0
    same: int = 0
    differs: tuple[int, int] | None = None
    failure: str = ""

    @property
    def ratio(self) -> float | None:
        """Median over the prompts; plain decoding's is 1."""
        return median(self.ratios) if self.ratios else None

    @property
    def middle(self) -> tuple[float, float] | None:
        """The middle half of the prompts."""
        if len(self.ratios) < 3:
            return None
        low, _, high = quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def shares(self) -> tuple[float, float, float]:
        """Time a token in target forwards, draft forwards and elsewhere; plain decoding takes 100.

        Where both run at the same time, the draft's part is what the target leaves.
        """
        numbers = self.metrics
        if numbers is None or not numbers.emitted or not self.plain_ms:
            return 0.0, 0.0, 0.0
        unit = 100 / (numbers.emitted * self.plain_ms)
        target = min(numbers.target_ms, numbers.total_ms)
        draft = min(numbers.draft_ms, numbers.total_ms - target)
        return target * unit, draft * unit, (numbers.total_ms - target - draft) * unit


def results(race: Race) -> tuple[Result, ...]:
    """Where everybody stands, plain decoding first; prompts that are still being raced do not count."""
    rounds = [lanes for lanes in tuple(race.lanes) if all(lane.over for lane in lanes)]
    if race.cancelled and race.over:
        rounds = [lanes for lanes in rounds if all(_complete(lane) for lane in lanes)]
    return tuple(_result(entry, place, rounds) for place, entry in enumerate(race.entries))


def _result(entry: Entry, place: int, rounds: Sequence[Sequence[Lane]]) -> Result:
    failure = next((lanes[place].failure for lanes in rounds if lanes[place].failure), "")
    if failure:
        return Result(entry=entry, failure=failure)
    pairs = [(lanes[place], lanes[0]) for lanes in rounds if lanes[place].tokens and lanes[0].tokens]
    plain = merged([other.metrics for _, other in pairs])
    return Result(
        entry=entry,
        prompts=len(pairs),
        ratios=tuple(_each(other) / _each(lane) for lane, other in pairs if lane.ms),
        metrics=merged([lane.metrics for lane, _ in pairs]),
        plain_ms=plain.total_ms / plain.emitted if plain is not None and plain.emitted else 0.0,
        same=sum(lane.tokens == other.tokens for lane, other in pairs),
        differs=next(
            (
                (number, _parting(lane.tokens, other.tokens))
                for number, (lane, other) in enumerate(pairs, start=1)
                if lane.tokens != other.tokens
            ),
            None,
        ),
    )


def _complete(lane: Lane) -> bool:
    return bool(lane.failure) or (lane.trace is not None and lane.trace.finish_reason != "cancelled")


def _each(lane: Lane) -> float:
    return lane.ms / len(lane.tokens)


def _parting(tokens: Sequence[int], plain: Sequence[int]) -> int:
    pairs = zip(tokens, plain, strict=False)
    shorter = min(len(tokens), len(plain))
    return 1 + next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)
