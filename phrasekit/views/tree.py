"""One iteration's token tree: a row per token, and beside it who may look at whom, in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from phrasekit.trace.records import GUIDE, LETTERS, LOOKUP, WINDOW, Iteration, Trace, TreeRecord
from phrasekit.trace.summary import counted
from phrasekit.trace.text import sentence
from phrasekit.trace.visible import token_text, visible
from phrasekit.views.table import Table
from phrasekit.views.tokens import (
    MARKS,
    ORIGINS,
    VERDICTS,
    Token,
    chosen,
    compact,
    emitted_tokens,
    node_token,
)

MOST = 72  # rows in one picture
HIDDEN, LOOKS, SELF = ".", "o", "x"
DRAFT_BLOCK, WINDOW_BLOCK, ROOT_BLOCK = "draft", "window", ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the forward: the last committed token, or a node of the tree.

    Attributes:
        token: None for the last committed token.
        text: what the row's token reads.
        depth: distance from the last committed token.
        parent: row of the parent, −1 for none.
        block: "draft", "suffix 2", "guess 1", "window"; "" for the last committed token.
        says: text of the target's own token at this position, None where it gave none.
        adds: the target's own token behind this row, where the walk stopped.
    """

    token: Token | None
    text: str
    depth: int
    parent: int
    block: str
    says: str | None
    adds: Token | None = None


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """The tree of one iteration.

    Attributes:
        iteration: 0-based number.
        told: the sentence about the iteration.
        position: of the first proposed token.
        cached: rows in the cache before the forward; every row looks at them.
        rows: the last committed token, then nodes so that children follow parents.
        mask: per row a character per row: "o" looks at it, "x" itself, "." hidden.
        left_out: nodes beyond what one picture holds.
    """

    iteration: int
    told: str
    position: int
    cached: int
    rows: tuple[Row, ...]
    mask: tuple[str, ...]
    left_out: int

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        more = f" {counted(self.left_out, 'node')} not shown." if self.left_out else ""
        window = any(row.block == WINDOW_BLOCK for row in self.rows)
        aside = " The window's rows guess ahead and are never emitted." if window else ""
        return f"{self.told} Each row looks at the cache, its own ancestors and itself.{aside}{more}"

    def table(self) -> Table:
        """A row per token."""
        rows = tuple(
            (
                number,
                self.position + row.depth - 1,
                row.text,
                row.block or "last committed",
                row.token.kind if row.token else None,
                row.token.verdict if row.token else None,
                None if row.parent < 0 else row.parent,
                row.says,
                self.cached + len(self.mask[number]) - self.mask[number].count(HIDDEN),
            )
            for number, row in enumerate(self.rows)
        )
        names = (
            "row",
            "position",
            "token",
            "block",
            "origin",
            "verdict",
            "parent",
            "target says",
            "looks at",
        )
        return Table(names, rows)

    def text(self) -> str:
        """An indented line per row, the mask beside it."""
        labels = [_line(row, self.position) for row in self.rows]
        width = max(map(len, labels), default=0)
        lines = [f"{label:<{width}}  {mask}" for label, mask in zip(labels, self.mask, strict=True)]
        note = (
            f"mask: {SELF} itself, {LOOKS} looks at, {HIDDEN} hidden; all look at {self.cached} cached rows"
        )
        return "\n".join((self.sentence, *lines, note))


def tree_info(trace: Trace, iteration: int | None = None, *, most: int = MOST) -> TreeInfo:
    """Lay out the tree of one iteration.

    Args:
        trace: the run.
        iteration: its number, counted from 1; without one, the iteration that emitted most.
        most: rows at most; the rest is counted.

    Raises:
        ValueError: there is no such iteration.
    """
    found = chosen(trace, iteration, lambda one: len(one.emitted) + len(one.tree.tokens) / 1e6)
    order = list(_order(found.tree))
    shown = order[: max(0, most - 1)]
    places = {node: place for place, node in enumerate(shown, start=1)} | {-1: 0}
    blocks = _blocks(found.tree)
    rows = [_root(found, trace.texts), *(_row(found, node, places, blocks, trace.texts) for node in shown)]
    return TreeInfo(
        iteration=found.index,
        told=sentence(found),
        position=found.position,
        cached=found.forward.cached,
        rows=tuple(rows),
        mask=tuple(_looks(rows, place) for place in range(len(rows))),
        left_out=len(order) - len(shown),
    )


