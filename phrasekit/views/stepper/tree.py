"""The token tree of an iteration as rows of a comb, with the reason why each row was kept or lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phrasekit.trace.records import GUIDE, LETTERS, LOOKUP, WINDOW, Iteration
from phrasekit.views.stepper.phrases import PhraseBook
from phrasekit.views.stepper.records import (
    ASIDE,
    CUT,
    KEPT,
    LATE,
    MISTAKE,
    OFF,
    Pieces,
    RowInfo,
    TreeInfo,
)
from phrasekit.views.stepper.tokens import TokenTable


def tree_info(iteration: Iteration, tokens: TokenTable, book: PhraseBook) -> TreeInfo:
    """What was put before the target in one iteration, and what it said.

    Args:
        iteration: of the target decoder.
        tokens: numbers of tokens.
        book: numbers of phrases.

    Returns:
        Nodes, rows and the target's words.
    """
    tree = iteration.tree
    says = target_says(iteration)
    return TreeInfo(
        tokens=tokens.numbers(tree.tokens),
        parents=tree.parents,
        kinds="".join(LETTERS[kind] for kind in tree.kinds),
        states=states(iteration),
        phrases=tuple(book.number(phrase) for phrase in tree.phrases),
        picks=tokens.numbers(iteration.picks),
        rows=tuple(_Rows(iteration, tokens, book)),
        says=tokens.numbers(says),
        said=len(iteration.emitted),
    )


def states(iteration: Iteration) -> str:
    """What became of every node, one letter each."""
    tree, path = iteration.tree, iteration.path
    kept, cut = set(path[: len(iteration.emitted)]), set(path[len(iteration.emitted) :])
    found = []
    for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True)):
        if tree.kinds[node] == WINDOW:
            found.append(ASIDE)
        elif node in kept or node in cut:
            found.append(KEPT if node in kept else CUT)
        elif parent < 0 or parent in kept or parent in cut:
            found.append(MISTAKE)
        else:
            found.append(LATE if iteration.picks[parent + 1] == token else OFF)
    return "".join(found)


def target_says(iteration: Iteration) -> tuple[int, ...]:
    """Token ids: the target's words along its own path, then its verdicts on the rest of the draft."""
    tree, path = iteration.tree, iteration.path
    walked = [*(tree.tokens[node] for node in path), iteration.picks[path[-1] + 1 if path else 0]]
    verdicts = [iteration.picks[tree.parents[node] + 1] for node in tree.trunk]
    return tuple(token for token in (*walked, *verdicts[len(walked) :]) if token >= 0)


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A row to be: its name and nodes."""

    label: str
    kind: str
    phrase: int
    nodes: tuple[int, ...]


class _Rows:
    """Lays an iteration's tree out as rows; nodes that proposals share belong to the first."""

    def __init__(self, iteration: Iteration, tokens: TokenTable, book: PhraseBook) -> None:
        self._iteration = iteration
        self._tokens = tokens
        self._book = book
        self._trunk = frozenset(iteration.tree.trunk)
        self._path = frozenset(iteration.path)
        self._kept = frozenset(iteration.path[: len(iteration.emitted)])

    def __iter__(self) -> Iterator[RowInfo]:
        placed: set[int] = set()
        rows: list[RowInfo] = []
        for proposal in self._proposals():
            own = tuple(node for node in proposal.nodes if node not in placed)
            placed.update(own)
            rows.append(self._row(proposal, own, rows))
            yield rows[-1]
        for number, nodes in enumerate(self._window(placed), start=1):
            why = ("read in the same forward, never part of the text",) if number == 1 else ()
            yield RowInfo(f"Window {number}", LETTERS[WINDOW], -1, nodes, nodes, 0, "aside", why)

    def _proposals(self) -> Iterator[_Proposal]:
        tree = self._iteration.tree
        if tree.trunk:
            copied = all(tree.kinds[node] == LOOKUP for node in tree.trunk)
            kind = LETTERS[LOOKUP] if copied else "d"
            yield _Proposal("Copy" if copied else "Draft", kind, -1, tree.trunk)
        for number, branch in enumerate(tree.branches, start=1):
            label = f"{self._name(branch.nodes, branch.kind)} {number}"
            phrase = self._book.number(branch.phrase)
            yield _Proposal(label, LETTERS[branch.kind], phrase, branch.nodes)

    def _name(self, nodes: Sequence[int], kind: str) -> str:
        tree = self._iteration.tree
        if kind in (LOOKUP, GUIDE):
            return "Copy" if kind == LOOKUP else "Guide"
        behind = bool(tree.trunk and nodes) and tree.parents[nodes[0]] == tree.trunk[-1]
        return "Suffix" if behind else "Guess"

    def _window(self, placed: set[int]) -> Iterator[tuple[int, ...]]:
        """What is left, one row a level: a level begins where the depth does not grow."""
        tree = self._iteration.tree
        row: list[int] = []
        depth = 0
        for node in range(len(tree.tokens)):
            if node in placed:
                continue
            before, depth = depth, tree.depth(node)
            if row and depth <= before:
                yield tuple(row)
                row = []
            row.append(node)
        if row:
            yield tuple(row)

    def _row(self, proposal: _Proposal, own: tuple[int, ...], above: Sequence[RowInfo]) -> RowInfo:
        nodes = proposal.nodes
        draft = nodes == self._iteration.tree.trunk
        counted = self._kept if draft else self._kept - self._trunk
        kept = sum(node in counted for node in nodes)
        outcome, why = self._fate(nodes, kept, draft)
        if not own and not draft:
            same = next((row for row in above if row.nodes[: len(nodes)] == nodes), None)
            outcome = outcome if outcome == "won" else "shared"
            why = (f"starts like {same.label.lower()}, shares its rows",) if same else ("shares rows above",)
        return RowInfo(proposal.label, proposal.kind, proposal.phrase, nodes, own, kept, outcome, why)

    def _fate(self, nodes: tuple[int, ...], kept: int, draft: bool) -> tuple[str, Pieces]:
        """Outcome and reason of a proposal."""
        tree = self._iteration.tree
        if not nodes:
            return "unreached", ("nothing of it was left to try",)
        stop = next((node for node in nodes if node not in self._path), None)
        if stop is None:
            return self._whole(nodes, kept, draft)
        parent = tree.parents[stop]
        if parent >= 0 and parent not in self._path:
            where = self._iteration.position + self._iteration.accepted
            return "unreached", (f"not reached: the draft broke at {where}",)
        said = self._tokens.number(self._iteration.picks[parent + 1])
        if draft:
            where = self._iteration.position + tree.depth(stop) - 1
            wrote = self._tokens.number(tree.tokens[stop])
            return "lost", (f"broke at {where}: it says ", wrote, ", the target says ", said)
        if kept and self._last in nodes:
            return "won", (f"won, {kept} of {len(nodes)} kept; then the target says ", said)
        after = f"after {kept}" if kept else "at once"
        return "lost", (f"lost {after}: the target says ", said)

    def _whole(self, nodes: tuple[int, ...], kept: int, draft: bool) -> tuple[str, Pieces]:
        """A proposal that was right to its end."""
        missing = sum(node not in self._kept for node in nodes)
        if missing:
            return "kept", (f"right to its end, but the text ends before its last {missing}",)
        if draft or not kept:
            return "kept", ("kept whole",)
        if self._last not in nodes:
            return "kept", (f"kept whole, all {kept}; another row goes on from it",)
        own = self._iteration.picks[nodes[-1] + 1]
        return "won", (f"won, all {kept} kept; then the target says ", self._tokens.number(own))

    @property
    def _last(self) -> int:
        """The last accepted node, −1 for the root."""
        return self._iteration.path[-1] if self._iteration.path else -1
