"""The text as it arrives, in the chips of every other view, with a flag wherever a knob moved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from phrasekit.trace import Iteration
from phrasekit.trace.records import DRAFT, KINDS, TARGET
from phrasekit.views.escape import escape
from phrasekit.views.html import chips, style
from phrasekit.views.theme import ROLES
from phrasekit.views.tokens import KEPT, ORIGINS, OWN, emitted_tokens

FOLDER = Path(__file__).parent


class Prose(JSComponent):
    """Pieces of markup, one per iteration; only new ones travel.

    Attributes:
        part: `{"run": its number, "first": index of the first piece, "pieces": markup escaped by `piece`}`.
        key: what the hues mean, as markup of `legend`.
        asked: raised by a page that shows the text anew and needs all of it.
        theme: "light" or "dark".
    """

    part = param.Dict(default={"run": 0, "first": 0, "pieces": []})
    key = param.String("")
    asked = param.Integer(0)
    theme = param.Selector(default="light", objects=["light", "dark"])

    _esm = FOLDER / "prose.js"
    _stylesheets = [style(), (FOLDER / "prose.css").read_text("utf-8")]  # noqa: RUF012

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.pieces: list[str] = []
        self._run = 0
        self._kinds: set[str] = set()
        self.param.watch(self._again, "asked")

    def begin(self, run: int) -> None:
        """Another text."""
        self.pieces, self._run, self._kinds, self.key = [], run, set(), ""
        self._send(0)

    def extend(self, pieces: Sequence[str], kinds: Iterable[str] = ()) -> None:
        """More of the text, and who proposed it."""
        known = len(self.pieces)
        self.pieces += pieces
        self._send(known)
        self._kinds.update(kinds)
        self.key = legend(self._kinds)

    def _again(self, _: Any) -> None:
        self._send(0)

    def _send(self, first: int) -> None:
        self.part = {"run": self._run, "first": first, "pieces": self.pieces[first:]}


def legend(kinds: Collection[str]) -> str:
    """What the hues of some kinds of tokens mean: real chips as swatches."""
    return "".join(
        f'<span><span class="pk-t {ROLES[kind]} {_look(kind)}">a</span> {ORIGINS[kind]}</span>'
        for kind in KINDS
        if kind in kinds
    )


def _look(kind: str) -> str:
    """A chip of the kind as it stands in a text, with the corner of what came from the pool."""
    if kind == TARGET:
        return OWN
    return KEPT if kind == DRAFT else f"{KEPT} pk-first"


def piece(iteration: Iteration, texts: Mapping[int, str], moved: str = "") -> str:
    """An iteration's tokens as chips under a bracket with its number."""
    flag = f'<span class="pk-flag">{escape(moved)}</span>' if moved else ""
    number = f'<span class="pk-no" aria-hidden="true">{iteration.index + 1}</span>'
    shown = chips(emitted_tokens(iteration, texts), breaks=True)
    return f'{flag}<span class="pk-it">{number}{shown}</span><wbr>'
