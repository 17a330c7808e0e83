"""A dialog, and its way back."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui


def dialog(*objects: Any, title: str, opener: Any, **params: Any) -> pmui.Dialog:
    """Its button, Escape and a click beside it close it; then the focus is where it was.

    Args:
        objects: what is in it.
        title: what it is about.
        opener: the button that opens it.
        params: of the dialog.
    """
    made = pmui.Dialog(
        *objects,
        title=title,
        title_variant="h6",
        show_close_button=True,
        close_on_click=True,
        scroll="paper",
        sx={"& .MuiDialogTitle-root + .MuiIconButton-root": {"color": "text.primary", "margin": "8px"}},
        styles={"position": "absolute"},  # closed, it takes no room
        **params,
    )
    made.param.watch(lambda event: None if event.new else opener.focus(), "open")
    return made
