"""The picture of #Match against A: dumbbells, the heatmap below them, and the survival curve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phrasekit.trace.records import Trace
from phrasekit.views.figure import axis, colors, figure, graph_objects, heading, note, stepped
from phrasekit.views.matches import STATES, MatchesInfo, matches_info
from phrasekit.views.theme import Theme
from phrasekit.views.tokens import KEPT, LATE, MISTAKE
from phrasekit.views.view import View

WORDS = {KEPT: "kept", LATE: "right, but after the mistake", MISTAKE: "wrong", "": "not drafted"}
SPLIT = 0.64  # of the width for the two panels by iteration


def draw_matches(info: MatchesInfo, theme: str = "light") -> Any:
    """Dumbbells over a heatmap by iteration, the survival curve beside them."""
    paint = colors(theme)
    last = max((draft.iteration for draft in info.drafts), default=0) + 1
    deepest = max((draft.drafted for draft in info.drafts), default=1)
    reach = max((draft.drafted + draft.suffix for draft in info.drafts), default=1)
    span = [0.4, last + 0.6]
    axes = {
        "xaxis": axis(paint, domain=[0, SPLIT], range=span, anchor="y", showticklabels=False, showgrid=False),
        "yaxis": axis(paint, "tokens", domain=[0.56, 1], range=[-0.4, reach + 0.6], rangemode="tozero"),
        "xaxis2": axis(
            paint, "iteration", domain=[0, SPLIT], range=span, anchor="y2", showgrid=False, matches="x"
        ),
        "yaxis2": axis(
            paint,
            "draft position",
            domain=[0, 0.47],
            range=[0.5, deepest + 0.5],
            anchor="x2",
            dtick=1,
            showgrid=False,
        ),
        "xaxis3": axis(
            paint,
            "k, tokens",
            domain=[SPLIT + 0.09, 1],
            anchor="y3",
            range=[-0.2, len(info.survival) + 0.4],
            dtick=1,
        ),
        "yaxis3": axis(paint, "", domain=[0, 1], anchor="x3", range=[0, 1.04], tickformat=".0%"),
    }
    return figure(
        info.sentence,
        paint,
        [*_dumbbells(info, paint), *_heatmap(info, paint), *_survival(info, paint)],
        height=450,
        band=54,
        axes=axes,
        annotations=list(_notes(info, paint)),
        barmode="overlay",
    )


def matches_view(trace: Trace) -> View:
    """#Match against A, position by position; see `matches_info`."""
    return View(matches_info(trace), draw_matches)


def _dumbbells(info: MatchesInfo, theme: Theme) -> Iterator[Any]:
    go = graph_objects()
    x = [draft.iteration + 1 for draft in info.drafts]
    told = [_told(info, place) for place in range(len(x))]
    yield go.Bar(
        x=x,
        y=[draft.drafted for draft in info.drafts],
        width=0.76,
        name="drafted",
        marker={"color": theme.ghost},
        hovertext=told,
        hoverinfo="text",
    )
    behind = [draft for draft in info.drafts if draft.suffix]
    yield go.Bar(
        x=[draft.iteration + 1 for draft in behind],
        y=[draft.suffix for draft in behind],
        base=[draft.drafted for draft in behind],
        width=0.76,
        name="kept from a suffix (Â)",
        marker={"color": theme.suffix_tint, "line": {"color": theme.suffix_edge, "width": 1}},
        hoverinfo="skip",
    )
    gaps: list[float | None] = []
    ends: list[float | None] = []
    for draft in info.drafts:
        gaps += [draft.iteration + 1, draft.iteration + 1, None]
        ends += [draft.accepted, draft.matches, None]
    yield go.Scatter(
        x=gaps,
        y=ends,
        mode="lines",
        line={"color": theme.ink, "width": 2},
        showlegend=False,
        hoverinfo="skip",
    )
    yield go.Scatter(
        x=x,
        y=[draft.matches for draft in info.drafts],
        mode="markers",
        name="right anywhere (#Match)",
        marker={"size": 10, "color": theme.surface, "line": {"color": theme.ink, "width": 2}},
        hoverinfo="x+y+name",
    )
    yield go.Scatter(
        x=x,
        y=[draft.accepted for draft in info.drafts],
        mode="markers",
        name="kept (A)",
        marker={"size": 9, "color": theme.ink},
        hoverinfo="x+y+name",
    )


