"""A view: what to draw, how it is drawn, and what stands in its place where nothing can be drawn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from phrasekit.trace.whole import write_whole
from phrasekit.views.escape import escape
from phrasekit.views.figure import PLOTLY_MIME, figure_html, figure_json
from phrasekit.views.html import Html, details, fragment, page
from phrasekit.views.table import Table


class Info(Protocol):
    """The record of a view: everything it shows, as plain data."""

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        ...

    def table(self) -> Table:
        """The same facts as rows."""
        ...

    def text(self) -> str:
        """The view for a terminal, the sentence first."""
        ...


@dataclass(frozen=True, repr=False, slots=True)
class View:
    """A record with its drawing.

    A notebook shows the drawing; where plotly is missing or its output is not understood, the sentence
    and the table. `str` is the text form, the same every time.

    Attributes:
        info: what to draw.
        painter: draws it; takes the record and the name of a theme.
        theme: "auto", "light" or "dark".
    """

    info: Info
    painter: Callable[[Any, str], Any]
    theme: str = "auto"

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        return self.info.sentence

    @property
    def table(self) -> Table:
        """The same facts as rows."""
        return self.info.table()

    def themed(self, theme: str) -> View:
        """The same view in the colours "light", "dark" or "auto"."""
        return replace(self, theme=theme)

    def draw(self) -> Any:
        """A plotly figure, or `Html`.

        Raises:
            ImportError: it needs plotly, which is not installed.
        """
        return self.painter(self.info, self.theme)

    def html(self) -> str:
        """A page of its own that needs no network, with the table below the drawing."""
        drawn = self.draw()
        markup = drawn.markup if isinstance(drawn, Html) else _plate(figure_html(drawn, whole=False))
        return page(fragment(markup + self._twin(), self.theme), self.sentence, self.theme)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `html()` to a file, which appears whole or stays as it was."""
        write_whole(path, self.html().encode("utf-8"))
        return Path(path)

    def _twin(self) -> str:
        return details("Show as table", self.table.html())

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Every form a notebook may choose from."""
        bundle: dict[str, Any] = {"text/plain": str(self)}
        told = f'<p class="pk-lead">{escape(self.sentence)}</p>'
        try:
            drawn = self.draw()
        except ImportError as missing:
            told += f'<p class="pk-note">{escape(str(missing))}</p>'
            return bundle | {"text/html": fragment(told + self.table.html(), self.theme)}
        if isinstance(drawn, Html):
            return bundle | {"text/html": fragment(drawn.markup + self._twin(), self.theme)}
        bundle["text/html"] = fragment(told + self.table.html(), self.theme)
        return bundle | {PLOTLY_MIME: figure_json(drawn)}

    def __str__(self) -> str:
        """The text form."""
        return self.info.text()

    __repr__ = __str__


def _plate(markup: str) -> str:
    return f'<div class="pk-figure">{markup}</div>'
