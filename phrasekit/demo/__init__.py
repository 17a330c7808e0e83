"""The embedded model pair: folders that transformers loads as they are, and their tuned defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def defaults() -> dict[str, dict[str, Any]]:
    """Knobs tuned for the embedded pair, by method."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "defaults.json").read_text(encoding="utf-8"))
    return found
