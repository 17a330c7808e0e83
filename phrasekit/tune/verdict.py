"""What a search comes to, in one sentence: speculate or not, how, how much faster, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from phrasekit.bench.standings import PLAIN, Spread
from phrasekit.trace import Metrics
from phrasekit.tune.costs import Prediction
from phrasekit.tune.ending import Ending
from phrasekit.tune.measure import Measured
from phrasekit.tune.strategy import Value

WORTH = 1.03  # less than this is not worth a second model and its memory
SPECULATE, STAY, OPEN = "speculate", "plain decoding", "open"
SYMBOLS: Mapping[str, str] = {
    "gamma": "γ",
    "window": "W",
    "level": "N",
    "guesses": "G",
    "suffixes": "K",
    "beta": "β",
}

ACCEPTANCE, DRAFTING, ROWS, OWN_WORK = "acceptance", "drafting", "rows", "own work"
_WORDS: Mapping[str, str] = {
    ACCEPTANCE: "acceptance: with every drafted token right it would be {} times as fast as it is",
    DRAFTING: "the cost of drafting: with a free draft it would be {} times as fast as it is",
    ROWS: "rows: with many rows as cheap as one it would be {} times as fast as it is",
    OWN_WORK: "work outside the models' forwards: without it, it would be {} times as fast as it is",
}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A setting on the held-out prompts.

    Attributes:
        name: "chosen", "before" (the pair's setting when the search began), "paper", or the best of
            another method.
        method: name of the method.
        values: the knobs searched, for "paper" its own.
        knobs: every knob.
        measured: the numbers; None where it failed.
        over: speed of the chosen setting over this one, repeat by repeat.
        failure: why there are no numbers.
    """

    name: str
    method: str
    values: Mapping[str, Value]
    knobs: Mapping[str, Any]
    measured: Measured | None
    over: Spread | None = None
    failure: str = ""

    @property
    def ratio(self) -> Spread | None:
        """Speed over plain decoding."""
        return self.measured.ratio if self.measured else None

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        found = self.measured
        return {
            "name": self.name,
            "method": self.method,
            "values": dict(self.values),
            "knobs": dict(self.knobs),
            "ratio": None if found is None else asdict(found.ratio),
            "ms": None if found is None else asdict(found.ms),
            "chosen_over_this": None if self.over is None else asdict(self.over),
            "metrics": None if found is None else found.metrics.as_dict(),
            "failure": self.failure,
        }


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The end of a search.

    Attributes:
        outcome: "speculate", "plain decoding", or "open" where nothing can be told.
        method: the method to use, plain decoding's name where it does not pay.
        values: the knobs that were searched, of the best setting found.
        knobs: every knob of it.
        ratio: speed over plain decoding on the held-out prompts; None where nothing was measured.
        limits: how many times as fast the setting would be with one thing put right, by what that is:
            "acceptance", "drafting", "rows", "own work".
        prediction: what the cost table lets one expect.
        prompts: held-out prompts.
        repeats: repeats of them.
        ending: what the search left out; None where it came to its end.
        sentence: all of it in words.
    """

    outcome: str
    method: str
    values: Mapping[str, Value]
    knobs: Mapping[str, Any]
    ratio: Spread | None
    limits: Mapping[str, float]
    prediction: Prediction | None
    prompts: int
    repeats: int
    ending: Ending | None
    sentence: str

    @property
    def speculate(self) -> bool:
        """Whether it pays on the held-out prompts."""
        return self.outcome == SPECULATE

    @property
    def partial(self) -> bool:
        """Whether the search ended early."""
        return self.ending is not None

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {**asdict(self), "speculate": self.speculate, "partial": self.partial}


def judge(
    chosen: Standing | None,
    *,
    prediction: Prediction | None = None,
    prompts: int = 0,
    repeats: int = 0,
    ending: Ending | None = None,
    known: bool = False,
    tried: int = 0,
    others: Sequence[Standing] = (),
) -> Verdict:
    """The verdict on the best setting found.

    It pays if the lower quartile over the repeats is above 1 and the median at `WORTH` or more. It does not
    if the upper one is below `WORTH`, or the lower one above 1 and the median below `WORTH`. With quartiles
    on both sides nothing can be told.

    Args:
        chosen: on the held-out prompts; None where no trial succeeded.
        prediction: from the cost table.
        prompts: held-out prompts.
        repeats: repeats of them.
        ending: what the search left out.
        known: whether the setting is the one the pair had before the search.
        tried: how many trials it is the best of.
        others: settings beside it; one that is ahead of it is told, and not taken, as only prompts that
            nothing was chosen on tell the truth about it.
    """
    ratio = chosen.ratio if chosen else None
    outcome = _outcome(chosen)
    metrics = chosen.measured.metrics if chosen and chosen.measured else None
    limits = limits_of(metrics, prediction) if metrics else {}
    return Verdict(
        outcome=outcome,
        method=chosen.method if chosen and outcome == SPECULATE else PLAIN,
        values=dict(chosen.values) if chosen else {},
        knobs=dict(chosen.knobs) if chosen else {},
        ratio=ratio,
        limits=limits,
        prediction=prediction,
        prompts=prompts,
        repeats=repeats,
        ending=ending,
        sentence=" ".join(
            [
                _sentence(chosen, outcome, limits, prompts, repeats, _had(known, tried)),
                *_ahead(others),
                *([ending.sentence] if ending else []),
            ]
        ),
    )


def _outcome(chosen: Standing | None) -> str:
    ratio = chosen.ratio if chosen else None
    if ratio is None:
        return STAY if chosen and chosen.failure else OPEN
    if ratio.low > 1:
        return SPECULATE if ratio.median >= WORTH else STAY
    return STAY if ratio.high < WORTH else OPEN


def limits_of(metrics: Metrics, prediction: Prediction | None) -> dict[str, float]:
    """How many times as fast a run would be with one thing put right and all else as it was."""
    found = {}
    if metrics.emitted:
        found[ACCEPTANCE] = (metrics.emitted + metrics.drafted - metrics.accepted) / metrics.emitted
    total = metrics.total_ms
    if total:
        found[DRAFTING] = _without(total, metrics.draft_ms)
        found[OWN_WORK] = _without(total, total - metrics.target_ms - metrics.draft_ms)
        if prediction is not None:
            found[ROWS] = _without(total, metrics.target_ms * (1 - 1 / max(1.0, prediction.rows)))
    return found


def knob_words(values: Mapping[str, object]) -> str:
    """`γ 2, W 0, β 6`."""
    return ", ".join(f"{SYMBOLS.get(name, name)} {value}" for name, value in values.items())


def _without(total: float, part: float) -> float:
    """Speed-up where a part of the time falls away; forwards that overlap leave nothing negative."""
    return total / max(total - max(part, 0.0), total * 1e-3)


def _sentence(
    chosen: Standing | None,
    outcome: str,
    limits: Mapping[str, float],
    prompts: int,
    repeats: int,
    had: str,
) -> str:
    if chosen is None:
        return "Nothing is decided: no setting was measured to the end."
    setting = f"{chosen.method} at {knob_words(chosen.values)}{had}"
    ratio = chosen.ratio
    if ratio is None and chosen.failure:
        return f"Stay with plain decoding: {setting} failed on held-out prompts: {chosen.failure}."
    if ratio is None:
        return f"Nothing is decided: {setting}, the best so far, was not measured on held-out prompts."
    where = f"{_counted(prompts, 'held-out prompt')} ({_range(ratio, repeats)})"
    speed = f"{ratio.median:.2f} times as fast as plain decoding on {where}, with the same tokens"
    if outcome == SPECULATE:
        return f"Speculate, with {setting}: {speed}; {_limit(limits)}."
    if outcome == OPEN:
        return (
            f"Whether speculation pays cannot be told from so few runs: the best setting found, {setting}, "
            f"is {speed}. Take more prompts, more tokens each or more repeats."
        )
    if ratio.high < 1:
        return (
            f"Stay with plain decoding: the best setting found, {setting}, is slower, {speed}; "
            f"{_limit(limits)}."
        )
    return f"Stay with plain decoding: {setting} makes too little difference, {speed}; {_limit(limits)}."


def _had(known: bool, tried: int) -> str:
    if not known:
        return ""
    best = f" and as good as any of the {tried} tried" if tried > 1 else ""
    return f", which is the default already{best}"


def _ahead(others: Sequence[Standing]) -> list[str]:
    """The fastest of those that the chosen setting is behind by its whole interval."""
    ahead = [(one.ratio.median, one) for one in others if one.ratio and one.over and one.over.high < 1]
    if not ahead:
        return []
    ratio, first = max(ahead, key=lambda pair: pair[0])
    told = (
        f"On these prompts {first.method} at {knob_words(first.values)} was ahead of it, {ratio:.2f} times "
        "as fast as plain decoding; more prompts would tell which to take."
    )
    return [told]


def _limit(limits: Mapping[str, float]) -> str:
    if not limits:
        return "what limits it was not seen"
    name, gain = max(limits.items(), key=lambda item: item[1])
    return f"what limits it most is {_WORDS[name].format(f'{gain:.2f}')}"


def _range(ratio: Spread, repeats: int) -> str:
    if repeats == 1:
        return "one repeat"
    return f"quartiles {ratio.low:.2f} to {ratio.high:.2f} over {repeats} repeats"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
