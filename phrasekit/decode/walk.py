"""The one rule that decides acceptance (Ouroboros section 2, Eq. 2–4; rule A for sampling)."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.decode.tree import ROOT, TokenTree


def walk(tree: TokenTree, picks: Sequence[int]) -> list[int]:
    """Follow the child that equals the model's own pick until there is none.

    Exact for any tree: the tree only decides whether the next pick is already computed.

    Args:
        tree: what was proposed.
        picks: the model's token after the root and after every node, `1 + len(tree)`.

    Returns:
        The accepted nodes from the root's child on; the pick after the last one is the bonus.
    """
    path: list[int] = []
    node: int | None = tree.child(ROOT, picks[0])
    while node is not None:
        path.append(node)
        node = tree.child(node, picks[node + 1])
    return path
