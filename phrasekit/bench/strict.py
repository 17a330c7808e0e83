"""Own work, counted strictly: whatever a method does outside the layers and heads of its models.

A trace counts masks, positions, ids and picks with the forward they are for. Here they are our own work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

from phrasekit.bench.contender import Contender
from phrasekit.bench.forwards import Clock, ForwardMeter
from phrasekit.bench.prompts import Task
from phrasekit.lm import Pair
from phrasekit.lm.lean import LeanForward


@dataclass(slots=True)
class ModelTime:
    """Seconds inside the models of a pair."""

    seconds: float = 0.0


def strict_share(
    contender: Contender, pair: Pair, tasks: Sequence[Task], *, clock: Clock = perf_counter
) -> float | None:
    """Share of a generation outside the models' layers and heads: the median over these prompts.

    None where forwards return before the work is done, so that their time cannot be told.
    """
    if pair.target.device.type != "cpu":
        return None
    contender.renew()
    shares = []
    for task in tasks:
        with timed_models(pair, clock) as inside:
            started = clock()
            contender.generate(task.ids)
            spent = clock() - started
        if spent > 0:
            shares.append(max(0.0, 1 - inside.seconds / spent))
    return median(shares) if shares else None


@contextmanager
def timed_models(pair: Pair, clock: Clock = perf_counter) -> Iterator[ModelTime]:
    """Time layers and heads in the block: lean ones where they are called, others by hooks.

    A hook on a model that runs lean would send it through transformers.
    """
    time = ModelTime()

    def timed(name: str) -> Any:
        plain = getattr(LeanForward, name)

        def run(self: LeanForward, *args: Any) -> Any:
            started = clock()
            result = plain(self, *args)
            time.seconds += clock() - started
            return result

        return patch.object(LeanForward, name, run)

    def note(seconds: float) -> None:
        time.seconds += seconds

    meter = ForwardMeter(pair, clock=clock)
    with ExitStack() as stack:
        for name in ("forward", "head"):
            stack.enter_context(timed(name))
        for model in (pair.target, pair.draft, pair.smaller):
            if model is not None and model.adapter.lean is None:
                stack.enter_context(meter.hooked(model, note))
        yield time
