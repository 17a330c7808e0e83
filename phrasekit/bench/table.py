"""Reports for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from phrasekit.bench.report import FamilyReport, Report
from phrasekit.bench.standings import GENERATE, PLAIN, Spread, Standing, fastest
from phrasekit.trace import Metrics, visible
from phrasekit.trace.rates import ABSENT, number, percent, rate

PIPED_WIDTH = 132

Cell = Callable[[Standing], str]
Detail = Callable[[Metrics], str]


def terminal(*, stderr: bool = False) -> Console:
    """A console that obeys nothing in its text and is wide enough when piped."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    return console


def draw_report(report: Report) -> RenderableType:
    """Machine, then per family the speeds, what is behind them, and the ratios people ask for."""
    parts: list[RenderableType] = [Text(line) for line in _heading(report)]
    for family in report.families:
        parts += draw_family(family)
    return Group(*parts)


def draw_family(report: FamilyReport) -> list[RenderableType]:
    """One family: title, table of speeds, table of details, ratios, failures."""
    shown = _shown(report.standings)
    parts: list[RenderableType] = [Text(""), Text(_title(report), style="bold")]
    if not shown:
        return [*parts, Text("Nothing was finished."), *_left(report)]
    parts += [_draw(_SPEED, shown, best=_best(shown)), Text(_SPEED_LEGEND, style="dim")]
    detailed = [standing for standing in shown if standing.metrics is not None]
    if detailed:
        parts += [_draw(_DETAILS, detailed, best=None), Text(_DETAILS_LEGEND, style="dim"), Text("")]
    if report.heat:
        parts.append(Text(_heat(report.heat), style="dim"))
    parts += [
        Text(f"{one.faster} is {_times(one.times)} × {one.slower} ({_range(one.times)})")
        for one in report.comparisons
    ]
    return parts + _left(report)


def draw_sweep(report: FamilyReport) -> RenderableType:
    """Every point of a sweep, fastest first."""
    points = [standing for standing in report.standings if standing.name not in (PLAIN, GENERATE)]
    ordered = sorted(points, key=lambda standing: standing.speed, reverse=True)
    return Group(
        Text(_title(report), style="bold"), _draw(_SWEEP, ordered, best=ordered[0].name if ordered else None)
    )


def _heading(report: Report) -> Iterator[str]:
    environment = report.environment
    packages = environment.get("packages")
    versions = packages if isinstance(packages, Mapping) else {}
    yield (
        f"phrasekit {environment.get('phrasekit')} · "
        + " · ".join(f"{name} {version}" for name, version in versions.items())
    )
    yield (
        f"{environment.get('device_name') or environment.get('cpu')} · "
        f"threads {environment.get('threads')} of {environment.get('cores')} cores · "
        f"{environment.get('device')} · {environment.get('dtype')} · "
        f"target {environment.get('target')}, draft {environment.get('draft') or 'none'}"
    )
    if report.settings.get("clock") == "cpu":
        yield "Seconds are processor time of all threads, not wall time."
        return
    load, cores = environment.get("load_before"), environment.get("cores")
    if isinstance(load, float) and isinstance(cores, int) and load > 0.5 * cores:
        yield f"Something else kept the cores busy before the run (load {load:.1f}): these numbers are noisy."


def _title(report: FamilyReport) -> str:
    outcome = report.outcome
    title = f"{report.family}: {report.prompts} prompts"
    if outcome.partial:
        return f"{title}, PARTIAL: interrupted after {outcome.repeats} of {report.repeats} repeats"
    return f"{title}, median of {report.repeats} {'repeat' if report.repeats == 1 else 'repeats'}"


def _left(report: FamilyReport) -> list[RenderableType]:
    return [
        Text(f"{one.name} left: {visible(one.failure, spaces=False, keep=300)}", style="red")
        for one in report.standings
        if one.failure
    ]


def _heat(speeds: Mapping[str, float]) -> str:
    tried = " · ".join(f"{name} {speed:.1f}" for name, speed in speeds.items())
    return f"settings tried before the race, tokens/s: {tried}"


def _shown(standings: Sequence[Standing]) -> list[Standing]:
    """Ours as they are, peers at their fastest setting."""
    peers = {standing.name for standing in fastest([one for one in standings if not one.ours])}
    return [one for one in standings if one.speed and (one.ours or one.name in peers)]


