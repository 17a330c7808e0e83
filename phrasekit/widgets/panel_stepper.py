"""The stepper as a Panel component, on the same module and style sheet as everywhere else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from phrasekit.trace import Trace
from phrasekit.views import stepper as _stepper_room
from phrasekit.views.stepper.info import LIMIT, stepper_info
from phrasekit.views.stepper.page import THEME_NAMES, info_of, start, style
from phrasekit.views.stepper.records import RECORDED

try:
    import param
    from panel.custom import JSComponent
except ImportError as error:  # pragma: no cover - tested in a process of its own
    raise ImportError(
        "the Panel stepper needs panel, which is not installed; run: pip install phrasekit[app]"
    ) from error

FOLDER = Path(_stepper_room.__file__).parent


class PanelStepper(JSComponent):
    """Steps through a run in a Panel application; `step` and `selection` go both ways.

    Attributes:
        step: the iteration shown, from 0.
        selection: what is locked: `{"iteration": 4, "node": 2}`, `{"phrase": 7}`, or None.
        theme: "auto", "light" or "dark".
        info: everything shown, as plain data.
    """

    info = param.Dict(default={}, doc="everything shown")
    step = param.Integer(default=0, bounds=(0, None), doc="iteration shown, from 0")
    selection = param.Dict(default=None, allow_None=True, doc="what is locked")
    theme: Any = param.Selector(default="auto", objects=list(THEME_NAMES), doc="light, dark or the system's")

    _esm = FOLDER / "stepper.js"
    _stylesheets = [style()]  # noqa: RUF012 - as text: Panel serves files from beside the component only

    def __init__(
        self,
        trace: Trace | str | os.PathLike[str],
        *,
        step: int = 0,
        baseline: Trace | None = None,
        limit: int = LIMIT,
        **params: Any,
    ) -> None:
        """Work out what to show; arguments as for `StepperWidget`, and Panel's own."""
        shown = info_of(trace, baseline=baseline, limit=limit)
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(  # type: ignore[no-untyped-call,unused-ignore]
            info=shown.plain_data(), step=start(shown, step), **params
        )

    def update(
        self,
        trace: Trace,
        *,
        baseline: Trace | None = None,
        limit: int = LIMIT,
        origin: str = RECORDED,
    ) -> None:
        """Show another run, or the same one grown longer; the iteration stays where it is.

        Args:
            trace: what to show.
            baseline: plain decoding of the same prompt.
            limit: show at most this many iterations.
            origin: whose run it is, in words.
        """
        shown = replace(stepper_info(trace, baseline=baseline, limit=limit), origin=origin)
        self.param.update(info=shown.plain_data(), step=start(shown, self.step))
