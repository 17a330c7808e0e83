"""Model text made safe and visible: what a terminal would obey or hide is spelled out."""

from __future__ import annotations

from collections.abc import Mapping
from unicodedata import category, east_asian_width

_MARKS = {" ": "·", "\n": "⏎", "\t": "⇥"}


def visible(text: str, *, spaces: bool = True, keep: int | None = None, reserved: str = "") -> str:
    r"""Spell out every character that a terminal would obey, reorder, or not show.

    Escape sequences, carriage returns, C0 and C1 controls, bidirectional overrides, zero-width and
    unassigned characters come out as `\x1b`, `\u202e` and so on.

    Args:
        text: anything, lone surrogates included.
        spaces: show a space as `·`.
        keep: at most this many columns of output, plus a count of the characters left out.
        reserved: printable characters to spell out too, since the caller gives them a meaning.

    Returns:
        Printable text on one line.
    """
    if text.isascii() and text.isprintable() and not reserved and (keep is None or len(text) <= keep):
        return text.replace(" ", _MARKS[" "]) if spaces else text  # most text, at once
    shown: list[str] = []
    room = len(text) * 10 if keep is None else keep
    for position, character in enumerate(text):
        piece = _spell(character, spaces=spaces, reserved=reserved)
        room -= max(1, columns(piece))
        if room < 0:
            return "".join(shown) + f"…(+{len(text) - position})"
        shown.append(piece)
    return "".join(shown)


def token_text(token: int, texts: Mapping[int, str]) -> str:
    """Text of a token, or `#id` where the trace does not know it."""
    return texts.get(token, f"#{token}")


def columns(text: str) -> int:
    """Terminal columns that printable text takes."""
    return sum(_width(character) for character in text)


def _spell(character: str, *, spaces: bool, reserved: str) -> str:
    if character == " " and not spaces:
        return character
    if character in _MARKS:
        return _MARKS[character]
    if character.isprintable() and character not in reserved:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _width(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1
