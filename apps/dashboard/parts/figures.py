"""A tab that holds one of phrasekit's views: drawn by plotly, which loads when the first figure is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from dashboard.parts.look import card, html
from dashboard.visitor.session import Session
from phrasekit.trace import Trace
from phrasekit.views import Html, View
from phrasekit.views.escape import escape
from phrasekit.views.figure import figure_json
from phrasekit.views.html import fragment

FOLDER = Path(__file__).parent
TITLE_LINE, GAP = 22, 12  # pixels of a line of a figure's title, and that stay above the drawing
# Plotly lays its drawing, and titles and notes over it, by rules that it puts where a component does not see
# them.
LAYERS = """
.js-plotly-plot .plotly .svg-container{position:relative}
.js-plotly-plot .plotly .main-svg{position:absolute;top:0;left:0;pointer-events:none;overflow:hidden}
.js-plotly-plot .plotly .main-svg .draglayer{pointer-events:all}
"""


class Drawing(JSComponent):
    """A plotly figure. Panel's own pane would make every page load five megabytes before it can be used.

    Attributes:
        figure: data, layout and config, as plain values; {} draws nothing.
        source: where plotly's code lies, on this server.
        least: pixels that the drawing needs; where there are fewer, it scrolls in its own box.
    """

    figure = param.Dict(default={})
    source = param.String("")
    least = param.Integer(620)

    _esm = FOLDER / "figures.js"
    _stylesheets = [LAYERS]  # noqa: RUF012

    def __init__(self, **params: Any) -> None:
        super().__init__(source=_code(), **params)

    def draw(self, drawn: Any) -> None:
        """Show a `plotly.graph_objects.Figure`, as wide as there is room; its sentence stands above it."""
        layout = drawn.layout
        title = TITLE_LINE * (2 + (layout.title.text or "").count("<br>")) - GAP
        self.figure = figure_json(
            drawn.update_layout(
                width=None,
                autosize=True,
                title={"text": ""},
                height=layout.height - title,
                margin={"t": layout.margin.t - title},
            )
        )


def lead(sentence: str) -> str:
    """The sentence above a figure, as markup."""
    return f'<p class="lead">{escape(sentence)}</p>'


class FigureTab:
    """A view of the trace that Step shows; drawn where somebody looks, and when a run has ended.

    Attributes:
        layout: to show.
    """

    def __init__(self, session: Session, tab: str, view: Callable[[Trace], View]) -> None:
        self.session, self._tab, self._view = session, tab, view
        self._shown: tuple[object, ...] = ()
        self.figure = Drawing(sizing_mode="stretch_width", margin=0)
        self.table = html(padding="0 20px 16px")
        self.sentence = html(padding="14px 20px 0")
        self.layout = card(self.sentence, self.figure, self.table)
        session.watch(self.show)
        session.param.watch(lambda *_: self.show(), "theme")
        session.settings.param.watch(lambda *_: self.show(), "tab")
        self.show()

    def show(self) -> None:
        """Draw it, unless it is drawn already or nobody looks."""
        if self.session.settings.tab != self._tab:
            return
        state = self._state()
        if state == self._shown:
            return
        self._shown = state
        try:
            self._draw(self._view(self.session.trace).themed(self.session.theme))
        except ValueError as error:
            self.figure.figure, self.sentence.object = {}, ""
            self.table.object = f'<p class="note">{escape(error)}</p>'

    def _draw(self, view: View) -> None:
        self.sentence.object = lead(view.sentence)
        drawn, table = view.draw(), fragment(view.table.html(), self.session.theme)
        folded = f"<details><summary>Show as table</summary>{table}</details>"
        if isinstance(drawn, Html):
            self.table.object = fragment(drawn.markup, self.session.theme) + folded
        else:
            self.figure.draw(drawn)
            self.table.object = folded

    def _state(self) -> tuple[object, ...]:
        """What the drawing depends on."""
        session = self.session
        run, plain = session.run, session.plain
        ran = (run.number, run.status) if run is not None else ()
        return (session.source, session.theme, id(session.uploaded), plain is not None and plain.over, *ran)


def _code() -> str:
    """Where Panel serves the copy of plotly.js that it brings.

    Panel's own model knows, but importing it makes every page load that file.
    """
    folder = Path(pn.__file__).parent / "dist" / "bundled" / "plotlyplot"
    found = sorted(folder.glob("plotly-*.min.js"))
    return f"static/extensions/panel/bundled/plotlyplot/{found[-1].name}" if found else ""
