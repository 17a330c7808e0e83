"""The token tree: a trie that refuses what can never be emitted, and counts what it refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasekit.decode import ROOT, TokenTree
from phrasekit.trace.records import DRAFT, SUFFIX, WINDOW
from tests.models import depth_by
from tests.strategies import grown_trees

VOCABULARY = 5
sequences = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=6)


def tree_of(*branches, limit: int = 9, ends=()) -> TokenTree:
    tree = TokenTree(vocabulary=VOCABULARY, limit=limit, ends=frozenset(ends))
    for branch in branches:
        tree.add_branch(ROOT, branch, SUFFIX)
    return tree


def prefix(tree: TokenTree, node: int) -> tuple[int, ...]:
    found: tuple[int, ...] = ()
    while node >= 0:
        found, node = (tree.tokens[node], *found), tree.parents[node]
    return found


@given(st.lists(sequences, max_size=6))
def test_one_node_for_every_distinct_prefix(branches):
    tree = tree_of(*branches)
    prefixes = [prefix(tree, node) for node in range(len(tree))]
    assert len(set(prefixes)) == len(prefixes)
    assert set(prefixes) == {tuple(b[:size]) for b in branches for size in range(1, len(b) + 1)}
    assert [prefix(tree, branch.nodes[-1]) for branch in tree.branches] == [tuple(b) for b in branches]
    assert tree.dropped == 0


@given(grown_trees())
def test_parents_come_first_and_depths_are_distances_from_the_root(tree):
    assert all(-1 <= parent < node for node, parent in enumerate(tree.parents))
    depth = depth_by(tree.parents)
    assert [tree.depth(node) for node in range(-1, len(tree))] == [depth(n) for n in range(-1, len(tree))]


@given(grown_trees())
def test_a_proposed_token_can_be_emitted(tree):
    for node, (token, parent, kind) in enumerate(zip(tree.tokens, tree.parents, tree.kinds, strict=True)):
        if kind != WINDOW:
            assert 0 <= token < tree.vocabulary
            assert tree.depth(node) <= tree.limit
            assert parent < 0 or tree.tokens[parent] not in tree.ends


@given(grown_trees())
def test_children_are_found_by_their_token_and_window_rows_never_are(tree):
    for parent in range(-1, len(tree)):
        for token in range(-1, VOCABULARY + 1):
            proposed = [
                node
                for node in range(len(tree))
                if tree.parents[node] == parent and tree.tokens[node] == token and tree.kinds[node] != WINDOW
            ]
            assert len(proposed) <= 1
            assert tree.child(parent, token) == (proposed[0] if proposed else None)


@given(grown_trees())
def test_children_and_paths_are_those_that_a_search_finds(tree):
    for node in range(-1, len(tree)):
        below = [row for row in range(len(tree)) if tree.parents[row] == node and tree.kinds[row] != WINDOW]
        assert tree.children(node) == [tree.tokens[row] for row in below]
        assert tree.path_tokens(node) == list(prefix(tree, node))


@given(grown_trees())
def test_the_record_says_the_same_as_the_tree(tree):
    record = tree.record()
    assert record.tokens == tuple(tree.tokens)
    assert record.parents == tuple(tree.parents)
    assert [record.depth(node) for node in range(len(tree))] == [tree.depth(n) for n in range(len(tree))]
    assert record.dropped == tree.dropped


@pytest.mark.parametrize("bad", [-1, -7, VOCABULARY, 10**9, -(2**63)])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_tokens_outside_the_vocabulary_and_all_behind_them_are_dropped(bad, place):
    branch = [1, 2, 3, 4, 0]
    branch[place] = bad
    tree = tree_of(branch)
    assert tree.tokens == branch[:place]
    assert tree.dropped == 5 - place
    assert len(tree.branches) == (1 if place else 0), "an empty branch is none"


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_trunk_counts_what_it_drops_as_a_branch_does(place):
    tokens = [1, 2, 3, 4, 0]
    tokens[place] = VOCABULARY
    tree = TokenTree(vocabulary=VOCABULARY, limit=9)
    tree.extend_trunk(tokens, [DRAFT] * 5, [-1] * 5)
    assert [tree.tokens[node] for node in tree.trunk] == tokens[:place]
    assert tree.dropped == 5 - place


@pytest.mark.parametrize("limit", range(6))
def test_nothing_is_deeper_than_the_limit(limit):
    tree = tree_of([1, 2, 3, 4], [1, 2, 0, 0], limit=limit)
    assert max(map(tree.depth, range(-1, len(tree)))) == min(limit, 4)
    assert tree.dropped == 2 * (4 - min(limit, 4))


def test_nothing_stands_behind_an_end_token():
    tree = tree_of([1, 4, 2], [4, 1], [1, 2, 4], ends={4})
    assert sorted(prefix(tree, node) for node in range(len(tree))) == [(1,), (1, 2), (1, 2, 4), (1, 4), (4,)]
    assert tree.dropped == 2


def test_every_one_of_several_end_tokens_ends_a_branch():
    tree = tree_of([3, 1], [4, 1], ends={3, 4})
    assert tree.tokens == [3, 4]
    assert tree.dropped == 2


def test_a_root_that_is_an_end_token_may_be_followed():
    """The prompt may hold end tokens; only proposed ones end anything."""
    assert tree_of([1, 2], ends={0}).dropped == 0


def test_a_trunk_goes_on_where_it_ended_and_shares_nodes_with_branches():
    tree = tree_of([1, 2])
    tree.extend_trunk([1, 2], [DRAFT] * 2, [-1] * 2)
    tree.extend_trunk([3], [DRAFT], [-1])
    tree.add_branch(tree.trunk[-1], [3, 0], SUFFIX, 7)
    assert (tree.tokens, tree.parents) == ([1, 2, 3, 3, 0], [-1, 0, 1, 2, 3])
    assert tree.trunk == [0, 1, 2]
    assert tree.kinds[:2] == [SUFFIX, SUFFIX], "who came first is remembered"
    assert tree.phrases == [-1, -1, -1, 7, 7]


def test_window_rows_may_repeat_a_proposal_without_joining_it():
    tree = tree_of([1])
    row = tree.add_window(ROOT, 1, silent=True)
    assert row == 1
    assert tree.child(ROOT, 1) == 0
    assert tree.silent == {1}
    tree.add_window(row, 2, silent=False)
    assert tree.child(row, 2) is None
    assert tree.silent == {1}


def test_what_every_node_came_from_is_recorded():
    tree = tree_of()
    tree.extend_trunk([1, 2], [DRAFT, SUFFIX], [-1, 8])
    tree.add_branch(0, [3, 4], SUFFIX, 5)
    tree.add_window(1, 0, silent=False)
    record = tree.record()
    assert record.tokens == (1, 2, 3, 4, 0)
    assert record.phrases == (-1, 8, 5, 5, -1)
    assert record.kinds == (DRAFT, SUFFIX, SUFFIX, SUFFIX, WINDOW)
    assert [(branch.kind, branch.phrase, branch.nodes) for branch in record.branches] == [(SUFFIX, 5, (2, 3))]
    assert record.trunk == (0, 1)


@pytest.mark.parametrize("lengths", [(1, 2, 2), (2, 1, 2), (2, 2, 1), (2, 3, 3)])
def test_a_trunk_takes_one_kind_and_one_phrase_a_token(lengths):
    tokens, kinds, phrases = ([value] * length for value, length in zip((1, DRAFT, -1), lengths, strict=True))
    with pytest.raises(ValueError, match="shorter|longer"):
        tree_of().extend_trunk(tokens, kinds, phrases)


def test_the_limit_counts_from_the_root_whichever_way_a_node_is_added():
    tree = tree_of(limit=2)
    tree.extend_trunk([1, 2, 3, 4], [DRAFT] * 4, [-1] * 4)
    assert (tree.tokens, tree.dropped) == ([1, 2], 2)
    assert tree.add(1, 0, DRAFT) is None
    assert tree.add(0, 0, DRAFT) == 2
    assert tree.depth(tree.add_window(1, 0, silent=True)) == 3, "window rows are never emitted"


def test_a_trunk_of_any_length_goes_on_behind_its_last_node():
    tree = tree_of()
    for token in (1, 2, 3, 4):
        tree.extend_trunk([token], [DRAFT], [-1])
    assert (tree.parents, tree.trunk) == ([-1, 0, 1, 2], [0, 1, 2, 3])
