"""The picture of two runs: a lane of tokens each, where they cut the same text, and the clock below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phrasekit.trace.records import KINDS, Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import visible
from phrasekit.views.comparison import ComparisonInfo, Side, comparison_info
from phrasekit.views.figure import axis, colors, figure, graph_objects, heading, label, note
from phrasekit.views.theme import TEXTURES, Theme
from phrasekit.views.tokens import ORIGINS
from phrasekit.views.view import View

LANE, CLOCK, GAP = 46, 170, 46  # pixels
DRAFT_HEIGHT = 0.55
BAND, LEGEND_LINE, ENTRIES = 54, 20, 5  # pixels above the lanes, of a line of the legend; entries in one


def draw_comparison(info: ComparisonInfo, theme: str = "light") -> Any:
    """Lanes above each other on one axis of tokens, then milliseconds over tokens."""
    paint = colors(theme)
    longest = max([len(side.tokens) for side in info.sides] + [1])
    total = 2 * LANE + CLOCK + 2 * GAP
    tops = (1.0, 1 - (LANE + GAP) / total)
    axes = {
        "xaxis": axis(paint, "tokens", range=[-0.5, longest + 0.5], anchor="y3", showgrid=False),
        "yaxis": axis(
            paint, domain=[tops[0] - LANE / total, tops[0]], range=[0, 1.3], visible=False, fixedrange=True
        ),
        "yaxis2": axis(
            paint, domain=[tops[1] - LANE / total, tops[1]], range=[0, 1.3], visible=False, fixedrange=True
        ),
        "yaxis3": axis(paint, "ms", domain=[0, CLOCK / total], rangemode="tozero"),
    }
    return figure(
        info.sentence,
        paint,
        [*_lane(info, info.left, "y", paint), *_lane(info, info.right, "y2", paint), *_clock(info, paint)],
        height=total + 44,
        band=BAND + LEGEND_LINE * (_entries(info) // (ENTRIES + 1)),
        axes=axes,
        barmode="overlay",
        annotations=list(_notes(info, paint, tops, CLOCK / total)),
        shapes=list(_difference(info, paint)),
    )


def comparison_view(left: Trace, right: Trace, *, names: tuple[str, str] | None = None) -> View:
    """Two runs of one prompt against each other; see `comparison_info`."""
    return View(comparison_info(left, right, names=names), draw_comparison)


def _lane(info: ComparisonInfo, side: Side, axis_name: str, theme: Theme) -> Iterator[Any]:
    """A cell per token: the target's own solid, phrases full height, the draft model's lower."""
    go = graph_objects()
    for kind in KINDS:
        places = [place for place, token in enumerate(side.tokens) if token.kind == kind]
        if not places:
            continue
        height = DRAFT_HEIGHT if kind == "draft" else 1.0
        yield go.Bar(
            x=[place + 0.5 for place in places],
            y=[height] * len(places),
            base=[(1 - height) / 2] * len(places),
            width=0.92,
            yaxis=axis_name,
            name=ORIGINS[kind],
            legendgroup=kind,
            showlegend=_first_with(info, kind) is side,
            marker={"color": theme.mark_of(kind), "line": {"width": 0}, "pattern": _texture(kind, theme)},
            hovertext=[_told(side, place) for place in places],
            hoverinfo="text",
        )
    own = info.cuts(side)
    yield go.Scatter(
        x=list(own),
        y=[1.18] * len(own),
        mode="markers",
        yaxis=axis_name,
        showlegend=axis_name == "y",
        name="cut only here",
        marker={"symbol": "triangle-down", "size": 8, "color": theme.ink},
        hovertext=[f"{side.name} ends an iteration here, the other does not" for _ in own],
        hoverinfo="text",
    )


def _entries(info: ComparisonInfo) -> int:
    """Entries of the legend."""
    return 1 + len({token.kind for side in info.sides for token in side.tokens})


def _first_with(info: ComparisonInfo, kind: str) -> Side | None:
    return next((side for side in info.sides if any(token.kind == kind for token in side.tokens)), None)


def _texture(kind: str, theme: Theme) -> dict[str, Any]:
    """What tells cells of one hue apart."""
    shape = {"shape": TEXTURES.get(kind, ""), "size": 5, "solidity": 0.3}
    return shape | {"fgcolor": theme.edge_of(kind), "bgcolor": theme.mark_of(kind)}


def _told(side: Side, place: int) -> str:
    token = side.tokens[place]
    iteration = sum(end <= place for end in side.ends) + 1
    return f"{place + 1}: {label(visible(token.text, keep=40))}, {ORIGINS[token.kind]}, iteration {iteration}"


def _clock(info: ComparisonInfo, theme: Theme) -> Iterator[Any]:
    go = graph_objects()
    for side, dash in zip(info.sides, ("dot", "solid"), strict=True):
        yield go.Scatter(
            x=[0, *side.ends],
            y=[0, *side.clock],
            mode="lines",
            yaxis="y3",
            showlegend=False,
            line={
                "color": theme.ink if dash == "solid" else theme.ink_3,
                "width": 2,
                "dash": dash,
                "shape": "vh",
            },
            hovertext=[
                "start",
                *(f"{end} tokens after {ms:.0f} ms" for end, ms in zip(side.ends, side.clock, strict=True)),
            ],
            hoverinfo="text",
        )


def _notes(
    info: ComparisonInfo, theme: Theme, tops: tuple[float, float], clock: float
) -> Iterator[dict[str, Any]]:
    for side, top in zip(info.sides, tops, strict=True):
        drafts = side.metrics.draft_forwards
        told = f"{counted(len(side.tokens), 'token')}, {counted(side.metrics.iterations, 'target forward')}"
        if drafts:
            told += f", {counted(drafts, 'draft forward')}"
        yield heading(theme, label(side.name), told, 0, top)
    yield heading(theme, "Clock", f"dotted {label(info.left.name)}, solid {label(info.right.name)}", 0, clock)
    for side in info.sides:
        if side.ends:
            yield note(
                theme,
                f"{side.ms:.0f} ms",
                side.ends[-1],
                side.clock[-1],
                xref="x",
                yref="y3",
                xanchor="right",
                yanchor="bottom",
                font={"color": theme.ink},
            )


def _difference(info: ComparisonInfo, theme: Theme) -> Iterator[dict[str, Any]]:
    """A rule where the texts part."""
    if not info.identical and info.prompt:
        yield {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": info.same,
            "x1": info.same,
            "y0": 0,
            "y1": 1,
            "line": {"color": theme.mistake, "width": 2},
        }
