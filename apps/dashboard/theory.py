"""Theory: the paper's equations, with the point of the run shown on their curves."""

from __future__ import annotations

from typing import Any

import panel as pn

from dashboard.figures import FigureTab
from dashboard.runbar import RunBar
from dashboard.session import Session
from phrasekit.trace import Trace
from phrasekit.views import View, speedup_view


class TheoryTab(pn.viewable.Viewer):
    """Eq. 5, Eq. 6 and the ceiling, measured and in theory."""

    def __init__(self, session: Session, bar: RunBar, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.figure = FigureTab(session, "theory", self._view)

    def _view(self, trace: Trace) -> View:
        return speedup_view(trace, plain=self.session.baseline)

    def __panel__(self) -> Any:
        return self.figure.layout
