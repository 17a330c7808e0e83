"""The embedded model pair: folders that transformers loads as they are, tuned defaults, recorded runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phrasekit.trace import Trace

FOLDER = Path(__file__).parent
TRACES = FOLDER / "traces"


def defaults() -> dict[str, dict[str, Any]]:
    """Knobs tuned for the embedded pair, by method."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "defaults.json").read_text(encoding="utf-8"))
    return found


def traces() -> tuple[str, ...]:
    """Names of the recorded runs: one prompt, one text, every method; plain decoding first.

    "ouroboros_window" is Ouroboros with the lookahead window on (W = 5); "ouroboros" has it off.
    """
    names = sorted(path.stem for path in TRACES.glob("*.jsonl"))
    return tuple(sorted(names, key=lambda name: name != "vanilla"))


def load_recorded(name: str = "ouroboros") -> Trace:
    """A recorded run of the embedded pair; neither torch nor a model is needed.

    Args:
        name: one of `traces()`.

    Raises:
        ValueError: there is no such run.
    """
    from phrasekit.trace import load_trace

    if name not in traces():
        raise ValueError(f"a recorded run must be one of {', '.join(traces())}, but got {str(name)[:40]!r}")
    return load_trace(TRACES / f"{name}.jsonl")
