"""Plotly, asked for only when something is drawn, and the look that all figures share.

Plotly reads `<b>`, `&lt;` and, where MathJax is loaded, `$…$` in every text it is given. So text that is
not ours goes through `label`, and never into a hover or text template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from phrasekit.trace.visible import visible
from phrasekit.views.theme import LIGHT, MONO, SANS, THEMES, Theme

WIDTH = 940
BOTTOM = 44  # pixels below the panels
CONFIG = {"displayModeBar": False, "responsive": True}
INSTALL = 'this drawing needs plotly. Install it: pip install "phrasekit[notebook]"'
PLOTLY_MIME = "application/vnd.plotly.v1+json"

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})


def colors(theme: str) -> Theme:
    """The colours of a theme; "auto" is light, as a figure cannot follow its page.

    Raises:
        ValueError: an unknown theme.
    """
    if theme != "auto" and theme not in THEMES:
        raise ValueError(f"theme must be auto, {' or '.join(THEMES)}, but got {theme!r}")
    return THEMES.get(theme, LIGHT)


def graph_objects() -> Any:
    """`plotly.graph_objects`.

    Raises:
        ImportError: plotly is not installed; the message says how to install it.
    """
    try:
        import plotly.graph_objects
    except ImportError:
        raise ImportError(INSTALL) from None
    return plotly.graph_objects


def label(text: object, *, spaces: bool = False, keep: int | None = None) -> str:
    """Text that plotly shows as it is: on one line, without markup and without mathematics."""
    return visible(str(text), spaces=spaces, keep=keep).translate(_MARKUP)


def lines(text: str, width: int) -> str:
    """Prose of ours, folded to lines of a figure and made safe."""
    return "<br>".join(label(line) for line in wrap(text, width))


def figure(
    sentence: str,
    theme: Theme,
    traces: Sequence[Any],
    *,
    height: int,
    axes: Mapping[str, object],
    width: int = WIDTH,
    band: int = 0,
    **layout: object,
) -> Any:
    """A figure with the sentence as its title.

    Args:
        sentence: what the figure shows, in words.
        theme: its colours.
        traces: what is drawn.
        height: of everything below the sentence, margins included.
        axes: `xaxis`, `yaxis`, … as `axis` makes them.
        width: in pixels; fixed, as notebooks forget sizes.
        band: pixels between the sentence and the panels, for a legend and headings.
        **layout: more of plotly's layout.

    Returns:
        A `plotly.graph_objects.Figure`.
    """
    go = graph_objects()
    told = lines(sentence, (width - 48) * 10 // 76)
    top = 22 + 22 * (1 + told.count("<br>")) + band
    legend = {"orientation": "h", "x": 0, "y": 1 + band / (height - BOTTOM), "yanchor": "top"}
    base: dict[str, Any] = {
        "template": go.layout.Template(),
        "title": {
            "text": told,
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14, "l": 24},
            "font": {"size": 16, "color": theme.ink},
        },
        "font": {"family": SANS, "size": 12, "color": theme.ink_2},
        "paper_bgcolor": theme.surface,
        "plot_bgcolor": theme.surface,
        "hoverlabel": {
            "font": {"family": MONO, "size": 12, "color": theme.ink},
            "bgcolor": theme.surface,
            "bordercolor": theme.line_2,
            "align": "left",
        },
        "width": width,
        "height": height + top,
        "margin": {"l": 64, "r": 24, "t": top, "b": BOTTOM},
        "legend": legend | {"font": {"size": 12}, "bgcolor": "rgba(0,0,0,0)"},
        "hovermode": "closest",
        "bargap": 0.3,
    }
    return go.Figure(data=list(traces), layout=_merged(base, {**axes, **layout}))


def axis(theme: Theme, title: str = "", **changes: Any) -> dict[str, Any]:
    """An axis with hairlines only."""
    base: dict[str, Any] = {
        "title": {"text": title, "font": {"size": 12, "color": theme.ink_3}, "standoff": 8},
        "tickfont": {"size": 11, "color": theme.ink_3},
        "gridcolor": theme.line,
        "zeroline": False,
        "showline": False,
        "ticks": "",
    }
    return _merged(base, changes)


def note(theme: Theme, text: str, x: float, y: float, **changes: Any) -> dict[str, Any]:
    """A line of small text on a figure, placed on the paper unless told otherwise."""
    base: dict[str, Any] = {
        "text": text,
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "align": "left",
        "font": {"size": 12, "color": theme.ink_3},
    }
    return _merged(base, changes)


def heading(theme: Theme, title: str, words: str, x: float, y: float) -> dict[str, Any]:
    """A panel's title with a few words behind it."""
    told = f"<b>{title}</b>  <span style='color:{theme.ink_3}'>{words}</span>"
    return note(theme, told, x, y, font={"size": 13, "color": theme.ink}, yshift=4)


def blend(color: str, other: str, share: float) -> str:
    """A mixture of two `#rrggbb` colours, `share` of the first."""
    pairs = ((int(color[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(share * one + (1 - share) * two):02X}" for one, two in pairs)


def stepped(shades: Sequence[str]) -> dict[str, Any]:
    """A heatmap's colours for the codes 0, 1, 2, …, without anything between them."""
    edges = [(place + side) / len(shades) for place in range(len(shades)) for side in (0, 1)]
    scale = [[edge, shades[place // 2]] for place, edge in enumerate(edges)]
    return {"colorscale": scale, "zmin": -0.5, "zmax": len(shades) - 0.5, "showscale": False}


def figure_json(drawn: Any) -> dict[str, Any]:
    """What notebooks show as a figure."""
    plain: dict[str, Any] = json.loads(drawn.to_json())
    return plain | {"config": CONFIG}


def figure_html(drawn: Any, *, whole: bool = True) -> str:
    """A page (or a part of one) that needs no network: plotly's own code is inside."""
    html: str = drawn.to_html(include_plotlyjs=True, full_html=whole, config=CONFIG)
    return html


def _merged(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes win; dictionaries in both are merged."""
    both = {
        name: _merged(base[name], value)
        if isinstance(base.get(name), dict) and isinstance(value, dict)
        else value
        for name, value in changes.items()
    }
    return base | both
