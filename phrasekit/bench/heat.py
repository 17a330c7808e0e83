"""Before the race: which of a peer's settings it runs at.

The heat runs on some of the prompts that count, so that a peer races at the setting that suits these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from phrasekit.bench.contender import OURS, Contender
from phrasekit.bench.prompts import Task
from phrasekit.bench.runner import Runner
from phrasekit.bench.standings import Table

Start = Callable[[Sequence[Contender], Sequence[Task]], Runner]


@dataclass(frozen=True, kw_only=True)
class Heat:
    """How the settings of the peers did on a few prompts; these runs do not count.

    Attributes:
        entered: who goes on: of every peer with several settings the fastest, and all others.
        speeds: tokens per second of every setting tried.
        failures: why a setting was left behind.
        partial: whether it was interrupted.
    """

    entered: tuple[Contender, ...]
    speeds: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False


def several_settings(contenders: Sequence[Contender]) -> list[Contender]:
    """Peers that take part at more than one setting."""
    counts = Counter(one.family for one in contenders if one.origin != OURS)
    return [one for one in contenders if one.origin != OURS and counts[one.family] > 1]


def evenly(tasks: Sequence[Task], count: int) -> list[Task]:
    """`count` of the tasks, spread over all of them."""
    count = min(count, len(tasks))
    return [tasks[number * len(tasks) // count] for number in range(count)]


def run_heat(contenders: Sequence[Contender], tasks: Sequence[Task], start: Start) -> Heat:
    """Let every setting run these prompts, alternating; the fastest of each peer goes on.

    Args:
        contenders: all who are entered.
        tasks: prompts of the heat; with none, everybody goes on.
        start: makes a runner of contenders and tasks.
    """
    settings = several_settings(contenders)
    if not tasks or not settings:
        return Heat(entered=tuple(contenders))
    outcome = start(settings, tasks).run()
    table = Table(outcome, reference="")
    speeds = {one.name: speed for one in settings if (speed := table.standing(one).speed)}
    best: dict[str, Contender] = {}
    for one in settings:
        if one.name in speeds and (
            one.family not in best or speeds[one.name] > speeds[best[one.family].name]
        ):
            best[one.family] = one
    entered = tuple(one for one in contenders if one not in settings or best.get(one.family) is one)
    return Heat(entered=entered, speeds=speeds, failures=outcome.failures, partial=outcome.partial)
