"""The picture of Eq. 6: a map over γ and β centred on 1×, and slices through the run's point."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Any

from phrasekit.trace.records import Trace
from phrasekit.views.figure import axis, blend, colors, figure, graph_objects, heading, label, note
from phrasekit.views.speedup import SpeedupInfo, speedup_info
from phrasekit.views.theme import Theme
from phrasekit.views.view import View

LEVELS = (0.5, 1.5, 2.0, 3.0, 4.0)  # lines beside the one at 1×
SPLIT = 0.56


def draw_speedup(info: SpeedupInfo, theme: str = "light") -> Any:
    """Faster blue, slower vermillion, 1× neither."""
    paint = colors(theme)
    most = max(max(row) for row in info.grid)
    axes = {
        "xaxis": axis(
            paint,
            "γ, tokens drafted",
            domain=[0, SPLIT],
            range=[-0.5, info.gammas[-1] + 0.5],
            dtick=2,
            showgrid=False,
        ),
        "yaxis": axis(
            paint,
            "β, tokens appended for free",
            domain=[0, 1],
            range=[-0.5, info.betas[-1] + 0.5],
            dtick=2,
            showgrid=False,
        ),
        "xaxis2": axis(
            paint, "γ", domain=[SPLIT + 0.15, 1], anchor="y2", range=[-0.5, info.gammas[-1] + 0.5], dtick=4
        ),
        "yaxis2": axis(paint, "", domain=[0.58, 1], anchor="x2", range=[0, most * 1.06], ticksuffix="×"),
        "xaxis3": axis(
            paint, "β", domain=[SPLIT + 0.15, 1], anchor="y3", range=[-0.5, info.betas[-1] + 0.5], dtick=2
        ),
        "yaxis3": axis(paint, "", domain=[0, 0.42], anchor="x3", range=[0, most * 1.06], ticksuffix="×"),
    }
    return figure(
        info.sentence,
        paint,
        [*_map(info, paint), *_slices(info, paint)],
        height=480,
        band=52,
        margin={"b": 92},
        axes=axes,
        showlegend=False,
        annotations=list(_notes(info, paint)),
    )


def speedup_view(
    trace: Trace, *, plain: Trace | float | None = None, gammas: int = 16, betas: int = 12
) -> View:
    """Eq. 6 over γ and β with the run's point; see `speedup_info`."""
    return View(speedup_info(trace, plain=plain, gammas=gammas, betas=betas), draw_speedup)


def _map(info: SpeedupInfo, theme: Theme) -> Iterator[Any]:
    go = graph_objects()
    logs = [[log2(value) for value in row] for row in info.grid]
    reach = max([1.0, *(abs(value) for row in logs for value in row)])
    middle = theme.sunken
    slow, fast = blend(theme.mistake, theme.surface, 0.75), blend(theme.target_edge, theme.surface, 0.75)
    ticks = [step for step in range(-4, 5) if abs(step) <= reach]
    yield go.Heatmap(
        x=list(info.gammas),
        y=list(info.betas),
        z=logs,
        zmin=-reach,
        zmax=reach,
        zsmooth="best",
        colorscale=[[0, slow], [0.5, middle], [1, fast]],
        colorbar={
            "tickvals": ticks,
            "ticktext": [f"{2.0**step:g}×" for step in ticks],
            "thickness": 10,
            "len": 0.9,
            "x": SPLIT + 0.01,
            "outlinewidth": 0,
            "tickfont": {"size": 11, "color": theme.ink_3},
        },
        hovertext=[
            [f"γ {gamma}, β {beta}: {value:.2f}×" for gamma, value in zip(info.gammas, row, strict=True)]
            for beta, row in zip(info.betas, info.grid, strict=True)
        ],
        hoverinfo="text",
    )
    values = [value for row in info.grid for value in row]
    for level in (1.0, *LEVELS):
        if min(values) < level < max(values):
            yield go.Contour(
                x=list(info.gammas),
                y=list(info.betas),
                z=[list(row) for row in info.grid],
                showscale=False,
                contours={
                    "coloring": "none",
                    "start": level,
                    "end": level,
                    "size": 1,
                    "showlabels": True,
                    "labelfont": {"size": 11, "color": theme.ink},
                },
                line={"color": theme.ink, "width": 3 if level == 1.0 else 1, "smoothing": 1},
                hoverinfo="skip",
            )
    yield go.Scatter(
        x=[info.ridge(beta) for beta in info.betas],
        y=list(info.betas),
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 2, "color": theme.ink_2}},
        hovertext=[f"best γ for β {beta}" for beta in info.betas],
        hoverinfo="text",
    )
    if info.known < info.gammas[-1] + info.betas[-1]:
        ends = [
            (info.known - beta, beta)
            for beta in (max(0, info.known - info.gammas[-1]), min(info.known, info.betas[-1]))
        ]
        yield go.Scatter(
            x=[x for x, _ in ends],
            y=[y for _, y in ends],
            mode="lines",
            hoverinfo="skip",
            line={"color": theme.ink_3, "width": 1.5, "dash": "dash"},
        )
    yield go.Scatter(
        x=[info.gamma],
        y=[info.beta],
        mode="markers",
        marker={"size": 15, "color": theme.surface, "line": {"width": 3, "color": theme.ink}},
        hovertext=[_here(info)],
        hoverinfo="text",
    )


