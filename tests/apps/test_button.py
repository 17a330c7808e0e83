"""A button that is off can be reached, says why, and does nothing."""

from __future__ import annotations

from dashboard.parts.button import Button


def test_a_button_is_off_for_a_reason_and_on_without_one():
    button, pressed = Button(label="Cancel"), []
    button.on_click(lambda event: pressed.append(event.new))
    button.off("No run goes on.")
    assert (button.disabled, button.why) == (True, "No run goes on.")
    button.off("")
    assert (button.disabled, button.why) == (False, "")
    button._handle_click(None)
    assert pressed == [1]
