"""One iteration as one proposed sequence, for formats that know no trees."""

from __future__ import annotations

from collections.abc import Iterator

from phrasekit.trace.records import WINDOW, Iteration, TreeRecord

Nodes = tuple[int, ...]


def chain(iteration: Iteration) -> Nodes:
    """Nodes of the proposed sequence that the walk followed, the accepted ones first.

    With nothing accepted it is the draft; of several that fit, the draft before the branches.
    """
    path = iteration.path
    return next((nodes for nodes in _sequences(iteration.tree) if nodes[: len(path)] == path), path)


def longest(tree: TreeRecord) -> int:
    """Tokens of the longest proposed sequence: no walk can accept more."""
    depths: list[int] = []
    for parent in tree.parents:
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    proposed = (depth for depth, kind in zip(depths, tree.kinds, strict=True) if kind != WINDOW)
    return max(proposed, default=0)


def _sequences(tree: TreeRecord) -> Iterator[Nodes]:
    """The draft, then every branch from the root on."""
    if tree.trunk:
        yield tree.trunk
    for branch in tree.branches:
        if branch.nodes:
            yield (*_ancestors(tree, branch.nodes[0]), *branch.nodes)


def _ancestors(tree: TreeRecord, node: int) -> Nodes:
    found: list[int] = []
    while (node := tree.parents[node]) >= 0:
        found.append(node)
    return tuple(reversed(found))
