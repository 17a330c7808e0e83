"""The schedule: for each prompt every contender once, taking turns who begins, all of it repeated.

Machines drift, so whoever is compared must run close together: a round is one prompt with every
contender, and only finished rounds count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter, process_time

import torch

from phrasekit.bench.contender import Contender
from phrasekit.bench.forwards import Clock, ForwardMeter
from phrasekit.bench.prompts import Task
from phrasekit.bench.samples import Outcome, Sample
from phrasekit.lm import Pair
from phrasekit.trace import measure

Progress = Callable[[str], None]


def synchronizer(pair: Pair) -> Callable[[], None]:
    """Waits until the pair's devices have done what was queued."""
    devices = {model.device for model in (pair.target, pair.draft, pair.smaller) if model is not None}
    gpus = [device for device in devices if device.type == "cuda"]

    def wait() -> None:
        for device in gpus:
            torch.cuda.synchronize(device)

    return wait


def _nothing() -> None:
    pass


def _unheard(name: str) -> None:
    pass


@dataclass(kw_only=True)
class Runner:
    """Runs contenders on tasks.

    Attributes:
        contenders: who takes part; names are unique.
        tasks: measured prompts.
        repeats: times everything is done.
        warmup: prompts run first and not counted.
        meter: counts forwards; None counts none.
        clock: gives seconds.
        synchronize: waits for the devices.
        progress: told the contender's name after every generation.
    """

    contenders: Sequence[Contender]
    tasks: Sequence[Task]
    repeats: int = 3
    warmup: Sequence[Task] = ()
    meter: ForwardMeter | None = None
    clock: Clock = perf_counter
    synchronize: Callable[[], None] = _nothing
    progress: Progress = _unheard
    failures: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [contender.name for contender in self.contenders]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"contenders must have names of their own, but got {', '.join(names) or 'none'}")
        if not self.tasks or self.repeats < 1:
            raise ValueError(
                f"a run needs prompts and repeats, but got {len(self.tasks)} and {self.repeats} of them"
            )

    def run(self) -> Outcome:
        """Measure; Ctrl-C ends it and keeps the finished rounds."""
        samples: list[Sample] = []
        repeats, partial = 0, False
        try:
            for number, task in enumerate(self.warmup):
                self._round(task, 0, number)
            for repeat in range(self.repeats):
                self._renew()
                for number, task in enumerate(self.tasks):
                    samples += self._round(task, repeat, number + repeat)
                repeats += 1
        except KeyboardInterrupt:
            partial = True
        kept = tuple(sample for sample in samples if sample.contender not in self.failures)
        return Outcome(samples=kept, repeats=repeats, partial=partial, failures=dict(self.failures))

    def _renew(self) -> None:
        for contender in self.contenders:
            contender.renew()

    def _round(self, task: Task, repeat: int, turn: int) -> list[Sample]:
        """One prompt for everybody who is still in."""
        first = turn % len(self.contenders)
        done = []
        for contender in (*self.contenders[first:], *self.contenders[:first]):
            if contender.name not in self.failures:
                try:
                    done.append(self._sample(contender, task, repeat))
                except Exception as error:  # noqa: BLE001 - a peer may fail in any way; the others go on
                    self.failures[contender.name] = f"{type(error).__name__}: {error}"
            self.progress(contender.name)
        return done

    def _sample(self, contender: Contender, task: Task, repeat: int) -> Sample:
        watch = self.meter.watch() if self.meter and contender.hooked else nullcontext(None)
        with watch as seen:
            self.synchronize()
            started = self.clock()
            tokens = contender.generate(task.ids)
            self.synchronize()
            seconds = self.clock() - started
        account = contender.account()
        # a trace times its forwards by the wall clock
        inside = account.forward_seconds if self.clock is not process_time else None
        return Sample(
            contender=contender.name,
            repeat=repeat,
            task=task.id,
            tokens=tuple(tokens),
            seconds=seconds,
            target_forwards=_count(account.target_forwards, seen.target if seen else None),
            draft_forwards=_count(account.draft_forwards, seen.draft if seen else None),
            forward_seconds=seen.seconds if seen else inside,
            steps=account.steps,
            metrics=None if account.trace is None else measure(account.trace),
        )


def _count(told: int | None, seen: int | None) -> int | None:
    """What the contender tells goes first: it may call the model where hooks do not see it."""
    return seen if told is None else told
