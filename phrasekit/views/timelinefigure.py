"""The picture of a run in time: a lane per model, one for the host, and plain decoding below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phrasekit.trace.export.schedule import HOST_LANE, TARGET_LANE, Span, draft_lane
from phrasekit.trace.records import Trace
from phrasekit.trace.summary import counted
from phrasekit.views.figure import WIDTH, axis, colors, figure, graph_objects, lines, note
from phrasekit.views.theme import Theme
from phrasekit.views.timeline import PLAIN_LANE, Clock, TimelineInfo, timeline_info
from phrasekit.views.view import View

LANE = 46  # pixels
NOTE = 96  # signs of a line of the note, left of the buttons
WORDS, NUMBER = 48, 13  # pixels from which a bar has room for both numbers, for one
LEFT = 84
NAMES = {TARGET_LANE: "target", HOST_LANE: "host", PLAIN_LANE: "plain decoding"}


def draw_timeline(info: TimelineInfo, theme: str = "light") -> Any:
    """Bars by lane; buttons change between measured milliseconds and idealised unit costs."""
    paint = colors(theme)
    measured, ideal = list(_clock(info, info.measured, paint)), list(_clock(info, info.ideal, paint))
    for trace in ideal:
        trace.visible = False
    size = [len(measured), len(ideal)]
    return figure(
        info.sentence,
        paint,
        [*measured, *ideal],
        height=LANE * (len(info.lanes) + 1) + 60,
        band=44,
        axes={
            "xaxis": axis(paint, "milliseconds", range=[0, info.measured.end], rangemode="tozero"),
            "yaxis": _lane_axis(info, paint),
        },
        barmode="overlay",
        showlegend=False,
        margin={"l": LEFT + 24},
        updatemenus=[_buttons(info, size, paint)],
        annotations=list(_notes(info, paint)),
    )


def timeline_view(
    trace: Trace, *, plain: Trace | float | None = None, first: int = 2, most: int = 24
) -> View:
    """Forwards of draft and target over time, with plain decoding beneath; see `timeline_info`."""
    return View(timeline_info(trace, plain=plain, first=first, most=most), draw_timeline)


def _lane_axis(info: TimelineInfo, theme: Theme) -> dict[str, Any]:
    names = ["iteration", *(NAMES.get(lane, lane) for lane in info.lanes)]
    return axis(
        theme,
        tickvals=list(range(len(names))),
        ticktext=names,
        tickfont={"size": 12, "color": theme.ink},
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        fixedrange=True,
    )


def _buttons(info: TimelineInfo, size: list[int], theme: Theme) -> dict[str, Any]:
    shown = [True] * size[0] + [False] * size[1]
    hidden = [not one for one in shown]
    choices = (
        ("Measured", shown, "milliseconds", info.measured.end),
        (
            "Idealised",
            hidden,
            f"target forwards (a draft forward costs {info.ratio:.2f}, the host nothing)",
            info.ideal.end,
        ),
    )
    return {
        "type": "buttons",
        "direction": "right",
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 8},
        "showactive": False,  # plotly paints the active one white, in the dark too
        "bgcolor": theme.surface,
        "bordercolor": theme.line_2,
        "font": {"size": 12, "color": theme.ink},
        "buttons": [
            {
                "label": name,
                "method": "update",
                "args": [{"visible": visible}, {"xaxis.title.text": title, "xaxis.range": [0, end]}],
            }
            for name, visible, title, end in choices
        ],
    }


def _clock(info: TimelineInfo, clock: Clock, theme: Theme) -> Iterator[Any]:
    """Alternating bands behind, then a trace of bars per lane."""
    go = graph_objects()
    rows = len(info.lanes) + 1
    pixels = (WIDTH - LEFT - 48) / (clock.end or 1.0)
    yield go.Bar(
        orientation="h",
        base=[band.start for band in clock.bands],
        x=[band.end - band.start for band in clock.bands],
        y=[(rows - 1) / 2] * len(clock.bands),
        width=rows,
        marker={
            "color": [theme.sunken if band.iteration % 2 else theme.surface for band in clock.bands],
            "line": {"width": 0},
        },
        hoverinfo="skip",
    )
    yield go.Scatter(
        x=[(band.start + band.end) / 2 for band in clock.bands],
        y=[0] * len(clock.bands),
        mode="text",
        text=[
            f"<b>{band.iteration + 1}</b>" if (band.end - band.start) * pixels > 15 else ""
            for band in clock.bands
        ],
        textfont={"size": 11, "color": theme.ink_2},
        hovertext=[
            f"iteration {band.iteration + 1}: {counted(band.emitted, 'token')} out" for band in clock.bands
        ],
        hoverinfo="text",
    )
    if clock.overlaps:
        yield _both(info, clock, theme)
    for row, lane in enumerate(info.lanes, start=1):
        spans = [span for span in clock.spans if span.lane == lane]
        yield _bars(spans, row, clock.unit, pixels, theme)


def _both(info: TimelineInfo, clock: Clock, theme: Theme) -> Any:
    """Shade from the draft's lane to the target's where both worked."""
    rows = [info.lanes.index(lane) + 1 for lane in (draft_lane(1), TARGET_LANE)]
    return graph_objects().Bar(
        orientation="h",
        base=[start for start, _ in clock.overlaps],
        x=[end - start for start, end in clock.overlaps],
        y=[sum(rows) / 2] * len(clock.overlaps),
        width=abs(rows[1] - rows[0]) + 0.8,
        marker={"color": theme.ghost, "line": {"width": 0}},
        hovertext=[
            f"draft and target both at work, {end - start:.2f} {clock.unit}" for start, end in clock.overlaps
        ],
        hoverinfo="text",
    )


def _bars(spans: list[Span], row: int, unit: str, pixels: float, theme: Theme) -> Any:
    go = graph_objects()
    lane = spans[0].lane if spans else ""
    looks = {
        TARGET_LANE: (theme.target_tint, theme.target_edge),
        HOST_LANE: (theme.edge, theme.edge),
        PLAIN_LANE: (theme.surface, theme.target_edge),
    }
    fill, edge = looks.get(lane, (theme.draft_tint, theme.draft_edge))
    return go.Bar(
        orientation="h",
        base=[span.start for span in spans],
        x=[span.ms for span in spans],
        y=[row] * len(spans),
        width=0.28 if lane == HOST_LANE else 0.56,
        marker={"color": fill, "line": {"color": edge, "width": 0 if lane == HOST_LANE else 1}},
        text=[_words(span, pixels) for span in spans],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"size": 11, "color": theme.ink},
        hovertext=[_told(span, unit) for span in spans],
        hoverinfo="text",
    )


def _words(span: Span, pixels: float) -> str:
    """Rows in and tokens out, where they fit."""
    width = span.ms * pixels
    if span.lane in (HOST_LANE, PLAIN_LANE) or width < NUMBER:
        return ""
    return f"{span.rows} → {span.tokens}" if width >= WORDS else str(span.tokens)


def _told(span: Span, unit: str) -> str:
    where = f"{NAMES.get(span.lane, span.lane)}, iteration {span.iteration + 1}: {span.ms:.2f} {unit}"
    if not span.rows:
        return where
    return f"{where}, {counted(span.rows, 'row')} in, {counted(span.tokens, 'token')} out"


def _notes(info: TimelineInfo, theme: Theme) -> Iterator[dict[str, Any]]:
    told = "in a bar: tokens out, or rows in → tokens out"
    if info.measured.overlaps:
        told += "; shaded: draft and target at the same time"
    if info.prompt_ms:
        told += f"; iteration 1 read the prompt in {info.prompt_ms:.0f} ms and is not drawn"
    if info.left_out:
        told += f"; {counted(info.left_out, 'iteration')} more"
    yield note(theme, lines(told, NOTE), 0, 1, yshift=6)
