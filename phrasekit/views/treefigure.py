"""The picture of a token tree: chips indented by position, wires, and the attention mask."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from phrasekit.trace.records import Trace
from phrasekit.trace.visible import columns
from phrasekit.views.figure import WIDTH, axis, colors, figure, graph_objects, label, note, stepped
from phrasekit.views.theme import MONO, ROLES, Theme, hue
from phrasekit.views.tokens import KEPT, MARKS, MISTAKE, ORIGINS, OWN, Token, compact
from phrasekit.views.tree import HIDDEN, SELF, Row, TreeInfo, hover_text, tree_info
from phrasekit.views.view import View

STEP = 22  # pixels a position is indented
CHARACTER = 7.3  # pixels of a character of 12 px mono
LEFT = 10
SAYS = 120  # pixels of the column "target says"


def draw_tree(info: TreeInfo, theme: str = "light") -> Any:
    """Tree at the left, mask at the right, one row for both."""
    paint, count = colors(theme), len(info.rows)
    pitch = 24 if count <= 20 else 20 if count <= 36 else 17
    comb = max(_right(row) for row in info.rows) + 20
    mask = pitch * (count + 1)
    inner = comb + SAYS + 24 + mask + 76
    split = (comb + SAYS) / inner
    top = 12 + 7 * max(columns(_short(row.text)) for row in info.rows)
    axes = {
        "xaxis": axis(paint, domain=[0, split], range=[0, comb + SAYS], visible=False, fixedrange=True),
        "yaxis": _row_axis(info, paint),
        "xaxis2": _column_axis(info, paint, (comb + SAYS + 24) / inner, (comb + SAYS + 24 + mask) / inner),
        "yaxis2": axis(paint, anchor="x2", matches="y", visible=False, fixedrange=True),
    }
    return figure(
        info.sentence,
        paint,
        [*_wires(info, paint), *_mask(info, paint)],
        height=pitch * count + 16,
        band=top,
        width=max(WIDTH, round(inner) + 82),
        axes=axes,
        showlegend=False,
        annotations=[
            *_chips(info, paint, comb),
            *_block_names(info, paint, (comb + SAYS + 24 + mask) / inner),
        ],
        shapes=list(_borders(info, paint)),
        margin={"b": 16, "l": 58},
    )


def tree_view(trace: Trace, iteration: int | None = None) -> View:
    """The token tree of an iteration with its attention mask; see `tree_info`."""
    return View(tree_info(trace, iteration), draw_tree)


def _short(text: str) -> str:
    shown = compact(text)
    return shown if columns(shown) <= 14 else f"{shown[:12]}…"


def _x(row: Row) -> float:
    return LEFT + STEP * row.depth


def _right(row: Row) -> float:
    own = 26 + CHARACTER * columns(_short(row.adds.text)) if row.adds else 0
    return _x(row) + CHARACTER * columns(_short(row.text)) + 12 + own


def _row_axis(info: TreeInfo, theme: Theme) -> dict[str, Any]:
    """Position ids: rows of different branches share them."""
    return axis(
        theme,
        range=[len(info.rows) - 0.5, -0.5],
        tickvals=list(range(len(info.rows))),
        ticktext=[str(info.position + row.depth - 1) for row in info.rows],
        showgrid=False,
        fixedrange=True,
    )


def _column_axis(info: TreeInfo, theme: Theme, start: float, end: float) -> dict[str, Any]:
    names = [f"cache ({info.cached})", *(_short(row.text) for row in info.rows)]
    return axis(
        theme,
        domain=[start, min(end, 1.0)],
        range=[-1.5, len(info.rows) - 0.5],
        anchor="y2",
        side="top",
        tickangle=-90,
        tickfont={"family": MONO, "size": 11},
        tickvals=list(range(-1, len(info.rows))),
        ticktext=[label(name) for name in names],
        showgrid=False,
        fixedrange=True,
    )


def _chips(info: TreeInfo, theme: Theme, comb: float) -> Iterator[dict[str, Any]]:
    yield note(theme, "target says", comb + 20, -0.5, xref="x", yref="y", yanchor="bottom")
    yield note(theme, "position", 0, -0.5, xshift=-6, yref="y", xanchor="right", yanchor="bottom")
    for place, row in enumerate(info.rows):
        yield _chip(row.token, row.text, _x(row), place, theme) | {
            "hovertext": label(hover_text(row, info.position))
        }
        if row.adds:
            x = _x(row) + CHARACTER * columns(_short(row.text)) + 32
            yield _chip(row.adds, row.adds.text, x, place, theme) | {"hovertext": "the target's own token"}
        if row.token is None:
            continue
        yield _cell(MARKS[row.token.verdict], comb + 4, place, _mark_color(row.token, theme))
        if row.says is not None and row.says != row.text:
            yield _cell(f"<b>{label(_short(row.says))}</b>", comb + 20, place, theme.ink)


def _chip(token: Token | None, text: str, x: float, place: int, theme: Theme) -> dict[str, Any]:
    shown, fill, edge, ink, width = label(_short(text)), theme.surface, theme.line_2, theme.ink_2, 1
    if token is not None and token.verdict == OWN:
        shown, edge, ink, width = f"<b>{shown}</b>", theme.target_edge, theme.ink, 2
    elif token is not None and token.verdict in (KEPT, MISTAKE):
        fill, edge, ink = theme.tint(token.kind), theme.edge_of(token.kind), theme.ink
        width = 2 if token.verdict == KEPT else 1
        shown = f"<s>{shown}</s>" if token.verdict == MISTAKE else shown
    elif token is not None:
        edge = theme.edge_of(token.kind)
    font = {"family": MONO, "size": 12, "color": ink}
    return _cell(shown, x, place, ink) | {
        "font": font,
        "bgcolor": fill,
        "bordercolor": edge,
        "borderwidth": width,
        "borderpad": 1,
    }


def _cell(text: str, x: float, place: int, color: str) -> dict[str, Any]:
    return {
        "text": text or " ",
        "x": x,
        "y": place,
        "xref": "x",
        "yref": "y",
        "xanchor": "left",
        "yanchor": "middle",
        "showarrow": False,
        "font": {"family": MONO, "size": 12, "color": color},
    }


def _mark_color(token: Token, theme: Theme) -> str:
    return theme.mistake if token.verdict == MISTAKE else theme.ink if token.verdict == KEPT else theme.ink_3


def _wires(info: TreeInfo, theme: Theme) -> Iterator[Any]:
    """Kept thick, refused thin, never reached dashed, and a blue step to the target's own token."""
    go = graph_objects()
    styles = {
        "late": {"color": theme.edge, "width": 1, "dash": "dot"},
        "mistake": {"color": theme.edge, "width": 1},
        "kept": {"color": theme.ink, "width": 3},
        "own": {"color": theme.target_edge, "width": 2.5},
    }
    paths: dict[str, tuple[list[float | None], list[float | None]]] = {name: ([], []) for name in styles}
    for place, row in enumerate(info.rows):
        if row.adds:
            start = _x(row) + CHARACTER * columns(_short(row.text)) + 8
            _extend(paths["own"], [start, start + 26], [place, place])
        if row.token is not None:
            style = row.token.verdict if row.token.verdict in (KEPT, MISTAKE) else "late"
            stem = _x(info.rows[row.parent]) + 8
            _extend(paths[style], [stem, stem, _x(row)], [row.parent, place, place])
    for name, (x, y) in paths.items():
        yield go.Scatter(x=x, y=y, mode="lines", line=styles[name], hoverinfo="skip")


