"""How a search looks in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from phrasekit.cli.figures import plain_table
from phrasekit.trace.rates import ABSENT, number
from phrasekit.trace.visible import visible

if TYPE_CHECKING:
    from phrasekit.bench.standings import Spread
    from phrasekit.tune import CostTable, HeatInfo, Progress, TrialRecord, Tuning
    from phrasekit.tune.verdict import Standing

LIVE_TRIALS = 16  # rows of the table while the search runs
SHADES = ("dim", "dim", "", "bold")  # slow to fast; the numbers say the same
LEGEND = (
    "speed: plain = 1, median of the repeats · η: tokens per target forward · c: tokens per draft forward · "
    "same: output as plain decoding"
)


def trials_table(
    trials: Sequence[TrialRecord], best: TrialRecord | None, *, last: int | None = None
) -> Group:
    """One row per trial, the best one bold; `last` shows only the newest."""
    table = plain_table()
    table.add_column("trial", justify="right", no_wrap=True)
    table.add_column("method", no_wrap=True)
    table.add_column("setting", overflow="fold")
    table.add_column("state", no_wrap=True)
    for heading in ("speed", "quartiles", "η", "c", "ms/token", "same"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = list(enumerate(trials, start=1))
    for place, trial in shown if last is None else shown[-last:]:
        style = "bold" if trial is best else "red" if trial.failure else None
        table.add_row(
            str(place),
            trial.method,
            _words(trial.values),
            _state(trial),
            *_speed(trial.ratio),
            number(trial.tokens_per_target_forward),
            number(trial.tokens_per_draft_forward),
            number(trial.ms),
            ABSENT if trial.identical is None else "yes" if trial.identical else "NO",
            style=style,
        )
    failed = [
        Text(f"trial {place} failed: {visible(trial.reason, spaces=False, keep=200)}", style="red")
        for place, trial in (shown if last is None else shown[-last:])
        if trial.failure
    ]
    return _titled("on the calibration prompts", table, Text(LEGEND, style="dim"), *failed)


def _state(trial: TrialRecord) -> str:
    """The state; "kept" is a trial that an earlier search measured."""
    return f"{trial.state}, kept" if trial.reused else trial.state


def heat_table(info: HeatInfo) -> Group:
    """The map of two knobs, best cell bold; a dash was not tried, ✗ failed."""
    from phrasekit.tune.verdict import SYMBOLS

    known = [ratio for line in info.cells for ratio in line if ratio is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    table = plain_table()
    table.add_column(f"{SYMBOLS.get(info.y, info.y)} \\ {SYMBOLS.get(info.x, info.x)}", justify="right")
    for column in info.columns:
        table.add_column(str(column), justify="right", no_wrap=True)
    for row, (value, line) in enumerate(zip(info.rows, info.cells, strict=True)):
        cells = []
        for column, ratio in enumerate(line):
            if ratio is None:
                cells.append(Text("✗" if (row, column) in info.failed else ABSENT))
            else:
                shade = 0.0 if high == low else (ratio - low) / (high - low)
                style = SHADES[min(int(shade * len(SHADES)), len(SHADES) - 1)]
                cells.append(Text(number(ratio), style=style))
        table.add_row(str(value), *cells)
    return _titled(f"speed of {info.method}, plain = 1", table)


def maps(tuning: Tuning) -> Iterator[Group]:
    """A map of every knob against the next one, where both were tried at more than one value."""
    from phrasekit.tune import heat_info

    for plan in tuning.plans:
        for x, y in pairwise(plan.axes):
            info = heat_info(tuning.trials, plan.method, x, y)
            if info is not None and len(info.columns) > 1 and len(info.rows) > 1:
                yield heat_table(info)


def costs_table(costs: CostTable) -> Group:
    """Milliseconds of a forward: models and cached rows down, rows across."""
    table = plain_table()
    table.add_column("model")
    table.add_column("cached", justify="right")
    for rows in costs.rows:
        table.add_column(str(rows), justify="right", no_wrap=True)
    for name in ("target", "draft") if costs.draft else ("target",):
        for context in costs.contexts:
            table.add_row(name, str(context), *(number(costs.ms(name, rows, context)) for rows in costs.rows))
    return _titled("milliseconds of a forward over so many rows", table)


def held_out_table(standings: Sequence[Standing]) -> Group:
    """Settings on the held-out prompts, the chosen one first."""
    table = plain_table()
    table.add_column("who", no_wrap=True)
    table.add_column("method", no_wrap=True)
    table.add_column("setting", overflow="fold")
    for heading in ("speed", "quartiles", "chosen is"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in standings:
        over = ABSENT if one.over is None else f"{number(one.over.median)} × as fast"
        why = visible(f"FAILED: {one.failure}", spaces=False, keep=120) if one.failure else ""
        table.add_row(
            one.name,
            one.method,
            why or _words(one.values),
            *_speed(one.ratio),
            over,
            style="red" if one.failure else "bold" if one.name == "chosen" else None,
        )
    return _titled("on the held-out prompts", table)


def live_view(tuning: Tuning, progress: Progress) -> RenderableType:
    """What to show while a search runs."""
    parts: list[RenderableType] = []
    if tuning.trials:
        parts.append(trials_table(tuning.trials, progress.best, last=LIVE_TRIALS))
    parts += list(maps(tuning))[:1]
    parts.append(Text(status(progress)))
    return Group(*parts)


def status(progress: Progress) -> str:
    """Where the search stands, on one line."""
    if progress.phase == "costs":
        doing = "Measuring what a forward costs"
    elif progress.phase == "held-out":
        doing = f"On held-out prompts, {progress.rounds} of {progress.rounds_planned}"
    else:
        doing = f"{progress.trials} of {progress.planned} trials over"
        if progress.trial is not None and progress.trial.state == "running":
            doing += (
                f", {_words(progress.trial.values)}: {progress.rounds} of {progress.rounds_planned} prompts"
            )
    best = progress.best
    if best is not None and best.ratio is not None:
        doing += f" · best {best.method} {_words(best.values)}: {number(best.ratio.median)} ×"
    return f"{doing} · {progress.seconds:.0f} s"


def _titled(title: str, *parts: RenderableType) -> Group:
    """A title, what belongs below it, and an empty line."""
    return Group(Text(title, style="italic"), *parts, Text())


def _words(values: Mapping[str, object]) -> str:
    from phrasekit.tune.verdict import knob_words

    return knob_words(values)


def _speed(ratio: Spread | None) -> tuple[str, str]:
    if ratio is None:
        return ABSENT, ABSENT
    return f"{number(ratio.median)} ×", f"{number(ratio.low)}-{number(ratio.high)}"
