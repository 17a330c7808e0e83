"""The result of a race as markup: ratios from zero with a rule at 1×, where the time goes, the same text?"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from math import ceil
from pathlib import Path

from dashboard.jobs.race import Race, Result, leaders
from phrasekit import METHODS
from phrasekit.trace.summary import counted
from phrasekit.views.escape import escape

STYLE = (Path(__file__).parent / "compare.css").read_text("utf-8")
HEAD = (
    '<th scope="col"><b>Method</b></th><th></th>'
    '<th scope="col"><b>Speed against plain decoding</b>'
    "rings are prompts, the line is the spread of the passes{axis}</th>"
    '<th scope="col"><b>Where a token\'s time goes</b>plain decoding = 100<span class="swatches">'
    '<span><i class="target"></i>target</span><span><i class="draft"></i>draft</span>'
    '<span><i class="other"></i>other</span></span></th>'
    '<th scope="col" class="figure"><b>Tokens per</b>target forward</th>'
    '<th scope="col" class="figure"><b>Draft forwards</b>per token</th>'
    '<th scope="col" class="figure"><b>Same text</b>as plain</th>'
)
ENOUGH = 3  # passes: of two alike, one is ahead in both passes all too often
COLUMNS = (
    "method",
    "setting",
    "pass",
    "prompt",
    "ratio to plain",
    "ratio of the pass",
    "median of the passes",
    "same text",
    "failure",
)


def table(found: Sequence[Result]) -> str:
    """A row per entry, the fastest marked where that can be told."""
    reach = max(2, ceil(max((ratio for one in found for ratio in (*one.by_prompt, *one.ratios)), default=1)))
    best = winner(found)
    rows = "".join(_row(one, reach, best=one is best) for one in found)
    head = HEAD.format(axis=_axis(reach))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Result"><table class="race">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def winner(found: Sequence[Result]) -> Result | None:
    """Who is faster than everybody else, plain decoding included, in every pass; None where nobody is."""
    first, *others = leaders(found) or (None,)
    if first is None or others or first is found[0] or len(first.ratios) < ENOUGH:
        return None
    return first


def sentence(found: Sequence[Result]) -> str:
    """What came out, in markup of ours."""
    ran = [one for one in found[1:] if one.ratio is not None]
    if not ran:
        return "Nobody has ended a prompt yet."
    told = _told(found)
    wrong = [one for one in ran if one.same < one.prompts]
    if wrong:
        names = ", ".join(map(_name, wrong))
        return f'{told} <b class="bad">Output differs from plain decoding: {names}.</b>'
    return f"{told} Everyone that ran wrote the same tokens."


def _told(found: Sequence[Result]) -> str:
    """Who is fastest, as far as that can be told."""
    first, *others = leaders(found)
    top = max(found[1:], key=lambda one: one.ratio or 0.0)
    doubt = (
        f" It takes {ENOUGH} passes or more to tell whether that holds." if len(first.ratios) < ENOUGH else ""
    )
    if others:
        names = ", ".join(f"{_name(one)} {_ratio(one)}" for one in (first, *others))
        return f"Too close to tell who is fastest: the passes of {names} overlap."
    if first is found[0]:
        told = f"Nobody is faster than plain decoding here; {_name(top)} comes nearest with {_ratio(top)}."
        return f"{told}{doubt}"
    if doubt:
        return f"{_name(first)} was fastest, with {_ratio(first)} the speed of plain decoding.{doubt}"
    told = f"{_name(first)} is {_ratio(first)} as fast as plain decoding here, ahead in every pass."
    numbers = first.metrics
    if numbers is not None and numbers.block_efficiency:
        told += f" One target forward writes <b>{numbers.block_efficiency:.2f} tokens</b> instead of one."
    return told


def _ratio(one: Result) -> str:
    """The speed, and how far its passes differ."""
    spread = f" ({_range(one)})" if _spreads(one) else ""
    return f"<b>{one.ratio or 0.0:.2f}×</b>{spread}"


def _range(one: Result) -> str:
    low, high = one.spread or (0.0, 0.0)
    return f"{low:.2f}–{high:.2f}"


def _spreads(one: Result) -> bool:
    """Whether there is a spread to show; plain decoding against itself has none."""
    return one.spread is not None and one.spread[0] < one.spread[1]


def heading(race: Race) -> str:
    """How it was measured, in words."""
    plan = race.plan
    how = "greedy" if plan.temperature == 0 else f"temperature {plan.temperature:g}, seed {plan.seed}"
    return (
        f"{counted(len(race.prompts), 'prompt')}, {plan.max_new_tokens} tokens each, {how}; all prompts "
        f"together, {_passes(race)}, reading the prompt included; a pool carries over from prompt to prompt"
    )


def _passes(race: Race) -> str:
    return "one pass" if race.passes == 1 else f"median of {race.passes} passes"


def as_csv(found: Sequence[Result]) -> str:
    """The numbers, a row per entry, pass and prompt."""
    text = StringIO()
    sheet = csv.writer(text)
    sheet.writerow(COLUMNS)
    for one in found:
        base = (one.entry.method, one.entry.more)
        same = f"{one.same} of {one.prompts}"
        for round_, (ratios, whole) in enumerate(zip(one.each, one.ratios, strict=True), start=1):
            for number, ratio in enumerate(ratios, start=1):
                numbers = (f"{value:.4f}" for value in (ratio, whole, one.ratio or 0.0))
                sheet.writerow((*base, round_, number, *numbers, same, ""))
        if not one.ratios:
            sheet.writerow((*base, *[""] * (len(COLUMNS) - 3), one.failure))
    return text.getvalue()


def _row(one: Result, reach: int, *, best: bool) -> str:
    cls = ' class="best"' if best else ""
    return f"<tr{cls}>{_who(one)}{''.join(_numbers(one, reach))}</tr>"


def _who(one: Result) -> str:
    summary = METHODS[one.entry.method].summary
    more = f'<span class="set">{escape(one.entry.more)}</span>' if one.entry.more else ""
    return f'<td class="who"><b>{_name(one)}</b><span>{escape(summary)}</span>{more}</td>'


def _numbers(one: Result, reach: int) -> Iterator[str]:
    if one.ratio is None or one.metrics is None:
        told = f"Not run: {escape(one.failure)}" if one.failure else "not yet"
        yield f'<td class="x">–</td><td colspan="5" class="wide said">{told}</td>'
        return
    numbers = one.metrics
    each = numbers.draft_forwards / numbers.emitted if numbers.emitted and numbers.draft_forwards else None
    spread = f"<small>{_range(one)}</small>" if _spreads(one) else ""
    yield f'<td class="x">{one.ratio:.2f}×{spread}</td>'
    yield f'<td class="wide">{_speed(one, reach)}</td>'
    yield f'<td class="wide">{_time(one)}</td>'
    yield _figure("tokens per target forward", f"{numbers.block_efficiency or 0:.2f}")
    yield _figure("draft forwards per token", "none" if each is None else f"{each:.2f}")
    yield _figure("same text as plain decoding", _same(one))


def _figure(label: str, value: str) -> str:
    return f'<td class="figure"><span class="label">{label}</span><span>{value}</span></td>'


def _same(one: Result) -> str:
    if one.differs is None:
        return f"<b>✓</b> {one.same} of {one.prompts}"
    prompt, token = one.differs
    return f'<span class="bad"><b>✗</b> prompt {prompt}, token {token}</span>'


def _speed(one: Result, reach: int) -> str:
    ratio = one.ratio or 0.0
    rules = "".join(
        f'<i class="rule{" one" if at == 1 else ""}" style="left:{100 * at / reach:.2f}%"></i>'
        for at in range(reach + 1)
    )
    dots, span, words = "", "", ""
    if _spreads(one):
        low, high = one.spread or (0.0, 0.0)
        words = f", passes from {low:.2f} to {high:.2f}"
        place = f"left:{100 * low / reach:.2f}%;width:{100 * (high - low) / reach:.2f}%"
        span = f'<i class="span" style="{place}"></i>'
    if len(one.by_prompt) > 1 and any(value != 1 for value in one.by_prompt):
        dots = "".join(
            f'<i class="dot" style="left:{100 * value / reach:.2f}%"></i>' for value in one.by_prompt
        )
    bar = f'<i class="bar" style="width:{100 * ratio / reach:.2f}%"></i>'
    return (
        f'<div class="speed" role="img" aria-label="{ratio:.2f} times{words}">{rules}{bar}{span}{dots}</div>'
    )


def _time(one: Result) -> str:
    """Length is time a token, against plain decoding's; what is slower than that reaches beyond its bed."""
    target, draft, other = one.shares
    total = target + draft + other
    scale = min(1.0, 100 / total) if total else 1.0
    parts = "".join(
        f'<i class="{name}" style="width:{value * scale:.1f}%">{_inside(value * scale, value)}</i>'
        for name, value in (("target", target), ("draft", draft), ("other", other))
        if value * scale >= 0.5
    )
    told = f"target {target:.0f}, draft {draft:.0f}, other {other:.0f}, together {total:.0f}"
    end = "" if one.ratios and all(ratio == 1 for ratio in one.ratios) else f"<span>= {total:.0f}</span>"
    return f'<div class="time" role="img" aria-label="{told}">{parts}{end}</div>'


def _inside(width: float, value: float) -> str:
    """The number, where there is room for it."""
    return f"{value:.0f}" if width > 12 else ""


def _axis(reach: int) -> str:
    marks = "".join(
        f'<i style="left:{100 * at / reach:.2f}%">{at}{"×" if at else ""}</i>' for at in range(reach + 1)
    )
    return f'<div class="axis" aria-hidden="true">{marks}</div>'


def _name(one: Result) -> str:
    return escape(one.entry.name)
