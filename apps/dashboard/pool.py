"""Pool: how the phrase pool of the run shown grew, and which phrases were worth their place."""

from __future__ import annotations

from typing import Any

import panel as pn

from dashboard.figures import FigureTab
from dashboard.runbar import RunBar
from dashboard.session import Session
from phrasekit.views import pool_view


class PoolTab(pn.viewable.Viewer):
    """The pool view on the trace that Step shows."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.figure = FigureTab(session, "pool", pool_view)

    def __panel__(self) -> Any:
        return self.figure.layout
