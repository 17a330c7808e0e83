"""A field for a number: its label says which ones there are, and a line below what became of another one."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from dashboard.visitor.state import Settings

LONGEST = 12  # characters


def number(settings: Settings, name: str, label: str, **params: Any) -> pmui.TextInput:
    """A whole number of the settings, both ways; what is outside its bounds becomes the nearest inside.

    A field of text, as the buttons of a number's have no names.

    Args:
        settings: whose.
        name: of the setting.
        label: what it is.
        params: of the field.
    """
    least, most = settings.param[name].bounds
    field = pmui.TextInput(
        label=f"{label}, {least}–{most}",
        value=str(getattr(settings, name)),
        size="small",
        max_length=LONGEST,
        **params,
    )

    def take(event: Any) -> None:
        value, told = read(event.new, least, most)
        if value is not None:
            setattr(settings, name, value)
        field.value = str(getattr(settings, name))
        field.param.update(helper_text=told, error_state=bool(told))  # last: a new value takes it away

    def show(event: Any) -> None:
        if field.value != str(event.new):
            field.value = str(event.new)

    field.param.watch(take, "value")
    settings.param.watch(show, name)
    return field


def read(text: str, least: int, most: int) -> tuple[int | None, str]:
    """What was typed, as a number within the bounds, and what is to be said of it; None is no number."""
    try:
        given = int(text)
    except ValueError:
        return None, f"{text.strip()[:12]!r} is no whole number" if text.strip() else "a number is missing"
    if given < least:
        return least, f"{least} is the least"
    return (most, f"{most} is the most") if given > most else (given, "")
