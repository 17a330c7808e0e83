"""A search as markup: trials with their states, the best so far, maps of two knobs, the held-out prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, log2
from pathlib import Path

from dashboard.jobs.search import SearchRun
from phrasekit.tune import HeatInfo, Progress, TrialRecord, heat_info
from phrasekit.tune.records import FAILED, RUNNING
from phrasekit.tune.verdict import SYMBOLS, Standing, knob_words
from phrasekit.views.escape import escape

STYLE = (Path(__file__).parent / "search.css").read_text("utf-8")
HEAD = (
    "trial",
    "setting",
    "state",
    "speed",
    "middle half",
    "tokens per<br>target forward",
    "tokens per<br>draft forward",
    "ms per token",
    "same text",
)
HELD_OUT = 3  # trials that the held-out prompts are worth, on the bar
FACING = {
    "chosen": "chosen",
    "before": "the pair's own setting",
    "paper": "the paper's defaults",
}


def trials_table(run: SearchRun) -> str:
    """A row per trial, the newest first, the best marked."""
    best = run.best
    rows = [_row(number, one, one is best) for number, one in enumerate(run.trials, start=1)]
    progress = run.progress
    if run.active and progress is not None and progress.trial is not None and progress.trial.state == RUNNING:
        told = f"running, {progress.rounds} of {progress.rounds_planned}"
        rows.append(_row(len(run.trials) + 1, progress.trial, False, told))
    head = "".join(f'<th scope="col">{name}</th>' for name in HEAD)
    return (
        '<div class="scroll tall" tabindex="0" role="region" aria-label="Trials"><table class="trials">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(reversed(rows))}</tbody></table></div>"
        '<p class="note">speed: plain decoding = 1, median of the repeats, on the calibration prompts; a '
        "trial whose text differs from plain decoding's fails</p>"
    )


def best_chart(trials: Sequence[TrialRecord]) -> str:
    """A dot per trial, and the best so far as a line."""
    known = [one.score for one in trials if one.score is not None]
    if not known:
        return ""
    top = max(1.5, ceil(4 * max(known)) / 4)
    last = max(1, len(trials) - 1)
    parts = [f'<i class="rule" style="bottom:{100 / top:.1f}%"><span>1×</span></i>']
    best, since = 0.0, 0.0
    for number, one in enumerate(trials):
        x = 100 * number / last
        if one.score is None:
            parts.append(f'<i class="cross" style="left:{x:.1f}%">✗</i>')
            continue
        parts.append(f'<i class="dot" style="left:{x:.1f}%;bottom:{100 * one.score / top:.1f}%"></i>')
        if one.score > best:
            parts += _step(since, x, best, top)
            rise = (
                f"left:{x:.1f}%;bottom:{100 * best / top:.1f}%;height:{100 * (one.score - best) / top:.1f}%"
            )
            parts += [f'<i class="up" style="{rise}"></i>'] if best else []
            best, since = one.score, x
    parts += _step(since, 100.0, best, top)
    parts.append(f'<i class="end" style="bottom:{100 * best / top:.1f}%">{best:.2f}×</i>')
    parts.append(
        f'<span class="x" style="left:0">trial 1</span><span class="x" style="right:0">{len(trials)}</span>'
    )
    label = f"Best so far: {best:.2f} times plain decoding after {len(trials)} trials"
    return f'<div class="chart" role="img" aria-label="{label}">{"".join(parts)}</div>'


def heat_maps(trials: Sequence[TrialRecord]) -> str:
    """A map of every knob against the next one, where both took more than one value."""
    found = []
    for method in dict.fromkeys(one.method for one in trials):
        knobs = list(dict.fromkeys(name for one in trials if one.method == method for name in one.values))
        for x, y in pairwise(knobs):
            info = heat_info(trials, method, x, y)
            if info is not None and len(info.columns) > 1 and len(info.rows) > 1:
                found.append(_map(info))
    return f'<div class="maps">{"".join(found)}</div>' if found else ""


def held_out_table(standings: Sequence[Standing]) -> str:
    """Settings on the held-out prompts, the chosen one first."""
    top = max((one.ratio.median for one in standings if one.ratio is not None), default=1.0)
    rows = "".join(_standing(one, max(1.0, top)) for one in standings)
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("who", "method", "setting", "speed", "middle half", "chosen is")
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Held-out prompts"><table class="held">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def status(run: SearchRun) -> tuple[str, int]:
    """Where it stands, in words, and as a share of a hundred."""
    progress = run.progress
    if progress is None:
        return "", 0
    if progress.phase == "costs":
        return "measuring what a forward costs", 0
    if progress.phase == "held-out":
        done = HELD_OUT * progress.rounds / max(1, progress.rounds_planned)
        return f"on held-out prompts, {progress.rounds} of {progress.rounds_planned}", _share(progress, done)
    told = f"{progress.trials} of about {progress.planned} trials, {progress.seconds:.0f} s"
    return told, _share(progress, 0.0)


def _share(progress: Progress, held_out: float) -> int:
    """Trials and held-out prompts done, of a hundred; trials that were left out leave a gap."""
    return min(100, round(100 * (progress.trials + held_out) / (progress.planned + HELD_OUT)))


def _row(number: int, one: TrialRecord, best: bool, doing: str = "") -> str:
    name = f"{one.method} {knob_words(one.values)}"
    head = f"<td>{number}</td><td>{escape(name)}</td><td>{_chip(one, doing)}</td>"
    if one.state == FAILED:
        return f'<tr>{head}<td colspan="6" class="why bad">{escape(one.reason, keep=200)}</td></tr>'
    cells = "".join(f"<td>{cell}</td>" for cell in _cells(one))
    return f"<tr{' class=top' if best else ''}>{head}{cells}</tr>"


def _chip(one: TrialRecord, doing: str) -> str:
    words = doing or {"differs": "output differs"}.get(one.failure, one.failure) or one.state
    kept = ", kept" if one.reused else ""
    sign = "✗ " if one.state == FAILED else ""
    return f'<span class="chip {one.state}">{sign}{escape(words)}{kept}</span>'


def _cells(one: TrialRecord) -> Iterator[str]:
    yield "–" if one.ratio is None else f"{one.ratio.median:.2f}×"
    yield "–" if one.ratio is None else f"{one.ratio.low:.2f}–{one.ratio.high:.2f}"
    for value in (one.tokens_per_target_forward, one.tokens_per_draft_forward, one.ms):
        yield "–" if value is None else f"{value:.2f}"
    yield "–" if one.identical is None else "✓" if one.identical else '<span class="bad">✗</span>'


def _step(start: float, end: float, height: float, top: float) -> list[str]:
    if not height or end <= start:
        return []
    place = f"left:{start:.1f}%;width:{end - start:.1f}%;bottom:{100 * height / top:.1f}%"
    return [f'<i class="step" style="{place}"></i>']


def _map(info: HeatInfo) -> str:
    x, y = SYMBOLS.get(info.x, info.x), SYMBOLS.get(info.y, info.y)
    head = "".join(f'<th scope="col">{escape(value)}</th>' for value in info.columns)
    body = "".join(f"<tr>{''.join(_line(info, row))}</tr>" for row in range(len(info.rows)))
    return (
        f'<table class="heat"><caption>{escape(info.method)}: {escape(y)} down, {escape(x)} across</caption>'
        f"<thead><tr><th>{escape(y)} \\ {escape(x)}</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _line(info: HeatInfo, row: int) -> Iterator[str]:
    yield f'<th scope="row">{escape(info.rows[row])}</th>'
    for column in range(len(info.columns)):
        yield _heat(info, row, column)


def _heat(info: HeatInfo, row: int, column: int) -> str:
    """Blue above 1×, vermillion below, deeper with the distance; the number says the same."""
    ratio = info.cells[row][column]
    if ratio is None:
        return '<td class="bad">✗</td>' if (row, column) in info.failed else '<td class="none">–</td>'
    reach = min(1.0, abs(log2(ratio)))
    hue = "--target-edge" if ratio >= 1 else "--mistake"
    colour = f"background:color-mix(in srgb,var({hue}) {45 * reach:.0f}%,var(--surface))"
    most = ' class="most"' if info.best == (row, column) else ""
    return f'<td{most} style="{colour}">{ratio:.2f}</td>'


def _standing(one: Standing, top: float) -> str:
    who = FACING.get(one.name, "best of another method")
    head = f"<td>{who}</td><td>{escape(one.method)}</td><td>{escape(knob_words(one.values))}</td>"
    mine = ' class="mine"' if one.name == "chosen" else ""
    if one.ratio is None:
        return f'<tr{mine}>{head}<td colspan="3" class="said bad">{escape(one.failure, keep=160)}</td></tr>'
    bar = f'<span class="ratio"><i style="width:{100 * one.ratio.median / top:.0f}%"></i></span>'
    over = "–" if one.over is None else f"{one.over.median:.2f}× as fast"
    spread = f"{one.ratio.low:.2f}–{one.ratio.high:.2f}"
    return f"<tr{mine}>{head}<td>{one.ratio.median:.2f}×{bar}</td><td>{spread}</td><td>{over}</td></tr>"
