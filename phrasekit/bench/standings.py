"""Where every contender stands: medians over the repeats, their spread, and ratios within a repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles

from phrasekit.bench.contender import OURS, Contender
from phrasekit.bench.samples import Outcome, Sample, merged
from phrasekit.trace import Metrics

GENERATE, PLAIN = "generate", "vanilla"


@dataclass(frozen=True, slots=True)
class Spread:
    """A median over repeats and the quartiles around it; all three are equal for a single repeat."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The numbers of one contender.

    Attributes:
        name: see `Contender`.
        family: see `Contender`.
        origin: see `Contender`.
        settings: see `Contender`.
        tokens_per_second: generated tokens over wall time, the prompt's included.
        times_generate: speed over that of transformers' generate in the same repeat.
        times_plain: speed over that of phrasekit's plain decoding in the same repeat.
        tokens_per_target_forward: the forward that reads the prompt counts too.
        draft_forwards_per_token: None where nobody could count.
        outside: share of the time outside all models' forwards; None where that cannot be told.
        differing: prompts with other tokens than the reference; None for lack of a reference.
        prompts: prompts measured.
        metrics: of all counted runs together, for phrasekit's own methods.
        recording: share of an iteration spent on making records; None where not measured.
        strict: share of the time outside the models' layers and heads; None where not measured.
        failure: why it left, "" if it did not.
    """

    name: str
    family: str
    origin: str
    settings: Mapping[str, object]
    tokens_per_second: Spread | None = None
    times_generate: Spread | None = None
    times_plain: Spread | None = None
    tokens_per_target_forward: float | None = None
    draft_forwards_per_token: float | None = None
    outside: float | None = None
    differing: int | None = None
    prompts: int = 0
    metrics: Metrics | None = None
    recording: float | None = None
    strict: float | None = None
    failure: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is a method of phrasekit."""
        return self.origin == OURS

    @property
    def speed(self) -> float:
        """Median tokens per second, 0 where nothing was measured."""
        return self.tokens_per_second.median if self.tokens_per_second else 0.0

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        values = asdict(self)
        values["metrics"] = self.metrics.as_dict() if self.metrics else None
        return values


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The speed of one contender over that of another."""

    faster: str
    slower: str
    times: Spread


class Table:
    """The samples of an outcome by contender, repeat and prompt.

    Medians are over whole repeats; only when none was finished, over what there is of the first.

    Args:
        outcome: what was measured.
        reference: contender whose tokens are the right ones.
    """

    def __init__(self, outcome: Outcome, *, reference: str) -> None:
        self.reference = reference
        self._failures = outcome.failures
        counted = [sample for sample in outcome.samples if sample.repeat < max(1, outcome.repeats)]
        self._by_name: dict[str, list[Sample]] = {}
        for sample in counted:
            self._by_name.setdefault(sample.contender, []).append(sample)
        self._speeds = {name: _by_repeat(samples) for name, samples in self._by_name.items()}
        self._right = {sample.task: sample.tokens for sample in reversed(self._by_name.get(reference, []))}

    def standing(
        self, contender: Contender, *, recording: float | None = None, strict: float | None = None
    ) -> Standing:
        """The numbers of one contender."""
        name = contender.name
        samples = self._by_name.get(name, [])
        tokens = sum(len(sample.tokens) for sample in samples)
        inside = _total(samples, lambda sample: sample.forward_seconds)
        seconds = sum(sample.seconds for sample in samples)
        return Standing(
            name=name,
            family=contender.family,
            origin=contender.origin,
            settings=dict(contender.settings),
            tokens_per_second=spread(self._speeds.get(name, {}).values()),
            times_generate=self.ratio(name, GENERATE),
            times_plain=self.ratio(name, PLAIN),
            tokens_per_target_forward=_over(tokens, _total(samples, lambda sample: sample.target_forwards)),
            draft_forwards_per_token=_share(_total(samples, lambda sample: sample.draft_forwards), tokens),
            outside=None if inside is None or not seconds else max(0.0, 1 - inside / seconds),
            differing=self._differing(samples),
            prompts=len({sample.task for sample in samples}),
            metrics=merged([sample.metrics for sample in samples if sample.metrics]),
            recording=recording,
            strict=strict,
            failure=self._failures.get(name, ""),
        )

    def ratio(self, name: str, base: str) -> Spread | None:
        """Speed over the base's, repeat by repeat."""
        mine, theirs = self._speeds.get(name, {}), self._speeds.get(base, {})
        return spread(speed / theirs[repeat] for repeat, speed in mine.items() if theirs.get(repeat))

    def compare(self, faster: Standing | None, slower: Standing | None) -> Comparison | None:
        """One standing over another; None where either is missing or both are the same."""
        if faster is None or slower is None or faster.name == slower.name:
            return None
        times = self.ratio(faster.name, slower.name)
        return None if times is None else Comparison(faster=faster.name, slower=slower.name, times=times)

    def _differing(self, samples: Sequence[Sample]) -> int | None:
        if not self._right or not samples:
            return None
        wrong = {sample.task for sample in samples if sample.tokens != self._right[sample.task]}
        return len(wrong)


