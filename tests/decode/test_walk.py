"""L0 of the ladder: acceptance on arrays, without a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phrasekit.decode import ROOT, Knobs, TokenTree, Verdict, walk
from phrasekit.trace.records import DRAFT, WINDOW
from tests.strategies import grown_trees


def reference(tree: TokenTree, picks: list[int]) -> list[int]:
    """Search every node at every step."""
    path, node = [], -1
    while True:
        children = [
            child
            for child, parent in enumerate(tree.parents)
            if parent == node and tree.tokens[child] == picks[node + 1] and tree.kinds[child] != WINDOW
        ]
        if not children:
            return path
        (node,) = children
        path.append(node)


@st.composite
def judged_trees(draw):
    """A tree and picks that agree with it at many nodes."""
    tree = draw(grown_trees())
    picks = []
    for node in range(-1, len(tree)):
        children = [tree.tokens[c] for c, parent in enumerate(tree.parents) if parent == node]
        picks.append(draw(st.sampled_from([*children, *children, -1, 0, 4])))
    return tree, picks


@given(judged_trees())
def test_the_walk_agrees_with_a_search_over_all_nodes(judged):
    tree, picks = judged
    assert walk(tree, picks) == reference(tree, picks)


@given(judged_trees())
def test_the_path_is_a_chain_from_the_root_and_as_long_as_can_be(judged):
    tree, picks = judged
    path = walk(tree, picks)
    assert [tree.parents[node] for node in path] == [-1, *path][: len(path)]
    assert all(tree.tokens[node] == picks[tree.parents[node] + 1] for node in path)
    last = path[-1] if path else ROOT
    assert tree.child(last, picks[last + 1]) is None


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), max_size=5), st.data())
def test_the_order_of_siblings_does_not_matter(branches, data):
    """Picks belong to prefixes, so the accepted tokens do not depend on which branch came first."""
    picks = data.draw(st.dictionaries(st.lists(st.integers(0, 2), max_size=4).map(tuple), st.integers(0, 2)))
    accepted = set()
    for order in (branches, branches[::-1], sorted(branches)):
        tree = TokenTree(vocabulary=3, limit=9)
        for branch in order:
            tree.add_branch(ROOT, branch, DRAFT)
        texts = [()]
        for token, parent in zip(tree.tokens, tree.parents, strict=True):
            texts.append((*texts[parent + 1], token))
        path = walk(tree, [picks.get(text, 0) for text in texts])
        accepted.add(tuple(tree.tokens[node] for node in path))
    assert len(accepted) == 1


def test_an_empty_tree_accepts_nothing():
    assert walk(TokenTree(vocabulary=3, limit=9), [2]) == []


def test_the_same_token_elsewhere_in_the_tree_is_not_followed():
    """Ouroboros compares by slot; here a token counts only behind the node it was proposed for."""
    tree = TokenTree(vocabulary=9, limit=9)
    tree.add_branch(ROOT, [1, 2, 3], DRAFT)
    tree.add_branch(ROOT, [4, 5], DRAFT)
    assert walk(tree, [4, 0, 0, 0, 2, 3]) == [3]


def test_a_window_row_is_never_followed():
    tree = TokenTree(vocabulary=9, limit=9)
    tree.add_window(ROOT, 1, silent=False)
    assert walk(tree, [1, 2]) == []
    tree.add_branch(ROOT, [1], DRAFT)
    assert walk(tree, [1, 2, 3]) == [1]


def test_a_verdict_tells_what_follows_a_node_and_how_much_of_the_trunk_was_accepted():
    tree = TokenTree(vocabulary=9, limit=9)
    tree.extend_trunk([1, 2, 3], [DRAFT] * 3, [-1] * 3)
    tree.add_branch(0, [5, 6], DRAFT)
    picks = [1, 5, 7, 8, 6, 0]
    path = walk(tree, picks)
    verdict = Verdict(tree, picks, path, [1, 5, 6, 0], [0, 1, 5, 6, 0], Knobs())
    assert [verdict.after(node) for node in range(-1, 5)] == picks
    assert (path, verdict.accepted) == ([0, 3, 4], 1)


def test_a_trunk_accepted_whole_counts_whole():
    tree = TokenTree(vocabulary=9, limit=9)
    tree.extend_trunk([1, 2], [DRAFT] * 2, [-1] * 2)
    assert Verdict(tree, [1, 2, 5], [0, 1], [1, 2, 5], [0, 1, 2, 5], Knobs()).accepted == 2
    assert Verdict(TokenTree(vocabulary=9, limit=9), [5], [], [5], [0, 5], Knobs()).accepted == 0
