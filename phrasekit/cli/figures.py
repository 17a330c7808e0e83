"""Numbers as a reader wants them, and tables of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich import box
from rich.table import Table

from phrasekit.cli.race import PLAIN, Standing
from phrasekit.trace import Metrics
from phrasekit.trace.rates import ABSENT, number, percent, rate

ENDINGS: Mapping[str, str] = {
    "eos": "ended by the model's end token",
    "stop": "ended at a stop string",
    "length": "ended at the token limit",
    "context": "ended where the model's context ends",
    "cancelled": "stopped before its end",
    "": "still running",
}


def _range(result: Standing) -> str:
    same = result.slowest == result.fastest
    return ABSENT if same else f"{number(result.slowest)}-{number(result.fastest)}"


def _drafts(metrics: Metrics) -> str:
    return number(metrics.draft_forwards_per_token) if metrics.draft_forwards else ABSENT


# in words, in short, value
_COLUMNS: Sequence[tuple[str, str, Callable[[Standing], str]]] = (
    ("speed, plain = 1", "speed", lambda s: f"{number(s.ratio)} ×"),
    ("range of the rounds", "range", _range),
    ("tokens / s", "tok/s", lambda s: f"{s.metrics.emitted / s.seconds:.0f}"),
    ("tokens per target forward", "η", lambda s: number(s.metrics.block_efficiency)),
    ("draft forwards per token", "draft", lambda s: _drafts(s.metrics)),
    ("pool hit rate", "hits", lambda s: percent(s.metrics.hit_rate)),
    ("mean #Match", "#Match", lambda s: number(s.metrics.mean_matches)),
    ("mean A", "A", lambda s: number(s.metrics.mean_accepted)),
    ("same output as plain", "same", lambda s: "yes" if s.identical else "NO"),
)
SHORT = (
    "speed: plain = 1 · η: tokens per target forward · draft: draft forwards per token · hits: pool lookups "
    "that returned a phrase · #Match, A: means over iterations that drafted · same: output as plain decoding"
)


def side_by_side(results: Sequence[Standing]) -> Table:
    """One column per method; for two or three of them."""
    table = plain_table()
    table.add_column("")
    for result in results:
        table.add_column("plain" if result.method == PLAIN else result.method, justify="right")
    for words, _, value in _COLUMNS:
        table.add_row(words, *map(value, results))
    return table


def one_below_another(results: Iterable[Standing]) -> Table:
    """One row per method; `SHORT` explains the columns."""
    table = plain_table()
    table.add_column("method", overflow="fold")
    for _, short, _ in _COLUMNS:
        table.add_column(short, justify="right", no_wrap=True)
    for result in results:
        table.add_row(result.method, *(value(result) for _, _, value in _COLUMNS))
    return table


def plain_table() -> Table:
    """A table with a line below its head and no other."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def verdict(results: Iterable[Standing]) -> Iterator[str]:
    """Say in words how each method did, a loss or another output as plainly as a gain."""
    for result in results:
        if result.method == PLAIN:
            continue
        if not result.identical:
            yield f"{result.method} gave other tokens than plain decoding: low precision or --rule rejection?"
        same = "the same tokens " if result.identical else ""
        speed = f"at {number(result.ratio)} × the speed of plain decoding"
        yield f"{result.method}: {same}{speed}, {_way(result)}."


def _way(result: Standing) -> str:
    if result.slowest < 1 < result.fastest:
        return "but the rounds disagree: too close to tell"
    return "slower" if result.ratio < 1 else "faster"


_FIGURES: Sequence[tuple[str, Callable[[Metrics], str], str]] = (
    ("tokens", lambda m: str(m.emitted), "emitted, bonus included"),
    ("target forwards", lambda m: str(m.iterations), "one per iteration"),
    ("η", lambda m: number(m.block_efficiency), "tokens per target forward, bonus included"),
    ("drafted", lambda m: str(m.drafted), "tokens of base drafts; suffixes excluded"),
    ("accepted", lambda m: str(m.accepted), "of them"),
    ("mean A", lambda m: number(m.mean_accepted), "accepted per iteration that drafted, bonus excluded"),
    (
        "mean #Match",
        lambda m: number(m.mean_matches),
        "drafted tokens equal to the verdict there, kept or not",
    ),
    ("p", lambda m: number(m.acceptance_estimate), "chance that a tested token is accepted"),
    (
        "mean Â",
        lambda m: number(m.mean_suffix_accepted),
        "of the best suffix, where the draft was accepted whole",
    ),
    ("draft forwards", lambda m: str(m.draft_forwards), "of the model that drafts for the target"),
    ("c", lambda m: number(m.tokens_per_draft_forward), "tokens drafted per draft forward"),
    ("per token", lambda m: number(m.draft_forwards_per_token), "draft forwards per emitted token"),
    ("pool hit rate", lambda m: percent(m.hit_rate), "lookups that returned a phrase, both sides"),
    ("pool size", lambda m: str(m.pool_size), "phrases at the end"),
    ("tokens / s", lambda m: number(m.tokens_per_second), "reading the prompt included"),
    ("target time", lambda m: percent(rate(m.target_ms, m.total_ms)), "inside target forwards"),
    ("draft time", lambda m: percent(rate(m.draft_ms, m.total_ms)), "inside draft forwards"),
    ("other time", lambda m: percent(m.overhead_share), "outside all forwards"),
)


def metrics_table(metrics: Metrics) -> Table:
    """The numbers of a run with what they mean."""
    table = plain_table()
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning")
    for name, value, meaning in _FIGURES:
        if value(metrics) != ABSENT:
            table.add_row(name, value(metrics), meaning)
    return table