def _order(tree: TreeRecord) -> Iterator[int]:
    """Nodes depth first, so that a subtree stands together; window rows last."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parents):
        children.setdefault(parent, []).append(node)
    trunk = set(tree.trunk)
    for window in (False, True):
        stack = _reversed_children(children, -1, trunk)
        while stack:
            node = stack.pop()
            if (tree.kinds[node] == WINDOW) == window:
                yield node
            stack += _reversed_children(children, node, trunk)


def _reversed_children(children: Mapping[int, list[int]], node: int, trunk: set[int]) -> list[int]:
    """Children so that popping gives the draft first, then the others as proposed."""
    return sorted(children.get(node, ()), key=lambda child: (child not in trunk, child), reverse=True)


def _blocks(tree: TreeRecord) -> dict[int, str]:
    """Name of what each node belongs to; a shared node belongs to the first."""
    blocks = dict.fromkeys(tree.trunk, DRAFT_BLOCK)
    for number, branch in enumerate(tree.branches, start=1):
        behind = tree.trunk and branch.nodes and tree.parents[branch.nodes[0]] in tree.trunk
        named = {LOOKUP: "copy", GUIDE: "guide"}.get(branch.kind)
        name = named or ("suffix" if behind else "guess")
        for node in branch.nodes:
            blocks.setdefault(node, f"{name} {number}")
    return blocks | {node: WINDOW_BLOCK for node, kind in enumerate(tree.kinds) if kind == WINDOW}


def _root(iteration: Iteration, texts: Mapping[int, str]) -> Row:
    adds = None if iteration.path else _own(iteration, texts)
    return Row(None, token_text(iteration.root, texts), 0, -1, ROOT_BLOCK, None, adds)


def _row(
    iteration: Iteration,
    node: int,
    places: Mapping[int, int],
    blocks: Mapping[int, str],
    texts: Mapping[int, str],
) -> Row:
    tree = iteration.tree
    parent = tree.parents[node]
    pick = iteration.picks[parent + 1]
    last = bool(iteration.path) and node == iteration.path[-1]
    return Row(
        token=node_token(iteration, node, texts),
        text=token_text(tree.tokens[node], texts),
        depth=tree.depth(node),
        parent=places[parent],
        block=blocks.get(node, "other"),
        says=None if pick < 0 or tree.kinds[node] == WINDOW else token_text(pick, texts),
        adds=_own(iteration, texts) if last else None,
    )


def _own(iteration: Iteration, texts: Mapping[int, str]) -> Token | None:
    """The token that nobody proposed, unless a stop or a limit cut it off."""
    emitted = emitted_tokens(iteration, texts)
    return emitted[-1] if len(emitted) > len(iteration.path) else None


def _looks(rows: list[Row], place: int) -> str:
    cells = [HIDDEN] * len(rows)
    cells[place] = SELF
    while (place := rows[place].parent) >= 0:
        cells[place] = LOOKS
    return "".join(cells)


def _line(row: Row, position: int) -> str:
    indent = "  " * row.depth
    if row.token is None:
        told = f"{indent}«{compact(row.text)}» last committed"
    else:
        mark, letter = MARKS[row.token.verdict] or " ", LETTERS[row.token.kind]
        told = f"{indent}{mark} {letter}«{compact(row.text)}» {row.block}"
        if row.says is not None and row.says != row.text:
            told += f", target says «{compact(row.says)}»"
    if row.adds is not None:
        told += f" → t«{compact(row.adds.text)}»"
    return f"{position + row.depth - 1:>5} {told}"


def hover_text(row: Row, position: int) -> str:
    """Everything about a row, for a tooltip; not made safe for anything."""
    if row.token is None:
        return f"{visible(row.text)}: last committed token, position {position - 1}"
    told = f"{visible(row.text)}: {ORIGINS[row.token.kind]}, {VERDICTS[row.token.verdict]}, {row.block}"
    return f"{told}, position {row.token.position}, id {row.token.id}"