def _here(info: SpeedupInfo) -> str:
    clock = "" if info.measured is None else f", {info.measured:.2f}× by the clock"
    return f"this run: γ {info.gamma}, β {info.beta}: {info.here:.2f}× by Eq. 6{clock}"


def _slices(info: SpeedupInfo, theme: Theme) -> Iterator[Any]:
    """Speed-up along γ and along β through the run's point, with the 1× rule."""
    go = graph_objects()
    panels = (
        ("2", info.gammas, [info.at(gamma, info.beta) for gamma in info.gammas], info.gamma),
        ("3", info.betas, [info.at(info.gamma, beta) for beta in info.betas], info.beta),
    )
    for number, x, y, here in panels:
        place = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        yield go.Scatter(
            x=[x[0], x[-1]],
            y=[1, 1],
            mode="lines",
            hoverinfo="skip",
            line={"color": theme.ink_3, "width": 1, "dash": "dash"},
            **place,
        )
        yield go.Scatter(
            x=list(x), y=y, mode="lines", line={"color": theme.target_edge, "width": 2.5}, **place
        )
        yield go.Scatter(
            x=[here],
            y=[info.here],
            mode="markers",
            hovertext=[_here(info)],
            hoverinfo="text",
            marker={"size": 11, "color": theme.surface, "line": {"width": 2.5, "color": theme.ink}},
            **place,
        )
        if info.measured is not None:
            yield go.Scatter(
                x=[here],
                y=[info.measured],
                mode="markers",
                hovertext=[_here(info)],
                hoverinfo="text",
                marker={"size": 10, "symbol": "diamond", "color": theme.ink},
                **place,
            )


def _notes(info: SpeedupInfo, theme: Theme) -> Iterator[dict[str, Any]]:
    yield note(theme, label(info.equation), 0, 1, yshift=26, font={"color": theme.ink_2})
    words = "ring: this run; ticks: the best γ for each β"
    if info.known < info.gammas[-1] + info.betas[-1]:
        words += f"; beyond the dashed line (γ + β = {info.known}) extrapolated"
    yield heading(theme, "Eq. 6", words, 0, 1)
    yield heading(theme, "Along γ", f"β = {info.beta}", SPLIT + 0.14, 1)
    diamond = "" if info.measured is None else "; ◆ by the clock"
    yield heading(theme, "Along β", f"γ = {info.gamma}{diamond}", SPLIT + 0.14, 0.42)
    yield _assumed(theme)


def _assumed(theme: Theme) -> dict[str, Any]:
    """What the picture takes for granted."""
    told = (
        "Eq. 6 takes a suffix token to be as good as a drafted one, and a target forward to cost the same<br>"
        "for every number of rows: both flatter a large β."
    )
    return note(theme, told, 0, 0, yshift=-52, yanchor="top")
