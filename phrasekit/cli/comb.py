"""One iteration's token tree as text: a column per position, the target's words on top.

Needs a trace only, no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from phrasekit.cli.tokens import STYLES
from phrasekit.trace import Iteration
from phrasekit.trace.records import GUIDE, LOOKUP, TARGET, WINDOW
from phrasekit.trace.visible import columns, token_text, visible

ACCEPTED, MISTAKE, LATE, WRONG = "✓", "✗", "=", "≠"
MARKS = f"{ACCEPTED} accepted · {MISTAKE} mistake · behind a mistake: {LATE} right, {WRONG} wrong"
LONGEST = 16  # columns of one token
GAP = 2

_Cell = tuple[str, str]  # text, style


@dataclass(frozen=True)
class _Row:
    """A label, and cells by position; the first position of the iteration is 0."""

    label: str
    cells: Mapping[int, _Cell]


def comb(iteration: Iteration, texts: Mapping[int, str], width: int) -> Iterator[Text]:
    """Draw the tree of an iteration.

    Args:
        iteration: of any decoder.
        texts: of token ids.
        width: columns to stay within; a longer tree goes on below.

    Yields:
        Lines.
    """
    rows = list(_rows(iteration, texts))
    size = 1 + max(at for row in rows for at in row.cells)
    widths = [max(columns(row.cells[at][0]) for row in rows if at in row.cells) for at in range(size)]
    margin = GAP + max(columns(row.label) for row in rows)
    for block in _blocks(widths, width - margin):
        for row in rows:
            if any(at in row.cells for at in block):
                yield _line(row, margin, widths, block)
    window = iteration.tree.kinds.count(WINDOW)
    if window:
        yield Text(f"{'window':{margin}}{window} rows, never emitted", style="dim")


def _rows(iteration: Iteration, texts: Mapping[int, str]) -> Iterator[_Row]:
    tree = iteration.tree
    says = _target_cells(iteration, texts)
    branches = [_branch_row(iteration, number, texts) for number in range(len(tree.branches))]
    trunk = _cells(iteration, tree.trunk, texts)
    last = max([0, *says, *trunk, *(at for row in branches for at in row.cells)])
    yield _Row("position", {at: (str(iteration.position + at), "dim") for at in range(last + 1)})
    yield _Row("target", says)
    if trunk:
        copied = all(tree.kinds[node] == LOOKUP for node in tree.trunk)
        name = "copy" if copied else "tail" if iteration.round.schedule else "draft"
        yield _Row(f"{name}  A {iteration.accepted}  #Match {iteration.matches}", trunk)
    yield from branches


def _target_cells(iteration: Iteration, texts: Mapping[int, str]) -> dict[int, _Cell]:
    """What was emitted, then the target's verdicts on the rest of the draft."""
    says = [(token, STYLES[TARGET]) for token in iteration.emitted]
    verdicts = [iteration.picks[iteration.tree.parents[node] + 1] for node in iteration.tree.trunk]
    says += [(token, "dim") for token in verdicts[len(says) :]]
    return {at: (_word(token, texts), style) for at, (token, style) in enumerate(says) if token >= 0}


def _branch_row(iteration: Iteration, number: int, texts: Mapping[int, str]) -> _Row:
    tree = iteration.tree
    nodes = tree.branches[number].nodes
    behind = tree.trunk and nodes and tree.parents[nodes[0]] == tree.trunk[-1]
    name = "guide" if tree.branches[number].kind == GUIDE else "suffix" if behind else "guess"
    label = f"{name} {number + 1}  Â {iteration.suffix_accepted[number]}"
    return _Row(label, _cells(iteration, nodes, texts))


def _cells(iteration: Iteration, nodes: Sequence[int], texts: Mapping[int, str]) -> dict[int, _Cell]:
    tree, path = iteration.tree, set(iteration.path)
    cells = {}
    for node in nodes:
        mark = _mark(iteration, node, path)
        style = STYLES.get(tree.kinds[node], "")
        cells[tree.depth(node) - 1] = (
            f"{mark}{_word(tree.tokens[node], texts)}",
            style if mark == ACCEPTED else f"dim {style}",
        )
    return cells


def _mark(iteration: Iteration, node: int, path: set[int]) -> str:
    parent = iteration.tree.parents[node]
    if node in path:
        return ACCEPTED
    if iteration.picks[parent + 1] == iteration.tree.tokens[node]:
        return LATE
    return MISTAKE if parent in path or parent < 0 else WRONG


def _word(token: int, texts: Mapping[int, str]) -> str:
    shown = re.sub("·{5,}", lambda run: f"·×{len(run[0])}", visible(token_text(token, texts)))
    return shown if columns(shown) <= LONGEST else visible(token_text(token, texts), keep=LONGEST - 6)


def _blocks(widths: Sequence[int], room: int) -> Iterator[range]:
    """Neighbouring columns that fit beside each other."""
    start, used = 0, 0
    for at, width in enumerate(widths):
        if used and used + width > room:
            yield range(start, at)
            start, used = at, 0
        used += width + GAP
    yield range(start, len(widths))


def _line(row: _Row, margin: int, widths: Sequence[int], block: range) -> Text:
    line = Text(row.label + " " * (margin - columns(row.label)))
    for at in block:
        text, style = row.cells.get(at, ("", ""))
        line.append(text, style=style)
        line.append(" " * (widths[at] + GAP - columns(text)))
    line.rstrip()
    return line
