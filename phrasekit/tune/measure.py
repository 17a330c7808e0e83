"""Settings against plain decoding: every prompt with everyone in turn, so that drift cancels."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from phrasekit.api import decoder
from phrasekit.bench.forwards import Clock
from phrasekit.bench.runner import synchronizer
from phrasekit.bench.samples import Outcome, Sample, merged
from phrasekit.bench.standings import PLAIN, Spread, Table, spread
from phrasekit.decode import Knobs
from phrasekit.lm import Pair
from phrasekit.pool import PhrasePool
from phrasekit.trace import Metrics, Trace, measure
from phrasekit.tune.costs import Work
from phrasekit.tune.prompts import Ids
from phrasekit.tune.records import DIFFERS, ERROR, Cancelled


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Who is measured: a method at a setting, under a name of its own."""

    name: str
    method: str
    knobs: Knobs | None = None


class Unfit(Exception):  # noqa: N818 - a result, not a mistake
    """A setting cannot be used.

    Attributes:
        failure: "differs" or "error".
    """

    def __init__(self, failure: str, reason: str) -> None:
        super().__init__(reason)
        self.failure = failure


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One entry's part of a measurement.

    Attributes:
        ratio: speed over plain decoding, repeat by repeat.
        ms: milliseconds per token, over the repeats.
        metrics: of all counted runs together.
        work: what their forwards looked like.
    """

    ratio: Spread
    ms: Spread
    metrics: Metrics
    work: Work


class Samples:
    """What was measured, by entry."""

    def __init__(self, samples: Sequence[Sample], work: Mapping[str, Work], repeats: int) -> None:
        outcome = Outcome(samples=tuple(samples), repeats=repeats, partial=False, failures={})
        self._samples, self._work = outcome.samples, work
        self._table = Table(outcome, reference=PLAIN)

    def of(self, name: str) -> Measured | None:
        """The part of one entry; None where it was left out."""
        own = [sample for sample in self._samples if sample.contender == name]
        ratio = self.ratio(name, PLAIN)
        metrics = merged([sample.metrics for sample in own if sample.metrics])
        ms = spread(self._milliseconds(own))
        if ratio is None or metrics is None or ms is None:
            return None
        return Measured(ratio=ratio, ms=ms, metrics=metrics, work=self._work[name])

    def ratio(self, name: str, base: str) -> Spread | None:
        """Speed of one entry over that of another, repeat by repeat."""
        return self._table.ratio(name, base)

    def _milliseconds(self, samples: Sequence[Sample]) -> list[float]:
        found = []
        for repeat in sorted({sample.repeat for sample in samples}):
            part = [sample for sample in samples if sample.repeat == repeat]
            tokens = sum(len(sample.tokens) for sample in part)
            if tokens:
                found.append(1e3 * sum(sample.seconds for sample in part) / tokens)
        return found


Rounds = Generator[int, None, Samples]


@dataclass(kw_only=True)
class Meter:
    """Measures entries against plain decoding.

    Attributes:
        pair: models.
        settings: arguments of `phrasekit.decoder`: limits and sampling.
        clock: gives seconds.
        cancelled: asked before every iteration.
        fresh_pool: an empty phrase pool for every prompt instead of one that lives across them.
    """

    pair: Pair
    settings: Mapping[str, Any]
    clock: Clock = perf_counter
    cancelled: Callable[[], bool] = lambda: False
    fresh_pool: bool = False
    failures: dict[str, Unfit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._wait = synchronizer(self.pair)

    def rounds(self, entries: Sequence[Entry], prompts: Sequence[Ids], repeats: int) -> Rounds:
        """Measure; yields how many rounds are over, a round being one prompt with every entry.

        The first prompt runs once more beforehand and is not counted. Pools start empty in every
        repeat. An entry that fails or whose tokens differ from plain decoding's drops out, and
        `failures` says why; with one entry there is then nothing left to do.

        Raises:
            Cancelled: `cancelled` said so.
            Exception: whatever plain decoding raises.
        """
        self.failures = {}
        everyone = [Entry(name=PLAIN, method=PLAIN), *entries]
        samples: list[Sample] = []
        work = {entry.name: Work() for entry in everyone}
        self._round(everyone, prompts[0], 0, 0, self._pools(everyone), {})
        for repeat in range(repeats):
            pools = self._pools(everyone)
            for number, prompt in enumerate(prompts):
                if len(self.failures) == len(entries):
                    return Samples([], work, 0)
                turn = number + repeat  # everyone begins as often as the others
                samples += self._round(everyone, prompt, repeat, turn, pools, work, number)
                yield repeat * len(prompts) + number + 1
        return Samples([one for one in samples if one.contender not in self.failures], work, repeats)

    def _pools(self, entries: Sequence[Entry]) -> dict[str, PhrasePool]:
        return {entry.name: PhrasePool() for entry in entries}

    def _round(
        self,
        entries: Sequence[Entry],
        prompt: Ids,
        repeat: int,
        turn: int,
        pools: Mapping[str, PhrasePool],
        work: dict[str, Work],
        number: int = 0,
    ) -> list[Sample]:
        first = turn % len(entries)
        done: dict[str, Sample] = {}
        for entry in (*entries[first:], *entries[:first]):
            if entry.name in self.failures:
                continue
            try:
                pool = PhrasePool() if self.fresh_pool else pools[entry.name]
                done[entry.name], trace = self._sample(entry, prompt, pool, repeat, number)
            except Unfit as failure:
                self.failures[entry.name] = failure
                continue
            if entry.name in work:
                work[entry.name] += Work.of(trace)
        self._compare(done, number)
        return list(done.values())

    def _sample(
        self, entry: Entry, prompt: Ids, pool: PhrasePool, repeat: int, number: int
    ) -> tuple[Sample, Trace]:
        try:
            self._wait()
            started = self.clock()
            decoding = decoder(
                self.pair, prompt, method=entry.method, knobs=entry.knobs, pool=pool, **self.settings
            )
            while not decoding.finished:
                if self.cancelled():
                    raise Cancelled
                decoding.step()
            self._wait()
            seconds = self.clock() - started
        except Cancelled:
            raise
        except Exception as error:
            if entry.name == PLAIN:  # with nothing to compare with there is no search
                raise
            raise Unfit(ERROR, f"{type(error).__name__}: {error}") from error
        trace = decoding.trace
        sample = Sample(
            contender=entry.name,
            repeat=repeat,
            task=str(number),
            tokens=decoding.tokens,
            seconds=seconds,
            metrics=measure(trace),
        )
        return sample, trace

    def _compare(self, done: Mapping[str, Sample], number: int) -> None:
        right = done[PLAIN].tokens
        for name, sample in done.items():
            if sample.tokens != right:
                place = next(
                    (i for i, (a, b) in enumerate(zip(right, sample.tokens, strict=False)) if a != b),
                    min(len(right), len(sample.tokens)),
                )
                self.failures[name] = Unfit(
                    DIFFERS,
                    f"output differs from plain decoding on prompt {number + 1} at token {place + 1}",
                )
