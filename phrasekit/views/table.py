"""The table twin of a view: the same facts as rows, for readers, screen readers and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phrasekit.trace.visible import columns as width_of
from phrasekit.trace.visible import visible
from phrasekit.views.escape import escape

Cell = str | int | float | bool | None

HTML_ROWS = 200
TEXT_ROWS = 60
CELL_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns.

    Attributes:
        columns: their names.
        rows: one tuple of cells per row; None is something that does not apply.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def dicts(self) -> list[dict[str, Cell]]:
        """Rows by column name, as `pandas.DataFrame` takes them."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def column(self, name: str) -> tuple[Cell, ...]:
        """One column.

        Raises:
            ValueError: there is none of that name.
        """
        return tuple(row[self.columns.index(name)] for row in self.rows)

    def text(self, most: int = TEXT_ROWS) -> str:
        """Aligned columns; of a long table the first rows and a count of the rest."""
        shown = [self.columns, *(tuple(map(_shown, row)) for row in self.rows[:most])]
        widths = [max(map(width_of, cells)) for cells in zip(*shown, strict=True)]
        lines = ["  ".join(_padded(row, widths, self._numeric())).rstrip() for row in shown]
        if len(self.rows) > most:
            lines.append(f"and {len(self.rows) - most} more rows")
        return "\n".join(lines)

    def html(self, most: int = HTML_ROWS) -> str:
        """A `<table>`; of a long table the first rows and a count of the rest."""
        numeric = self._numeric()
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "".join(f"<tr>{''.join(_html_cells(row, numeric))}</tr>" for row in self.rows[:most])
        more = len(self.rows) - most
        foot = f'<p class="pk-note">and {more} more rows</p>' if more > 0 else ""
        return f'<table class="pk-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}'

    def __str__(self) -> str:
        """As text."""
        return self.text()

    def _numeric(self) -> list[bool]:
        """Which columns hold numbers only, and so stand to the right."""
        return [
            any(cell is not None for cell in cells)
            and all(cell is None or _is_number(cell) for cell in cells)
            for cells in (zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns))
        ]


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return visible(str(cell), spaces=False, keep=CELL_COLUMNS)


def _padded(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    for text, width, right in zip(row, widths, numeric, strict=True):
        space = " " * (width - width_of(text))
        yield space + text if right else text + space


def _html_cells(row: Sequence[Cell], numeric: Sequence[bool]) -> Iterator[str]:
    for cell, right in zip(row, numeric, strict=True):
        yield f'<td class="pk-n">{escape(_shown(cell))}</td>' if right else f"<td>{escape(_shown(cell))}</td>"
