"""Several settings on the same prompts, in turns of one iteration: whoever had the least time goes next.

So at every moment all of them have had the same share of the pair's one thread, and a lane on the page is as
long as it would be with a machine of its own. All of it is done several times: how far the passes differ says
how much can be believed of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any, Protocol, TypeVar

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
        choice: what was chosen, where a visitor chose it.
    """

    name: str
    method: str
    knobs: Mapping[str, int] = field(default_factory=dict)
    more: str = ""
    choice: str = ""


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
        passes: how many times all of it is done, each time from empty pools.
        lanes: by pass and prompt that has begun, one lane per entry.
    """

    def __init__(
        self, entries: Sequence[Entry], plan: Plan, prompts: Sequence[str], *, owner: str, passes: int = 1
    ) -> None:
        super().__init__(owner)
        plain = Entry(name="Plain decoding", method=PLAIN)
        self.entries = (plain, *entries)
        self.plan, self.prompts, self.passes = plan, tuple(prompts), passes
        self.lanes: list[tuple[Lane, ...]] = []

    @property
    def planned(self) -> int:
        """Tokens that will be there at the end, if no text ends early."""
        return self.passes * len(self.prompts) * len(self.entries) * self.plan.max_new_tokens

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
        for _ in range(self.passes):
            yield from self._pass(pair, every)

    def _pass(self, pair: Any, every: Sequence[list[int]]) -> Iterator[None]:
        """All prompts once."""
        pools = [PhrasePool() for _ in self.entries]
        for ids in every:
            if self.cancelled:
                return
            lanes = tuple(Lane(entry) for entry in self.entries)
            try:
                self._line_up(lanes, pair, ids, pools)
                self.lanes.append(lanes)
                yield from self._run(lanes)
            finally:
                for lane in lanes:
                    lane.end()

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
        ratios: speed over plain decoding, all prompts together, by pass.
        each: the same by pass and prompt.
        metrics: of all passes and prompts together; None before the first.
        prompts: how many it has ended.
        same: prompts with the very tokens of plain decoding, whatever the pass.
        differs: the first other token, as prompt and token, from 1; None where there is none.
        failure: why it left.
    """

    entry: Entry
    ratios: tuple[float, ...] = ()
    each: tuple[tuple[float, ...], ...] = ()
    metrics: Metrics | None = None
    prompts: int = 0
    same: int = 0
    differs: tuple[int, int] | None = None
    failure: str = ""

    @property
    def ratio(self) -> float | None:
        """Median of the passes; plain decoding's is 1."""
        return median(self.ratios) if self.ratios else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """Lowest and highest of the passes; None with one pass, which says nothing of that."""
        return (min(self.ratios), max(self.ratios)) if len(self.ratios) > 1 else None

    @property
    def by_prompt(self) -> tuple[float, ...]:
        """Median of the passes, prompt by prompt."""
        return tuple(median(of) for of in zip(*self.each, strict=True))

    @property
    def shares(self) -> tuple[float, float, float]:
        """Time a token in target forwards, draft forwards and elsewhere, where plain decoding takes 100.

        Together they are what the ratio says: 50 at 2×. Where draft and target run at the same time, the
        draft's part is what the target leaves.
        """
        numbers, ratio = self.metrics, self.ratio
        if numbers is None or not ratio or not numbers.total_ms:
            return 0.0, 0.0, 0.0
        unit = 100 / (ratio * numbers.total_ms)
        target = min(numbers.target_ms, numbers.total_ms)
        draft = min(numbers.draft_ms, numbers.total_ms - target)
        return target * unit, draft * unit, (numbers.total_ms - target - draft) * unit


def results(race: Race) -> tuple[Result, ...]:
    """Where everybody stands, plain decoding first; what is still being raced does not count.

    A pass counts when it is whole, so that all of them are of the same prompts; the first one counts as far
    as it has come.
    """
    rounds = [lanes for lanes in tuple(race.lanes) if all(lane.over for lane in lanes)]
    if race.cancelled and race.over:
        rounds = [lanes for lanes in rounds if all(_complete(lane) for lane in lanes)]
    whole = len(race.prompts)
    passes = [rounds[at : at + whole] for at in range(0, len(rounds), whole)]
    known = [one for number, one in enumerate(passes) if number == 0 or len(one) == whole]
    return tuple(_result(entry, place, known) for place, entry in enumerate(race.entries))


class Timed(Protocol):
    """What was measured several times; see `Result`."""

    @property
    def ratio(self) -> float | None: ...  # noqa: D102

    @property
    def ratios(self) -> tuple[float, ...]: ...  # noqa: D102


Measured = TypeVar("Measured", bound=Timed)


def leaders(found: Sequence[Measured]) -> tuple[Measured, ...]:
    """The fastest, first; then all whose passes reach into its own: too close to tell."""
    ran = sorted((one for one in found if one.ratio is not None), key=lambda one: -(one.ratio or 0.0))
    if not ran:
        return ()
    first, *others = ran
    return (first, *(one for one in others if max(one.ratios) >= min(first.ratios)))


def _result(entry: Entry, place: int, passes: Sequence[Sequence[Sequence[Lane]]]) -> Result:
    rounds = [lanes for one in passes for lanes in one]
    failure = next((lanes[place].failure for lanes in rounds if lanes[place].failure), "")
    if failure:
        return Result(entry=entry, failure=failure)
    pairs = [[(lanes[place], lanes[0]) for lanes in one if _timed(lanes, place)] for one in passes]
    pairs = [one for one in pairs if one]
    other = {
        number: (number, _parting(lanes[place].tokens, lanes[0].tokens))
        for one in reversed(passes)
        for number, lanes in enumerate(one, start=1)
        if lanes[place].tokens != lanes[0].tokens
    }
    return Result(
        entry=entry,
        ratios=tuple(_ratio(one) for one in pairs),
        each=tuple(tuple(_ratio([pair]) for pair in one) for one in pairs),
        metrics=merged([lane.metrics for one in pairs for lane, _ in one]),
        prompts=len(passes[0]) if pairs else 0,
        same=len(passes[0]) - len(other) if pairs else 0,
        differs=other[min(other)] if other else None,
    )


def _timed(lanes: Sequence[Lane], place: int) -> bool:
    return bool(lanes[place].ms and lanes[place].tokens and lanes[0].tokens)


def _ratio(pairs: Sequence[tuple[Lane, Lane]]) -> float:
    """Time a token of plain decoding over one's own, of all of them together."""
    return _each([plain for _, plain in pairs]) / _each([lane for lane, _ in pairs])


def _complete(lane: Lane) -> bool:
    return bool(lane.failure) or (lane.trace is not None and lane.trace.finish_reason != "cancelled")


def _each(lanes: Sequence[Lane]) -> float:
    """Milliseconds a token."""
    return sum(lane.ms for lane in lanes) / sum(len(lane.tokens) for lane in lanes)


def _parting(tokens: Sequence[int], plain: Sequence[int]) -> int:
    pairs = zip(tokens, plain, strict=False)
    shorter = min(len(tokens), len(plain))
    return 1 + next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)
