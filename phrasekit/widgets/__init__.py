"""Notebook and application shells around the views; each needs an extra, and says which.

They load on first use, so that replaying a trace needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "LiveDecoding": "phrasekit.widgets.live",
    "LiveSession": "phrasekit.widgets.session",
    "LiveSettings": "phrasekit.widgets.session",
    "LiveState": "phrasekit.widgets.session",
    "StepperWidget": "phrasekit.widgets.stepper",
}

if TYPE_CHECKING:
    from phrasekit.widgets.live import LiveDecoding
    from phrasekit.widgets.session import LiveSession, LiveSettings, LiveState
    from phrasekit.widgets.stepper import StepperWidget

__all__ = ["LiveDecoding", "LiveSession", "LiveSettings", "LiveState", "StepperWidget"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(
            f"module 'phrasekit.widgets' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