def _extend(path: tuple[list[float | None], list[float | None]], x: list[float], y: list[float]) -> None:
    path[0].extend((*x, None))
    path[1].extend((*y, None))


def _mask(info: TreeInfo, theme: Theme) -> Iterator[Any]:
    """Cells tinted by who proposed the column; itself an ink dot, hidden a small one."""
    go = graph_objects()
    kinds = list(ORIGINS)
    shades = [theme.surface, theme.ghost, theme.line_2, *(_shade(theme, kind) for kind in kinds)]
    codes = [2 if row.token is None else 3 + kinds.index(row.token.kind) for row in info.rows]
    cells = [
        [1, *(0 if cell == HIDDEN else code for cell, code in zip(mask, codes, strict=True))]
        for mask in info.mask
    ]
    yield go.Heatmap(
        x=list(range(-1, len(info.rows))),
        y=list(range(len(info.rows))),
        z=cells,
        **stepped(shades),
        xgap=1,
        ygap=1,
        hovertext=[list(_says(info, place)) for place in range(len(info.rows))],
        hoverinfo="text",
        xaxis="x2",
        yaxis="y2",
    )
    for sign, size, color in ((SELF, 7, theme.ink), (HIDDEN, 2, theme.edge)):
        dots = [(x, y) for y, mask in enumerate(info.mask) for x, cell in enumerate(mask) if cell == sign]
        yield go.Scatter(
            x=[x for x, _ in dots],
            y=[y for _, y in dots],
            mode="markers",
            marker={"size": size, "color": color},
            hoverinfo="skip",
            xaxis="x2",
            yaxis="y2",
        )


def _shade(theme: Theme, kind: str) -> str:
    return theme.target_tint if ROLES[kind] == "target" else str(getattr(theme, f"{hue(ROLES[kind])}_tint"))


def _says(info: TreeInfo, place: int) -> Iterator[str]:
    """A tooltip per cell of a row; none where nothing is seen."""
    name = label(_short(info.rows[place].text))
    yield f"{name} looks at the {info.cached} cached rows"
    for column, cell in enumerate(info.mask[place]):
        other = "itself" if cell == SELF else label(_short(info.rows[column].text))
        yield "" if cell == HIDDEN else f"{name} looks at {other}"


def _runs(info: TreeInfo) -> Iterator[tuple[str, int, int]]:
    """Neighbouring rows of one block: name, first row, last row."""
    start = 0
    for name, run in groupby(row.block for row in info.rows):
        size = len(list(run))
        yield name, start, start + size - 1
        start += size


def _borders(info: TreeInfo, theme: Theme) -> Iterator[dict[str, Any]]:
    line = {"color": theme.edge, "width": 1, "dash": "dash"}
    end = len(info.rows) - 0.5
    for _, start, _ in list(_runs(info))[1:]:
        at = start - 0.5
        yield {
            "type": "line",
            "xref": "x2",
            "yref": "y2",
            "x0": -1.5,
            "x1": end,
            "y0": at,
            "y1": at,
            "line": line,
        }
        yield {
            "type": "line",
            "xref": "x2",
            "yref": "y2",
            "x0": at,
            "x1": at,
            "y0": -0.5,
            "y1": end,
            "line": line,
        }


def _block_names(info: TreeInfo, theme: Theme, x: float) -> Iterator[dict[str, Any]]:
    for name, start, end in _runs(info):
        if name:
            yield note(theme, label(name), x, (start + end) / 2, yref="y", yanchor="middle", xshift=6)
