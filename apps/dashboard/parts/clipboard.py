"""Script that puts a text on the clipboard."""

from __future__ import annotations

from pathlib import Path

CLIPBOARD = (Path(__file__).parent / "clipboard.js").read_text("utf-8")  # has `copied(text, near)`
