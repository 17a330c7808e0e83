"""The text as it arrives, in the chips of every other view, with a flag wherever a knob moved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import param
from panel.custom import JSComponent

from phrasekit.trace import Iteration
from phrasekit.views.escape import escape
from phrasekit.views.html import chips, style
from phrasekit.views.tokens import emitted_tokens

FOLDER = Path(__file__).parent


class Prose(JSComponent):
    """Pieces of markup, one per iteration; those already shown are not drawn again.

    Attributes:
        pieces: markup, escaped by `piece`.
        run: another number begins another text.
        theme: "light" or "dark".
    """

    pieces = param.List(default=[])
    run = param.Integer(0)
    theme = param.Selector(default="light", objects=["light", "dark"])

    _esm = FOLDER / "prose.js"
    _stylesheets = [style(), (FOLDER / "prose.css").read_text("utf-8")]  # noqa: RUF012


def piece(iteration: Iteration, texts: Mapping[int, str], moved: str = "") -> str:
    """An iteration's tokens as chips under a bracket with its number."""
    flag = f'<span class="pk-flag">{escape(moved)}</span>' if moved else ""
    number = f'<span class="pk-no" aria-hidden="true">{iteration.index + 1}</span>'
    shown = chips(emitted_tokens(iteration, texts), breaks=True)
    return f'{flag}<span class="pk-it">{number}{shown}</span><wbr>'
