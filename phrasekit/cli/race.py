"""Methods on the same prompts in alternating runs, and where each one stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from phrasekit.cli.prompts import Prompt
from phrasekit.cli.request import Request
from phrasekit.trace import Metrics, Trace, measure
from phrasekit.trace.summary import counted

if TYPE_CHECKING:
    from phrasekit.lm import Pair

PLAIN = "vanilla"


@dataclass(frozen=True, kw_only=True)
class Race:
    """What runs against what.

    Attributes:
        methods: names; plain decoding among them.
        repeats: timed rounds.
        fresh_pool: an empty phrase pool for every prompt, not only for every round.
    """

    request: Request
    prompts: Sequence[Prompt]
    methods: Sequence[str]
    repeats: int = 3
    fresh_pool: bool = False

    def run(
        self, pair: Pair, stopped: Callable[[], bool], progress: Callable[[str], None]
    ) -> dict[str, list[Lap]]:
        """Run one uncounted round on the first prompt, then the timed ones; finished rounds are kept."""
        laps: dict[str, list[Lap]] = {name: [] for name in self.methods}
        if not self._round(pair, self.prompts[:1], stopped, partial(_announce, progress, "warm-up")):
            return laps
        for number in range(self.repeats):
            said = f"round {number + 1} of {self.repeats}"
            done = self._round(pair, self.prompts, stopped, partial(_announce, progress, said))
            if not done:
                break
            for name, lap in done.items():
                laps[name].append(lap)
        return laps

    def _round(
        self,
        pair: Pair,
        prompts: Sequence[Prompt],
        stopped: Callable[[], bool],
        progress: Callable[[str], None],
    ) -> dict[str, Lap]:
        """Every method on every prompt, taking turns; empty where it was stopped."""
        from phrasekit.pool import PhrasePool

        laps = {name: Lap() for name in self.methods}
        pools = {name: PhrasePool() for name in self.methods}
        for prompt in prompts:
            for name, lap in laps.items():
                progress(name)
                started = perf_counter()
                decoding = self.request.decoding(
                    pair, name, prompt, pool=None if self.fresh_pool else pools[name]
                )
                for _ in decoding.follow(stopped):
                    pass
                lap.seconds += perf_counter() - started
                lap.traces.append(decoding.trace)
                if stopped():
                    return {}
        return laps


@dataclass
class Lap:
    """One method's runs over the prompts in one round: wall time, prompt reading included, and traces."""

    seconds: float = 0.0
    traces: list[Trace] = field(default_factory=list)

    @property
    def tokens(self) -> list[tuple[int, ...]]:
        """Generated ids, prompt by prompt."""
        return [trace.tokens for trace in self.traces]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One method's result.

    Attributes:
        seconds: median over the rounds.
        ratio: median over the rounds of plain decoding's time over this method's.
        slowest, fastest: the range of that ratio.
        identical: same tokens as plain decoding in every run.
        metrics: of the last round.
    """

    method: str
    seconds: float
    ratio: float
    slowest: float
    fastest: float
    identical: bool
    metrics: Metrics

    def as_dict(self) -> dict[str, object]:
        """Plain values, metrics included."""
        return {
            "method": self.method,
            "seconds": self.seconds,
            "ratio_to_plain": self.ratio,
            "ratio_range": (self.slowest, self.fastest),
            "identical_to_plain": self.identical,
            "metrics": self.metrics.as_dict(),
        }


def _announce(progress: Callable[[str], None], when: str, method: str) -> None:
    progress(f"{when}: {method}")


def conditions(pair: Pair) -> dict[str, object]:
    """What a number needs beside it: device, threads, precision."""
    import torch

    device = pair.target.device
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "threads": torch.get_num_threads(),
        "dtype": str(pair.target.adapter.dtype).removeprefix("torch."),
        "torch": torch.__version__,
    }


def how_measured(laps: Mapping[str, list[Lap]], pair: Pair, *, fresh_pool: bool) -> str:
    """Say how the numbers came about."""
    rounds = max(map(len, laps.values()))
    emptied = "run" if fresh_pool else "round"
    where = conditions(pair)
    threads = counted(int(str(where["threads"])), "thread")
    return (
        f"Measured by wall time, reading the prompt included: median of {counted(rounds, 'round')} in which "
        "the methods take turns, after an uncounted one; the phrase pool is empty at the start of every "
        f"{emptied}; {where['device']}, {threads}, {where['dtype']}, torch {where['torch']}."
    )


def standings(laps: Mapping[str, list[Lap]]) -> Iterator[Standing]:
    """Where every method stands, in the order they ran; none before the first round is over."""
    plain = laps[PLAIN]
    for name, own in laps.items():
        if own:
            ratios = [base.seconds / lap.seconds for base, lap in zip(plain, own, strict=True)]
            yield Standing(
                method=name,
                seconds=median(lap.seconds for lap in own),
                ratio=median(ratios),
                slowest=min(ratios),
                fastest=max(ratios),
                identical=all(base.tokens == lap.tokens for base, lap in zip(plain, own, strict=True)),
                metrics=measure(*own[-1].traces),
            )
