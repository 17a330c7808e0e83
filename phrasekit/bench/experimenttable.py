"""Findings of an experiment for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phrasekit.bench.experiments import EXPERIMENTS, Findings, Result
from phrasekit.trace import RoundMetrics, visible
from phrasekit.trace.rates import ABSENT, number, percent

Cell = Callable[[Result], str]


def draw_findings(findings: Findings) -> RenderableType:
    """The question, the table, what its columns mean, and where measuring ends and modelling begins."""
    cut = " (PARTIAL: interrupted)" if findings.partial else ""
    parts: list[RenderableType] = [
        Text(f"{findings.experiment}: {EXPERIMENTS[findings.experiment].summary}{cut}", style="bold"),
        _draw(_SPEED, findings.results),
        Text(_SPEED_LEGEND, style="dim"),
        _draw(_RETRIEVAL, [result for result in findings.results if result.rounds.rounds]),
        Text(_RETRIEVAL_LEGEND, style="dim"),
    ]
    if findings.ceiling is not None:
        parts.append(Text(f"C = t_T / t_S = {findings.ceiling:.2f}, by forwards of one row in this run"))
    parts += [
        Text(f"{name} left: {visible(why, spaces=False, keep=300)}", style="red")
        for name, why in findings.failures.items()
    ]
    return Group(*parts)


def _draw(columns: Mapping[str, Cell], results: Sequence[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(columns):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=True)
    for result in results:
        table.add_row(*[cell(result) for cell in columns.values()], style=None if result.identical else "red")
    return table


def _percent(value: float | None) -> str:
    return percent(value, digits=1)


def _rounds(part: Callable[[RoundMetrics], str]) -> Cell:
    return lambda result: part(result.rounds) if result.rounds.rounds else ABSENT


def _share(part: str) -> Cell:
    return _rounds(lambda rounds: _percent(rounds.shares.get(part)))


_SPEED: Mapping[str, Cell] = {
    "point": lambda one: one.name,
    "× plain": lambda one: number(one.times_plain.median),
    "quartiles": lambda one: f"{one.times_plain.low:.2f}–{one.times_plain.high:.2f}",
    "modelled": lambda one: number(one.modelled),
    "by forwards": lambda one: number(one.by_forwards),
    "η": lambda one: number(one.metrics.block_efficiency),
    "MAT": _rounds(lambda rounds: number(rounds.mean_accepted)),
    "overlap": _rounds(lambda rounds: _percent(rounds.overlap_share)),
    "identical": lambda one: "yes" if one.identical else "NO",
}
_SPEED_LEGEND = (
    "× plain measured · modelled the same rounds if the draft's lane ran wholly beside the target's\n"
    "by forwards the same, a round being one target forward or its draft forwards, whichever is longer\n"
    "η tokens per target forward · MAT tokens between refused drafts that no guide mended\n"
    "overlap share of the time in which both lanes worked"
)
_RETRIEVAL: Mapping[str, Cell] = {
    "point": lambda one: one.name,
    "tokens/draft": _rounds(lambda rounds: number(rounds.tokens_per_draft_forward)),
    "AMT draft": _rounds(lambda rounds: number(rounds.sides["draft"].amt)),
    "target": _rounds(lambda rounds: number(rounds.sides["target"].amt)),
    "hits draft": _rounds(lambda rounds: _percent(rounds.sides["draft"].hit_rate)),
    "target ": _rounds(lambda rounds: _percent(rounds.sides["target"].hit_rate)),
    "forwards": _share("target forwards"),
    "draft's": _share("draft forwards"),
    "retrieval": _share("retrieval"),
    "KV": _share("KV cache"),
    "waiting": _share("waiting"),
}
_RETRIEVAL_LEGEND = (
    "tokens/draft drafted per draft forward · AMT retrieved tokens the side's model agreed with, per query\n"
    "hits queries that found something · the rest shares of the rounds' time: the target's forwards, the\n"
    "draft's (over 100 % together where they overlap), retrieval, cache commits, waiting for the draft"
)