def comparisons(table: Table, standings: Sequence[Standing]) -> tuple[Comparison, ...]:
    """The comparisons that people ask for, every peer at its fastest setting."""
    ours = {standing.name: standing for standing in standings if standing.ours}
    best = {standing.family: standing for standing in fastest(standings)}
    pairs = [
        (ours.get(PLAIN), best.get(GENERATE)),
        (ours.get("prompt_lookup"), best.get("lookup")),
        (ours.get("speculative"), best.get("assisted")),
        (ours.get("ouroboros"), ours.get("speculative")),
        (ours.get("ouroboros"), ours.get(PLAIN)),
        (ours.get("ouroboros"), best.get("assisted")),
        (_first(standings, ours=True), _first(standings, ours=False)),
    ]
    found = [table.compare(faster, slower) for faster, slower in pairs]
    return tuple(dict.fromkeys(comparison for comparison in found if comparison is not None))


def fastest(standings: Sequence[Standing]) -> list[Standing]:
    """One standing per family, its fastest, in the order given."""
    best: dict[str, Standing] = {}
    for standing in standings:
        held = best.get(standing.family)
        if held is None or standing.speed > held.speed:
            best[standing.family] = standing
    return list(best.values())


def spread(values: Iterable[float]) -> Spread | None:
    """Median and quartiles, None of nothing."""
    found = sorted(values)
    if not found:
        return None
    if len(found) == 1:
        return Spread(found[0], found[0], found[0])
    low, _, high = quantiles(found, n=4, method="inclusive")
    return Spread(median(found), low, high)


def _by_repeat(samples: Sequence[Sample]) -> dict[int, float]:
    """Tokens per second of every repeat."""
    totals: dict[int, tuple[int, float]] = {}
    for sample in samples:
        tokens, seconds = totals.get(sample.repeat, (0, 0.0))
        totals[sample.repeat] = tokens + len(sample.tokens), seconds + sample.seconds
    return {repeat: tokens / seconds for repeat, (tokens, seconds) in totals.items() if seconds}


def _total(samples: Sequence[Sample], part: Callable[[Sample], float | None]) -> float | None:
    """Sum over the samples; None where one does not know."""
    values = [value for value in map(part, samples) if value is not None]
    return sum(values) if samples and len(values) == len(samples) else None


def _over(whole: float, part: float | None) -> float | None:
    return whole / part if part else None


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None or not whole else part / whole


def _first(standings: Sequence[Standing], *, ours: bool) -> Standing | None:
    """The fastest of either side."""
    side = [standing for standing in standings if standing.ours == ours and standing.speed]
    return max(side, key=lambda standing: standing.speed, default=None)