def _told(info: MatchesInfo, place: int) -> str:
    draft = info.drafts[place]
    return (
        f"iteration {draft.iteration + 1}: drafted {draft.drafted}, A {draft.accepted}, "
        f"#Match {draft.matches}, Â {draft.suffix}, shifted {draft.shifted}"
    )


def _heatmap(info: MatchesInfo, theme: Theme) -> Iterator[Any]:
    """Four states; shape repeats colour."""
    go = graph_objects()
    looks = {
        KEPT: ("square", theme.ink),
        LATE: ("square-open", theme.phrase_edge),
        MISTAKE: ("x-thin", theme.mistake),
    }
    deepest = max((draft.drafted for draft in info.drafts), default=0)
    shades = {KEPT: theme.ghost, LATE: theme.phrase_tint, MISTAKE: theme.sunken, "": theme.surface}
    codes = list(STATES)
    columns = {draft.iteration + 1: (*draft.states, *[""] * deepest) for draft in info.drafts}
    x = list(range(1, max(columns, default=0) + 1))  # without gaps, or plotly stretches the cells beside one
    nothing = [""] * deepest
    grid = [[codes.index(columns.get(at, nothing)[place]) for at in x] for place in range(deepest)]
    yield go.Heatmap(
        x=x,
        y=list(range(1, deepest + 1)),
        z=grid,
        xgap=2,
        ygap=2,
        **stepped([shades[state] for state in codes]),
        hoverinfo="skip",
        xaxis="x2",
        yaxis="y2",
    )
    for state, (symbol, color) in looks.items():
        cells = [
            (draft.iteration + 1, place)
            for draft in info.drafts
            for place, one in enumerate(draft.states, 1)
            if one == state
        ]
        yield go.Scatter(
            x=[x for x, _ in cells],
            y=[y for _, y in cells],
            mode="markers",
            name=WORDS[state],
            xaxis="x2",
            yaxis="y2",
            marker={"symbol": symbol, "size": 8, "color": color, "line": {"width": 2, "color": color}},
            hoverinfo="x+y+name",
        )


def _survival(info: MatchesInfo, theme: Theme) -> Iterator[Any]:
    go = graph_objects()
    x = [0, *(point.k for point in info.survival)]
    told = [
        "every draft",
        *(f"P(A ≥ {point.k}) = {point.share:.0%}, tested {point.tested} times" for point in info.survival),
    ]
    yield go.Scatter(
        x=x,
        y=[1, *(point.geometric for point in info.survival)],
        mode="lines",
        showlegend=False,
        line={"color": theme.edge, "width": 2, "dash": "dot"},
        hoverinfo="skip",
        xaxis="x3",
        yaxis="y3",
    )
    yield go.Scatter(
        x=x,
        y=[1, *(point.share for point in info.survival)],
        mode="lines+markers",
        showlegend=False,
        line={"color": theme.ink, "width": 2, "shape": "linear"},
        marker={"size": 7, "color": theme.ink},
        hovertext=told,
        hoverinfo="text",
        xaxis="x3",
        yaxis="y3",
    )


def _notes(info: MatchesInfo, theme: Theme) -> Iterator[dict[str, Any]]:
    yield heading(theme, "Drafts", "drafted, kept, right anywhere", 0, 1)
    yield heading(theme, "Positions", "the same drafts, token by token", 0, 0.47)
    yield heading(theme, "P(A ≥ k)", "the first k tokens are all kept", SPLIT + 0.05, 1)
    if info.chance is not None:
        told = f"dotted: constant chance<br>p = {info.chance:.2f} a token"
        yield note(theme, told, SPLIT + 0.1, 0.02)
