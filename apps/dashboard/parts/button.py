"""A button that says why it is off; Material UI's cannot be reached then, and its words hide the label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

FOLDER = Path(__file__).parent
LOOK = (FOLDER / "button.css").read_text("utf-8")  # of every button of ours


class Button(JSComponent):
    """A button.

    Attributes:
        label: on it.
        variant: "contained" for what a page is there for, "outlined" or "text".
        why: why it is off; said where it is.
        clicks: how often it was pressed.
    """

    label = param.String("")
    variant = param.Selector(default="outlined", objects=["contained", "outlined", "text"])
    disabled = param.Boolean(False)
    why = param.String("")
    clicks = param.Integer(0)

    _esm = FOLDER / "button.js"
    _stylesheets = [LOOK]  # noqa: RUF012

    def on_click(self, do: Callable[[Any], Any]) -> None:
        """Do something whenever it is pressed."""
        self.param.watch(do, "clicks")

    def off(self, why: str) -> None:
        """Switch it off for a reason, or on where there is none."""
        self.param.update(disabled=bool(why), why=why)

    def focus(self) -> None:
        """Put the keyboard here."""
        self._send_msg({})

    def _handle_click(self, _: Any) -> None:
        self.clicks += 1
