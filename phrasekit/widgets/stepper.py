"""The stepper as a notebook widget whose iteration and selection Python can read and set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from phrasekit.trace import Trace
from phrasekit.views import stepper as _stepper_room
from phrasekit.views.stepper.info import LIMIT, stepper_info
from phrasekit.views.stepper.page import THEME_NAMES, StepperView, info_of, start

try:
    import anywidget
    import traitlets
except ImportError as error:  # pragma: no cover - tested in a process of its own
    raise ImportError(
        "the stepper widget needs anywidget, which is not installed; run: pip install phrasekit[notebook]. "
        "phrasekit.views.stepper.stepper(trace) shows the same without it."
    ) from error

FOLDER = Path(_stepper_room.__file__).parent


class StepperWidget(anywidget.AnyWidget):
    """Steps through a run; what a person does in the page comes back as traits, and the other way round.

    Attributes:
        step: the iteration shown, from 0.
        selection: what is locked: `{"iteration": 4, "node": 2}`, `{"phrase": 7}`, or None. Node −1 is
            the last committed token, the number of nodes stands for the target's own token.
        theme: "auto", "light" or "dark".
        info: everything shown, as plain data.

    Example:
        widget = StepperWidget(trace, step=4)
        widget.observe(lambda change: print(change.new), "step")
    """

    _esm = FOLDER / "stepper.js"
    _css = FOLDER / "stepper.css"
    info = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    selection = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    theme = traitlets.Enum(THEME_NAMES, default_value="auto").tag(sync=True)

    def __init__(
        self,
        trace: Trace | str | os.PathLike[str],
        *,
        step: int = 0,
        theme: str = "auto",
        baseline: Trace | None = None,
        limit: int = LIMIT,
    ) -> None:
        """Work out what to show.

        Args:
            trace: a run, or the path of a trace file; one that cannot be shown gives a widget that says why.
            step: iteration shown first; negative counts from the end.
            theme: "auto" follows the notebook.
            baseline: plain decoding of the same prompt, to compare text and time with.
            limit: show at most this many iterations.
        """
        self._limit = limit
        self._shown = info_of(trace, baseline=baseline, limit=limit)
        super().__init__(info=self._shown.plain_data(), step=start(self._shown, step), theme=theme)

    def update(self, trace: Trace, *, baseline: Trace | None = None) -> None:
        """Show another run, or the same one grown longer; the iteration stays where it is."""
        self._shown = stepper_info(trace, baseline=baseline, limit=self._limit)
        with self.hold_sync():
            self.step = start(self._shown, self.step)
            self.info = self._shown.plain_data()

    @traitlets.validate("step")
    def _within(self, proposal: Any) -> int:
        return start(self._shown, max(0, int(proposal["value"])))

    def view(self) -> StepperView:
        """The same picture without a kernel, for pages and exports."""
        return StepperView(self._shown, self.step, self.theme)

    def __repr__(self) -> str:
        if self._shown.notice:
            return "StepperWidget(nothing to show)"
        return f"StepperWidget({self._shown.method}, iteration {self.step + 1} of {self._shown.total})"
