"""The picture of the phrase pool: growth, lookups, hit rate, and the lives of the best phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from phrasekit.trace.records import Trace
from phrasekit.views.figure import axis, blend, colors, figure, graph_objects, heading, label, note
from phrasekit.views.pool import MISS, OLDER, UNFIT, USED, Phrase, PoolInfo, pool_info
from phrasekit.views.theme import MONO, Theme
from phrasekit.views.tokens import compact, source_name
from phrasekit.views.view import View

TEXTURES = {OLDER: "", "window": "", "committed": "/", "discarded": ".", "suffix": "x"}
GROWTH, RUG, RATE, ROW = 190, 46, 70, 26  # pixels of the panels, of one phrase
GAP = 46
LEFT = 232  # pixels for the phrases' texts
SHOWN = 30  # characters of a phrase


def draw_pool(info: PoolInfo, theme: str = "light") -> Any:
    """Four panels on one axis of iterations."""
    paint, last = colors(theme), max((step.iteration for step in info.growth), default=0) + 1
    heights = [GROWTH, RUG, RATE, ROW * max(1, len(info.top))]
    total = sum(heights) + GAP * 3
    domains = list(_domains(heights, total))
    span = {"range": [0.4, last + 0.9], "showgrid": False}
    (growth, rug, rate, life) = domains
    axes = {
        "xaxis": axis(paint, "iteration", domain=[0, 0.79], anchor="y4", **span),
        "yaxis": axis(paint, domain=growth, rangemode="tozero", nticks=5),
        "yaxis2": axis(paint, domain=rug, visible=False, range=[-1, 1.4], fixedrange=True),
        "yaxis3": axis(paint, domain=rate, range=[-0.06, 1.1], tickvals=[0, 0.5, 1], tickformat=".0%"),
        "yaxis4": _phrase_axis(info, paint, life),
    }
    return figure(
        info.sentence,
        paint,
        [*_growth(info, paint), *_rug(info, paint), *_rate(info, paint), *_lives(info, paint, last)],
        height=total + 44,
        band=54,
        axes=axes,
        annotations=list(_notes(info, paint, domains)),
        margin={"l": LEFT},
        barmode="stack",
    )


def pool_view(trace: Trace, *, top: int = 12) -> View:
    """Growth, lookups and best phrases of the pool; see `pool_info`."""
    return View(pool_info(trace, top=top), draw_pool)


def _domains(heights: list[int], total: int) -> Iterator[list[float]]:
    end = float(total)
    for height in heights:
        yield [max(0.0, (end - height) / total), end / total]
        end -= height + GAP


def _growth(info: PoolInfo, theme: Theme) -> Iterator[Any]:
    """One green for all sources, since they mean the same; texture tells them apart."""
    go = graph_objects()
    x = [step.iteration + 1 for step in info.growth]
    for source in info.sources_seen:
        shape = TEXTURES.get(source, "-")
        plain = blend(theme.phrase_tint, theme.surface, 0.5)
        fill = theme.ghost if source == OLDER else theme.phrase_tint if shape else plain
        yield go.Bar(
            x=x,
            y=[step.sizes.get(source, 0) for step in info.growth],
            name=label(source_name(source), keep=40),
            width=1,
            marker={
                "color": fill,
                "line": {"width": 0},
                "pattern": {
                    "shape": shape,
                    "fgcolor": theme.phrase_edge,
                    "bgcolor": fill,
                    "size": 6,
                    "solidity": 0.2,
                },
            },
            hovertext=[
                f"after iteration {step.iteration + 1}: {step.sizes.get(source, 0)}" for step in info.growth
            ],
            hoverinfo="text",
        )


def _rug(info: PoolInfo, theme: Theme) -> Iterator[Any]:
    """A tick per forward that asked: long for a phrase that fitted, short for one that did not."""
    go = graph_objects()
    looks = {
        USED: (theme.phrase_edge, 1.0, 3),
        UNFIT: (theme.mistake, 0.5, 2),
        MISS: (theme.edge, -0.1, 2),
    }
    for outcome, (color, top, width) in looks.items():
        x: list[float | None] = []
        y: list[float | None] = []
        for lookup in info.lookups:
            if lookup.outcome == outcome:
                at = lookup.iteration + 0.6 + 0.8 * lookup.place
                x += [at, at, None]
                y += [-0.4, top, None]
        line = {"color": color, "width": width}
        yield go.Scatter(x=x, y=y, mode="lines", yaxis="y2", line=line, showlegend=False, hoverinfo="skip")


def _rate(info: PoolInfo, theme: Theme) -> Iterator[Any]:
    go = graph_objects()
    yield go.Scatter(
        x=[lookup.iteration + 0.6 + 0.8 * lookup.place for lookup in info.lookups],
        y=[lookup.recent for lookup in info.lookups],
        mode="lines",
        yaxis="y3",
        line={"color": theme.phrase_edge, "width": 2},
        showlegend=False,
        hovertext=[
            f"{lookup.side} lookup in iteration {lookup.iteration + 1}: {lookup.outcome}"
            for lookup in info.lookups
        ],
        hoverinfo="text",
    )


def _phrase_axis(info: PoolInfo, theme: Theme, domain: list[float]) -> dict[str, Any]:
    return axis(
        theme,
        domain=domain,
        range=[len(info.top) - 0.5, -0.5],
        tickvals=list(range(len(info.top))),
        ticktext=[_name(phrase) for phrase in info.top],
        tickfont={"family": MONO, "size": 11, "color": theme.ink},
        showgrid=False,
        fixedrange=True,
    )


def _name(phrase: Phrase) -> str:
    told = f"{compact(phrase.key)} → {''.join(compact(text) for text in phrase.followers)}"
    return label(told if len(told) <= SHOWN else f"{told[: SHOWN - 1]}…")


def _lives(info: PoolInfo, theme: Theme, last: int) -> Iterator[Any]:
    """Line from birth to the end, a diamond at birth, a tick per lookup, a disc where tokens were kept."""
    go = graph_objects()
    x: list[float | None] = []
    y: list[float | None] = []
    for row, phrase in enumerate(info.top):
        life = phrase.life
        x += [life.born + 1 if life.born >= 0 else 0.4, life.evicted + 1 if life.evicted >= 0 else last, None]
        y += [row, row, None]
    yield _marks(x, y, mode="lines", line={"color": theme.line_2, "width": 2}, hoverinfo="skip")
    born = [(phrase.life.born + 1, row) for row, phrase in enumerate(info.top) if phrase.life.born >= 0]
    yield _marks(
        *_columns(born), marker={"symbol": "diamond", "size": 8, "color": theme.ink}, hovertext="born"
    )
    tries = [(at + 1, row) for row, phrase in enumerate(info.top) for at in dict.fromkeys(phrase.life.tries)]
    yield _marks(
        *_columns(tries),
        marker={"symbol": "line-ns", "size": 5, "line": {"color": theme.edge, "width": 1.5}},
        hovertext="looked up",
    )
    wins = [(use, row) for row, phrase in enumerate(info.top) for use in phrase.life.wins]
    yield go.Scatter(
        x=[use.iteration + 1 for use, _ in wins],
        y=[row for _, row in wins],
        mode="markers+text",
        yaxis="y4",
        showlegend=False,
        marker={
            "size": [12 + 2 * min(use.kept, 6) for use, _ in wins],
            "color": theme.phrase_tint,
            "line": {"color": theme.phrase_edge, "width": 1.5},
        },
        text=[str(use.kept) for use, _ in wins],
        textfont={"size": 11, "color": theme.ink},
        hovertext=[
            f"iteration {use.iteration + 1}, position {use.position}: {use.kept} of {use.proposed} kept"
            for use, _ in wins
        ],
        hoverinfo="text",
    )


def _columns(points: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [x for x, _ in points], [y for _, y in points]


def _marks(x: Any, y: Any, **looks: Any) -> Any:
    go = graph_objects()
    hover = {} if "hoverinfo" in looks else {"hoverinfo": "text"}
    return go.Scatter(
        **({"x": x, "y": y, "mode": "markers", "yaxis": "y4", "showlegend": False} | hover | looks)
    )


def _outcomes(info: PoolInfo, theme: Theme) -> str:
    """The legend of the ticks, with counts."""
    counts = Counter(lookup.outcome for lookup in info.lookups)
    told = (
        (theme.phrase_edge, f"long: a phrase fits, {counts[USED]}"),
        (theme.mistake, f"middle: tried, none fits, {counts[UNFIT]}"),
        (theme.ink_3, f"short: no phrase for the token, {counts[MISS]}"),
    )
    return "   ".join(f"<span style='color:{color}'>{words}</span>" for color, words in told)


def _notes(info: PoolInfo, theme: Theme, domains: list[list[float]]) -> Iterator[dict[str, Any]]:
    growth, rug, rate, life = (domain[1] for domain in domains)
    gone = f"phrases held by source; {info.evicted} evicted"
    yield heading(theme, "Growth", gone, 0, growth)
    yield heading(theme, "Lookups", _outcomes(info, theme), 0, rug)
    yield heading(theme, "Hit rate", "lookups that found a phrase, of the last 12", 0, rate)
    yield heading(
        theme, "Best phrases", "by tokens kept; ◆ born, ring: tokens kept there, tick: looked up", 0, life
    )
    for row, phrase in enumerate(info.top):
        told = f"{phrase.life.kept} kept, {label(source_name(phrase.life.source), keep=20)}"
        yield note(theme, told, 0.8, row, yref="y4", yanchor="middle", font={"size": 11})
