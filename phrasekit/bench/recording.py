"""What recording costs: the part of every step that makes records, timed where it happens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from unittest.mock import patch

from phrasekit.bench.contender import Contender
from phrasekit.bench.forwards import Clock
from phrasekit.bench.prompts import Task
from phrasekit.decode import Decoder
from phrasekit.trace import Iteration


@dataclass(slots=True)
class StepTime:
    """Seconds of all target steps, and of making records in them and in the draft steps inside."""

    total: float = 0.0
    records: float = 0.0

    @property
    def share(self) -> float | None:
        """Part of an iteration that goes into records; None before the first."""
        return self.records / self.total if self.total else None


def recording_share(
    contender: Contender, tasks: Sequence[Task], *, clock: Clock = perf_counter
) -> float | None:
    """Share of an iteration that `contender` spends on its records: the median over these prompts."""
    contender.renew()
    shares = []
    for task in tasks:
        with timed_steps(clock) as time:
            contender.generate(task.ids)
        if time.share is not None:
            shares.append(time.share)
    return median(shares) if shares else None


@contextmanager
def timed_steps(clock: Clock = perf_counter) -> Iterator[StepTime]:
    """Time every `Decoder.step` in the block.

    A step times its phases itself, propose to learn, and builds its records behind them; so what a
    step takes beyond its phases is the records' cost, plus a few comparisons at its entry: an upper
    bound. Draft steps happen inside a target step's propose phase; theirs is added.
    """
    time = StepTime()
    plain = Decoder.step
    depth = 0

    def step(self: Decoder, *, room: int | None = None) -> Iteration:
        nonlocal depth
        depth += 1
        started = clock()
        try:
            iteration = plain(self, room=room)
        finally:
            depth -= 1
        spent = clock() - started
        time.records += max(0.0, spent - iteration.ms / 1e3) + iteration.phases.get("record", 0.0) / 1e3
        if depth == 0:
            time.total += spent
        return iteration

    with patch.object(Decoder, "step", step):
        yield time
