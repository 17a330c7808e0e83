"""Masks and positions against walking the parents, one row at a time."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from phrasekit.lm.mask import REMEMBERED_ROWS, ancestors, depths, full_mask, sliding_mask
from tests.strategies import parent_arrays

F64 = {"dtype": torch.float64, "device": torch.device("cpu")}


def above(parents: tuple[int, ...], row: int) -> set[int]:
    """The row and every row above it."""
    found = set()
    while row >= 0:
        found.add(row)
        row = parents[row]
    return found


def visible(mask: torch.Tensor) -> torch.Tensor:
    """Which entries let a row look; every entry must be clearly one or the other."""
    assert ((mask == 0) | (mask == torch.finfo(mask.dtype).min)).all()
    return (mask == 0)[0, 0]


@given(parent_arrays())
def test_a_row_sees_itself_and_its_ancestors(parents):
    seen = ancestors(parents)
    assert seen.shape == (len(parents), len(parents))
    for row in range(len(parents)):
        assert set(seen[row].nonzero().flatten().tolist()) == above(parents, row)


@given(parent_arrays())
def test_the_relation_is_reflexive_transitive_and_looks_back_only(parents):
    seen = ancestors(parents)
    assert seen.diagonal().all()
    assert not seen.triu(1).any()
    assert ((seen.int() @ seen.int() > 0) == seen).all()


@given(parent_arrays())
def test_depth_counts_the_rows_above(parents):
    assert list(depths(parents)) == [len(above(parents, row)) - 1 for row in range(len(parents))]


@given(parent_arrays(), st.data())
def test_another_leaf_changes_no_earlier_row(parents, data):
    more = (*parents, data.draw(st.integers(-1, len(parents) - 1)))
    assert torch.equal(ancestors(more)[:-1, :-1], ancestors(parents))
    assert not ancestors(more)[:-1, -1].any()


@given(parent_arrays().filter(len), st.integers(0, 9))
def test_every_row_sees_the_whole_committed_context(parents, cached):
    seen = visible(full_mask(parents, cached, **F64))
    assert seen[:, :cached].all()
    assert torch.equal(seen[:, cached:], ancestors(parents))


@given(parent_arrays().filter(len), st.integers(0, 9), st.integers(1, 6))
def test_a_sliding_row_sees_the_last_positions_only(parents, cached, window):
    """The window counts positions, not rows: siblings do not push one another out."""
    seen = visible(sliding_mask(parents, cached, window, **F64))
    for row in range(len(parents)):
        own = cached + len(above(parents, row)) - 1
        context = {key for key in range(cached) if key > own - window}
        tree = {
            cached + key
            for key in above(parents, row)
            if cached + len(above(parents, key)) - 1 > own - window
        }
        assert set(seen[row].nonzero().flatten().tolist()) == context | tree
        assert len(context | tree) == min(window, own + 1)


@given(parent_arrays(), st.data())
def test_a_topological_reordering_only_reorders_the_mask(parents, data):
    order: list[int] = []
    while len(order) < len(parents):
        ready = [n for n, p in enumerate(parents) if n not in order and (p < 0 or p in order)]
        order.append(data.draw(st.sampled_from(ready)))
    place = {node: at for at, node in enumerate(order)}
    moved = tuple(-1 if parents[node] < 0 else place[parents[node]] for node in order)
    assert torch.equal(ancestors(moved), ancestors(parents)[order][:, order])


@pytest.mark.parametrize("rows", [REMEMBERED_ROWS, REMEMBERED_ROWS + 1, 300])
def test_large_shapes_are_no_different(rows):
    chain = tuple(range(-1, rows - 1))
    assert torch.equal(visible(full_mask(chain, 2, **F64))[:, 2:], torch.ones(rows, rows).tril().bool())
    comb = tuple(0 if row else -1 for row in range(rows))
    due = torch.eye(rows).bool()
    due[:, 0] = True
    assert torch.equal(visible(full_mask(comb, 2, **F64))[:, 2:], due)


def test_a_mask_may_be_changed_by_whoever_asked_for_it():
    """Shapes are remembered; what is handed out must not be the memory itself."""
    first = full_mask((-1, 0, 0), 3, **F64)
    due = first.clone()
    first.fill_(5)
    assert torch.equal(full_mask((-1, 0, 0), 3, **F64), due)
    assert torch.equal(visible(sliding_mask((-1, 0, 0), 3, 99, **F64)), visible(due))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_blocked_entries_are_finite_in_every_dtype(dtype):
    mask = full_mask((-1, -1), 0, dtype=dtype, device=torch.device("cpu"))
    assert mask.dtype == dtype
    assert mask.isfinite().all()
    assert visible(mask).tolist() == [[True, False], [False, True]]


def test_what_is_remembered_is_not_changed_by_its_use():
    """With nothing cached a mask has the size of the remembered block, and a sliding one is filled in place."""
    parents = (-1, 0, 1, 1)
    before = full_mask(parents, 0, **F64).clone()
    sliding_mask(parents, 0, 1, **F64)
    full_mask(parents, 0, **F64).fill_(7)
    assert torch.equal(full_mask(parents, 0, **F64), before)


def test_shapes_are_remembered_by_dtype():
    parents = (-1, 0, 0)
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float64):
        mask = full_mask(parents, 2, dtype=dtype, device=torch.device("cpu"))
        assert mask.dtype == dtype
        assert mask.min() == torch.finfo(dtype).min