def _best(standings: Sequence[Standing]) -> str | None:
    return max(standings, key=lambda standing: standing.speed).name if standings else None


def _draw(columns: Mapping[str, Cell], standings: Sequence[Standing], *, best: str | None) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(columns):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=place == 0)
    for standing in standings:
        style = "bold" if standing.name == best else "red" if standing.differing else None
        table.add_row(*[cell(standing) for cell in columns.values()], style=style)
    return table


def _name(standing: Standing) -> str:
    return standing.name if standing.ours else f"{standing.name} ({standing.origin})"


def _identical(standing: Standing) -> str:
    if standing.differing is None:
        return ABSENT
    return "yes" if not standing.differing else f"NO: {standing.differing} of {standing.prompts}"


def _times(value: Spread | None) -> str:
    return ABSENT if value is None else f"{value.median:.2f}"


def _range(value: Spread | None) -> str:
    return ABSENT if value is None else f"{value.low:.2f}–{value.high:.2f}"


def _percent(value: float | None) -> str:
    return percent(value, digits=1)


def _speed(standing: Standing) -> str:
    return ABSENT if standing.tokens_per_second is None else f"{standing.tokens_per_second.median:.1f}"


def _detail(part: Detail) -> Cell:
    return lambda standing: ABSENT if standing.metrics is None else part(standing.metrics)


def _share_of_time(part: Callable[[Metrics], float]) -> Detail:
    return lambda metrics: _percent(rate(part(metrics), metrics.total_ms))


_SPEED: Mapping[str, Cell] = {
    "method": _name,
    "tokens/s": _speed,
    "× generate": lambda one: _times(one.times_generate),
    "quartiles": lambda one: _range(one.times_generate),
    "× plain": lambda one: _times(one.times_plain),
    "η": lambda one: number(one.tokens_per_target_forward),
    "draft/token": lambda one: number(one.draft_forwards_per_token),
    "outside": lambda one: _percent(one.outside),
    "identical": _identical,
}
_SPEED_LEGEND = (
    "η tokens per target forward, those reading the prompt included · draft/token draft forwards per token\n"
    "outside share of the time outside the models' forwards: by hooks on the models for peers, by the\n"
    "trace, which counts masks and tensors as forward, for phrasekit"
)
_DETAILS: Mapping[str, Cell] = {
    "method": _name,
    "A": _detail(lambda metrics: number(metrics.mean_accepted)),
    "#Match": _detail(lambda metrics: number(metrics.mean_matches)),
    "Â": _detail(lambda metrics: number(metrics.mean_suffix_accepted)),
    "c": _detail(lambda metrics: number(metrics.tokens_per_draft_forward)),
    "hit rate": _detail(lambda metrics: _percent(metrics.hit_rate)),
    "rows": _detail(lambda metrics: number(metrics.rows_per_target_forward)),
    "target": _detail(_share_of_time(lambda metrics: metrics.target_ms)),
    "draft": _detail(_share_of_time(lambda metrics: metrics.draft_ms)),
    "own work": _detail(lambda metrics: _percent(metrics.overhead_share)),
    "strictly": lambda one: _percent(one.strict),
    "recording": lambda one: _percent(one.recording),
}
_DETAILS_LEGEND = (
    "A accepted of a draft, bonus excluded · #Match right at their place, accepted or not\n"
    "Â kept of the best suffix · c drafted tokens per draft forward · rows fed to a target forward\n"
    "target, draft, own work shares of the iterations' time; masks count with the forward they are for\n"
    "strictly all outside the models' layers and heads: own work with masks, ids, positions and picks\n"
    "recording share of an iteration spent on its records"
)
_SWEEP: Mapping[str, Cell] = {
    "knobs": lambda one: one.name,
    "tokens/s": _speed,
    "× plain": lambda one: _times(one.times_plain),
    "quartiles": lambda one: _range(one.times_plain),
    "η": lambda one: number(one.tokens_per_target_forward),
    "draft/token": lambda one: number(one.draft_forwards_per_token),
    "A": _detail(lambda metrics: number(metrics.mean_accepted)),
    "hit rate": _detail(lambda metrics: _percent(metrics.hit_rate)),
    "rows": _detail(lambda metrics: number(metrics.rows_per_target_forward)),
    "own work": _detail(lambda metrics: _percent(metrics.overhead_share)),
    "identical": _identical,
}
