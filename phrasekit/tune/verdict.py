"""What a search comes to, in one sentence: speculate or not, how, how much faster, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from phrasekit.bench.standings import PLAIN, Spread
from phrasekit.trace import Metrics
from phrasekit.tune.costs import Prediction
from phrasekit.tune.measure import Measured
from phrasekit.tune.strategy import Value

WORTH = 1.03  # less than this is not worth a second model and its memory
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
        speculate: whether it pays on the held-out prompts.
        method: the method to use, plain decoding's name where it does not pay.
        values: the knobs that were searched, of the best setting found.
        knobs: every knob of it.
        ratio: speed over plain decoding on the held-out prompts; None where nothing was measured.
        limits: how many times as fast the setting would be with one thing put right, by what that is:
            "acceptance", "drafting", "rows", "own work".
        prediction: what the cost table lets one expect.
        prompts: held-out prompts.
        repeats: repeats of them.
        partial: whether the search ended early.
        sentence: all of it in a sentence.
    """

    speculate: bool
    method: str
    values: Mapping[str, Value]
    knobs: Mapping[str, Any]
    ratio: Spread | None
    limits: Mapping[str, float]
    prediction: Prediction | None
    prompts: int
    repeats: int
    partial: bool
    sentence: str

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


def judge(
    chosen: Standing | None,
    *,
    prediction: Prediction | None = None,
    prompts: int = 0,
    repeats: int = 0,
    partial: bool = False,
    known: bool = False,
) -> Verdict:
    """The verdict on the best setting found.

    It pays if the lower quartile over the repeats is above 1 and the median at `WORTH` or more.

    Args:
        chosen: on the held-out prompts; None where no trial succeeded.
        prediction: from the cost table.
        prompts: held-out prompts.
        repeats: repeats of them.
        partial: whether the search ended early.
        known: whether the setting is the one the pair had before the search.
    """
    ratio = chosen.ratio if chosen else None
    pays = ratio is not None and ratio.median >= WORTH and ratio.low > 1
    metrics = chosen.measured.metrics if chosen and chosen.measured else None
    limits = limits_of(metrics, prediction) if metrics else {}
    return Verdict(
        speculate=pays,
        method=chosen.method if chosen and pays else PLAIN,
        values=dict(chosen.values) if chosen else {},
        knobs=dict(chosen.knobs) if chosen else {},
        ratio=ratio,
        limits=limits,
        prediction=prediction,
        prompts=prompts,
        repeats=repeats,
        partial=partial,
        sentence=_sentence(chosen, pays, limits, prompts, repeats, partial, known),
    )


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
    pays: bool,
    limits: Mapping[str, float],
    prompts: int,
    repeats: int,
    partial: bool,
    known: bool,
) -> str:
    early = "; the search ended early" if partial else ""
    if chosen is None:
        return f"Stay with plain decoding: no setting was measured to the end{early}."
    had = ", which the pair has already" if known else ""
    setting = f"{chosen.method} at {knob_words(chosen.values)}{had}"
    ratio = chosen.ratio
    if ratio is None:
        why = f": {chosen.failure}" if chosen.failure else ", since the search ended before it"
        return f"Stay with plain decoding: {setting} was not measured on held-out prompts{why}."
    where = f"{_counted(prompts, 'held-out prompt')} ({_range(ratio, repeats)})"
    speed = f"{ratio.median:.2f} times as fast as plain decoding on {where}, with the same tokens"
    limit = _limit(limits)
    if pays:
        return f"Speculate, with {setting}: {speed}; {limit}{early}."
    if ratio.high < 1:
        return f"Do not speculate: the best setting found, {setting}, is {speed}; {limit}{early}."
    return f"Stay with plain decoding: {setting} gains too little to tell, {speed}; {limit}{early}."


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
