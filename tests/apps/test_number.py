"""A field for a number takes what fits, and says what becomes of the rest."""

from __future__ import annotations

import pytest

from dashboard.parts.number import number, read
from dashboard.parts.runbar import RunBar
from dashboard.visitor.options import Options
from dashboard.visitor.state import Settings


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        ("12", 12, ""),
        (" 512 ", 512, ""),
        ("1500", 512, "512 is the most"),
        ("99999999", 512, "512 is the most"),
        ("0", 1, "1 is the least"),
        ("-5", 1, "1 is the least"),
        ("1.5", 160, "'1.5' is no whole number"),
        ("abc", 160, "'abc' is no whole number"),
        ("", 160, "a number is missing"),
    ],
)
def test_what_is_typed_is_taken_or_told(text, value, told):
    settings = Settings()
    field = number(settings, "tokens", "Tokens at most")
    field.value = text
    assert (settings.tokens, field.value) == (value, str(value))
    assert (field.helper_text, field.error_state) == (told, bool(told))
    field.value = "20"
    assert (settings.tokens, field.helper_text, field.error_state) == (20, "", False)


def test_the_label_says_which_numbers_this_server_takes():
    assert number(Settings(), "tokens", "Tokens at most").label == "Tokens at most, 1–512"
    capped = Settings.of(Options(new_tokens=64))
    assert number(capped, "tokens", "Tokens at most").label == "Tokens at most, 1–64"
    assert read("100", 1, 64) == (64, "64 is the most")


def test_the_run_bar_follows_the_setting(visitor):
    session = visitor()
    bar = RunBar(session)
    session.settings.tokens = 77
    assert (bar.tokens.value, bar.tokens.helper_text) == ("77", "")
    bar.tokens.value = "-5"
    assert session.settings.tokens == 1
