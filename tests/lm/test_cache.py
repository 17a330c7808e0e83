"""The tree cache: committed rows are those of a sequential run, whatever was tried in between."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.lm import LanguageModel
from phrasekit.lm.cache import TreeCache, TreeLayer
from tests import models
from tests.models import PROMPT, VOCABULARY

LAYERS = 2


def rows(values: list[float]) -> torch.Tensor:
    """Keys of two heads and width three that can be told apart."""
    return torch.tensor(values, dtype=torch.float64).view(1, 1, -1, 1).expand(1, 2, -1, 3)


def write(cache: TreeCache, values: list[float]) -> None:
    for number, layer in enumerate(cache.layers):
        layer.update(rows(values) + 1000 * number, rows(values) + 0.5)


def kept(cache: TreeCache) -> list[float]:
    first, second = cache.layers
    length = cache.length
    assert first.length == second.length == first.get_seq_length() == length
    assert torch.equal(second.keys[:, :, :length], first.keys[:, :, :length] + 1000)
    assert torch.equal(first.values[:, :, :length], first.keys[:, :, :length] + 0.5)
    return first.keys[0, 1, :length, 2].tolist()


@st.composite
def operations(draw):
    """Forwards of some rows, of which some are committed, and crops."""
    made, length = [], 0
    for _ in range(draw(st.integers(1, 8))):
        count = draw(st.integers(1, 6))
        path = sorted(draw(st.sets(st.integers(0, count - 1))))
        length += len(path)
        crop = draw(st.none() | st.integers(0, length))
        length = length if crop is None else crop
        made.append((count, path, crop))
    return made


@settings(max_examples=200)
@given(operations(), st.integers(1, 40))
def test_any_sequence_of_forwards_commits_and_crops(made, capacity):
    cache, due, stamp = TreeCache(LAYERS, capacity), [], 0.0
    for count, path, crop in made:
        values = [stamp + i for i in range(count)]
        stamp += count
        write(cache, values)
        assert kept(cache) == due, "a forward commits nothing"
        cache.commit(path)
        due += [values[row] for row in path]
        assert kept(cache) == due
        if crop is not None:
            cache.crop(crop)
            del due[crop:]
            assert kept(cache) == due


@pytest.mark.parametrize("path", [[0, 1], [0, 2], [2, 4], [4], [1, 2, 3, 4], []])
def test_gathering_a_path_never_reads_what_it_has_overwritten(path):
    cache = TreeCache(LAYERS, 16)
    write(cache, [0, 1, 2, 3, 4])
    cache.commit(path)
    assert kept(cache) == path


@pytest.mark.parametrize("length", [-1, 3, 99])
def test_a_crop_to_what_is_not_there_is_refused(length):
    cache = TreeCache(LAYERS, 16)
    write(cache, [0, 1])
    cache.commit([0, 1])
    with pytest.raises(ValueError, match=rf"crop.*2.*{length}"):
        cache.crop(length)
    assert kept(cache) == [0, 1]


def test_a_crop_before_the_first_forward_does_no_harm():
    cache = TreeCache(LAYERS, 4)
    cache.crop(0)
    write(cache, [7])
    cache.commit([0])
    assert kept(cache) == [7]


@pytest.mark.parametrize("capacity", [1, 2, 3, 7])
def test_growing_keeps_what_is_committed(capacity):
    cache, due = TreeCache(LAYERS, capacity), []
    for stamp in range(0, 40, 4):
        write(cache, [stamp, stamp + 1, stamp + 2, stamp + 3])
        cache.commit([1, 3])
        due += [stamp + 1, stamp + 3]
        assert kept(cache) == due


def test_the_dtype_is_that_of_the_rows():
    """mlx-lm PR#1491: rows promoted on insertion made results depend on scheduling."""
    cache = TreeCache(1, 2)
    for _ in range(3):
        keys, values = cache.layers[0].update(rows([1, 2]).bfloat16(), rows([1, 2]).bfloat16())
        assert keys.dtype == values.dtype == torch.bfloat16
        cache.commit([0, 1])


# --- in a model -------------------------------------------------------------------------------------


def fresh(model: LanguageModel, tokens, capacity: int = 256):
    session = model.session(capacity)
    session.prefill(tokens)
    return session


def same_rows(left, right) -> None:
    assert left.length == right.length
    for a, b in zip(left.cache.layers, right.cache.layers, strict=True):
        for x, y in ((a.keys, b.keys), (a.values, b.values)):
            assert torch.allclose(x[:, :, : left.length], y[:, :, : right.length], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("capacity", [256, 4])
def test_a_committed_path_leaves_the_rows_of_a_sequential_run(family, capacity):
    """transformers#30042: wrong text from cache bookkeeping after a partial acceptance."""
    model = models.target(family)
    session = fresh(model, PROMPT[:-1], capacity)
    # two children of the root, two of the second, one of the first: the path 1, 3, 5 is no leading chain
    tokens, parents = [3, 4, 5, 6, 7, 8], [-1, -1, 0, 1, 1, 3]
    session.forward(PROMPT[-1:], tokens, parents)
    session.commit(1, [1, 3, 5])
    same_rows(session, fresh(model, (*PROMPT, 4, 6, 8)))
    after = session.forward([9], [1], [-1])
    due = model.model(input_ids=torch.tensor([[*PROMPT, 4, 6, 8, 9, 1]]), use_cache=False).logits[0, -2:]
    assert torch.allclose(after, due, atol=1e-10)


def test_rejected_rows_and_crops_leave_no_trace(family):
    model = models.target(family)
    session = fresh(model, PROMPT)
    for step in range(6):
        session.forward([step], [10, 11, 12], [-1, 0, -1])
        session.commit(1, [2])
        session.crop(session.length - step % 3)
        length = session.length
        session.forward([50], [51] * 4, [-1, 0, 1, 2])  # not committed
        assert session.length == length
    text = list(PROMPT)
    for step in range(6):
        text += [step, 12]
        del text[len(text) - step % 3 :]
    same_rows(session, fresh(model, text))


@pytest.mark.parametrize("length", [1, 511, 512, 513, 1030])
def test_a_long_prompt_goes_in_in_pieces(length):
    model = LanguageModel(models.build("gemma3", max_position_embeddings=2048))
    tokens = [(5 * i + i // 7) % VOCABULARY for i in range(length)]
    session = fresh(model, tokens)
    found = session.forward([1], [2], [-1])
    due = model.model(input_ids=torch.tensor([[*tokens, 1, 2]]), use_cache=False).logits[0, -2:]
    assert torch.allclose(found, due, atol=1e-10)


def test_rows_asked_for_are_the_rows_given(family):
    session = fresh(models.target(family), PROMPT[:-1])
    every = session.forward(PROMPT[-1:], [3, 4, 5], [-1, 0, -1])
    assert every.shape == (4, VOCABULARY)
    for wanted in ([0], [3], [0, 2], [1, 2, 3], [0, 1, 2, 3]):
        some = session.forward(PROMPT[-1:], [3, 4, 5], [-1, 0, -1], rows=wanted)
        assert torch.allclose(some, every[wanted], atol=1e-12)


def test_several_pending_tokens_come_before_the_tree(family):
    model = models.target(family)
    session = fresh(model, PROMPT[:-3])
    found = session.forward(PROMPT[-3:], [3, 4], [-1, -1])
    due = fresh(model, PROMPT[:-1]).forward(PROMPT[-1:], [3, 4], [-1, -1])
    assert torch.allclose(found, due, atol=1e-10)
    some = session.forward(PROMPT[-3:], [3, 4], [-1, -1], rows=[0, 2])
    assert torch.allclose(some, due[[0, 2]], atol=1e-10), (
        "rows count from the root, not from the first pending token"
    )
    session.commit(3, [1])
    same_rows(session, fresh(model, (*PROMPT, 4)))


def test_two_sessions_of_one_model_do_not_meet(family):
    model = models.target(family)
    first, second = fresh(model, PROMPT[:9]), fresh(model, PROMPT[9:20])
    for token in (1, 2, 3):
        first.forward([token], [], [])
        second.forward([token + 9], [], [])
        first.commit(1, [])
        second.commit(1, [])
    same_rows(first, fresh(model, (*PROMPT[:9], 1, 2, 3)))
    same_rows(second, fresh(model, (*PROMPT[9:20], 10, 11, 12)))


def test_logits_are_cut_to_the_vocabulary():
    """Padded rows of the head are never emitted (Qwen: 151,936 rows for 151,665 tokens)."""
    model = LanguageModel(models.build("llama"), vocabulary=80)
    session = fresh(model, [1, 2, 3])
    assert session.forward([4], [5], [-1]).shape == (2, 80)
    assert model.vocabulary == 80
    assert LanguageModel(model.model, vocabulary=10**6).vocabulary == VOCABULARY


@pytest.mark.parametrize("path", [[0, 1, 2, 3], [0, 1, 3], [1], [0, 2, 3], []])
def test_only_what_is_not_in_place_is_moved(path, monkeypatch):
    cache, moved = TreeCache(LAYERS, 8), []
    write(cache, [0.0, 1.0, 2.0, 3.0])
    right = TreeLayer.commit
    monkeypatch.setattr(
        TreeLayer,
        "commit",
        lambda self, rows, first, end: (moved.append(rows.tolist()), right(self, rows, first, end))[1],
    )
    cache.commit(path)
    assert kept(cache) == [float(row) for row in path]
    assert moved == LAYERS * [[row for place, row in enumerate(path) if row != place]] * (
        path != list(range(len(path)))
    )
