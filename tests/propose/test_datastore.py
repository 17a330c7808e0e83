"""The datastore against a search through all its documents."""

from __future__ import annotations

import random
import tracemalloc
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.decode.knobs import BOUNDS
from phrasekit.propose.datastore import CAPACITY, Datastore
from phrasekit.propose.documents import Retrieved, prompt_mark
from phrasekit.propose.ngrams import NgramIndex

documents = st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=12)
contexts = st.lists(st.integers(0, 3), max_size=6)
MILLION = 1_000_000


def brute_force(kept: list[list[int]], context: list[int], count: int, ngram: int) -> Retrieved:
    """Longest n-gram first, then the latest document, then the latest place in it."""
    for size in range(min(ngram, len(context)), 0, -1):
        for document in reversed(kept):
            for end in range(len(document) - 1, size - 1, -1):
                if document[end - size : end] == context[len(context) - size :]:
                    return Retrieved(tuple(document[end : end + count]), size)
    return Retrieved()


def filled(parts, **settings_) -> Datastore:
    store = Datastore(**settings_)
    for part in parts:
        store.add(part)
    return store


def held(store: Datastore) -> list[list[int]]:
    """The documents of a store."""
    text, _ = store.contents()
    ends = np.flatnonzero(text == -1)
    return [part[part >= 0].tolist() for part in np.split(text, ends)[:-1]] if len(ends) else []


# --- queries ------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(documents, st.lists(contexts, min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 4))
def test_every_query_is_that_of_a_search_through_everything(parts, queries, count, ngram):
    store = filled(parts, ngram=ngram)
    for context in queries:
        assert store.find(context, count) == brute_force(parts, context, count, ngram)
    for shorter in (1, 2, 9):
        due = brute_force(parts, queries[0], count, min(shorter, ngram))
        assert store.find(queries[0], count, ngram=shorter) == due


def test_longest_first_then_latest():
    store = filled([[1, 2, 3, 4], [9, 3, 5], [1, 2, 3, 6, 7], [8, 3, 0]])
    assert store.find([1, 2, 3], 9) == Retrieved((6, 7), 3)
    assert store.find([4, 2, 3], 9) == Retrieved((6, 7), 2)
    assert store.find([4, 4, 3], 1) == Retrieved((0,), 1)
    assert store.find([1, 2, 3], 9, ngram=1) == Retrieved((0,), 1)


@pytest.mark.parametrize("context", [[], [5], [-1], [3, -1], [2**40], [4], [0, 4]])
def test_what_is_unknown_or_has_no_continuation_finds_nothing(context):
    store = filled([[1, 2, 3], [4], [0, 4]])
    assert store.find(context, 5) == Retrieved()


def test_nothing_is_wanted():
    store = filled([[1, 2, 3]])
    assert store.find([1], 0) == Retrieved()
    assert store.find([1], 5, ngram=0) == Retrieved()
    assert Datastore().find([1], 5) == Retrieved()


def test_continuations_stay_inside_their_document():
    store = filled([[1, 2], [3, 4], [2, 9]])
    assert store.find([1], 5).tokens == (2,)
    assert store.find([2, 3], 5) == Retrieved((4,), 1)  # [2, 3] stands across two documents


def test_ids_of_large_vocabularies():
    """REST#23: 16 bits were not enough."""
    big = [70_000, 2**31 - 1, 151_935, 70_000, 4_464]  # 70 000 is 4464 in 16 bits
    store = filled([big])
    assert store.find([70_000], 1) == Retrieved((4_464,), 1)
    assert store.find([4_464], 1) == Retrieved()
    assert store.find([2**31 - 1], 9).tokens == (151_935, 70_000, 4_464)


@settings(max_examples=60)
@given(documents, contexts)
def test_ngrams_that_share_a_hash_are_told_apart(parts, context):
    """With all factors 0 every n-gram begins at slot 0: nothing but the tokens tells them apart."""
    store = Datastore()
    for index in store._indexes:
        index._factors = [0] * index.size
    for part in parts:
        store.add(part)
    assert store.find(context, 4) == brute_force(parts, context, 4, 3)


def test_a_crowded_table_is_exact():
    """Thousands of n-grams through a table that starts with 256 slots and is never more than 0.6 full."""
    rng = random.Random(3)
    text = [rng.randrange(40) for _ in range(9_000)]
    index, ids = NgramIndex(3), np.array([*text, -1], dtype=np.int32)
    last = {}
    for start in range(0, 9_001, 500):
        index.extend(ids, start, min(start + 500, 9_001))
    for end in range(3, 9_000):
        last[tuple(text[end - 3 : end])] = end
    view = memoryview(ids)
    assert all(index.latest(view, list(ngram)) == end for ngram, end in last.items())
    assert index._taken == len(last) == np.count_nonzero(index._slots)
    assert len(last) <= 0.6 * len(index._slots)
    assert index.latest(view, [41, 1, 1]) == 0


# --- bounds -------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=30), max_size=30), contexts)
def test_the_oldest_go_and_what_is_left_is_found(parts, context):
    store = Datastore(capacity=64)
    for number, part in enumerate(parts, start=1):
        store.add(part)
        kept = held(store)
        assert kept == parts[number - len(kept) : number]  # the latest, each of them whole
        assert len(store) == sum(map(len, kept))
        assert store.documents == len(kept) > 0
        assert len(store) + store.documents <= 64
        assert store.find(context, 5) == brute_force(kept, context, 5, 3)


def test_a_full_store_keeps_most_of_what_it_may_hold():
    store = Datastore(capacity=1000)
    for number in range(500):
        store.add([number] * 9)
        if number > 100:
            assert len(store) + store.documents >= 730


def test_a_document_longer_than_the_capacity_keeps_its_end():
    store = Datastore(capacity=64)
    store.add([5] * 10)
    store.add(range(200))
    assert held(store) == [list(range(137, 200))]
    assert store.find([140], 2) == Retrieved((141, 142), 1)
    assert store.find([5], 1) == Retrieved()


@pytest.mark.parametrize(
    ("settings_", "error"),
    [
        ({"capacity": 63}, ValueError),
        ({"capacity": 1 << 40}, ValueError),
        ({"capacity": 1e6}, TypeError),
        ({"ngram": 0}, ValueError),
        ({"ngram": 9}, ValueError),
        ({"ngram": True}, TypeError),
    ],
)
def test_settings_outside_their_bounds_are_refused(settings_, error):
    with pytest.raises(error, match=f"{next(iter(settings_))} must be a whole number from"):
        Datastore(**settings_)


def test_every_capacity_is_more_than_any_depth():
    """sglang#36495: eviction went wrong where the capacity was that of one continuation."""
    assert CAPACITY[0] > BOUNDS["depth"][1] + BOUNDS["lookup_ngram"][1]


@pytest.mark.parametrize(
    ("tokens", "error"),
    [
        ([1, -1], ValueError),
        ([2**31], ValueError),
        ([1.5], TypeError),
        (["a"], TypeError),
        ([[1]], TypeError),
    ],
)
def test_what_is_no_document_is_refused_and_changes_nothing(tokens, error):
    store = filled([[1, 2]])
    with pytest.raises(error, match="must be"):
        store.add(tokens)
    assert held(store) == [[1, 2]]


def test_an_empty_document_is_left_out():
    store = Datastore()
    store.add([], source=prompt_mark([1]))
    assert (len(store), store.documents, store.sources) == (0, 0, frozenset())


# --- sources ------------------------------------------------------------------------------------


def test_a_store_knows_the_prompts_it_was_built_from():
    store = Datastore()
    store.add([1, 2, 3], source=prompt_mark([1, 2]))
    store.add([7, 8])
    store.add([1, 2, 4], source=prompt_mark((1, 2)))
    assert store.saw([1, 2])
    assert store.saw(np.array([1, 2]).tolist())
    assert not store.saw([1, 2, 3])
    assert not store.saw([7])
    assert store.sources == {prompt_mark([1, 2])}


def test_marks_go_with_their_last_document():
    store = Datastore(capacity=64)
    for number in range(30):  # every mark has two documents, one behind the other
        store.add([number] * 7, source=prompt_mark([number // 2]))
        first = number + 1 - store.documents
        assert store.sources == {prompt_mark([n // 2]) for n in range(first, number + 1)}
    assert not store.saw([0])


def test_marks_are_the_same_on_every_machine_and_differ():
    assert prompt_mark([1, 2, 300]) == prompt_mark((1, 2, 300)) == "a1671a506c4c89d0"
    assert len({prompt_mark(p) for p in ([], [1], [1, 0], [0, 1], [256], [1, 0, 0])}) == 6


@pytest.mark.parametrize("source", ["x", "A" * 16, "0" * 15, "<b>" * 6, "0" * 15 + "\n"])
def test_a_source_that_is_no_mark_is_refused(source):
    with pytest.raises(ValueError, match="a source must be a mark from prompt_mark"):
        Datastore().add([1, 2], source=source)


# --- size and threads ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_million_tokens_take_less_than_forty_bytes_each():
    """Random ids: nearly every 2-gram and 3-gram is a new one, the worst case."""
    text = np.random.default_rng(0).integers(0, 32_000, MILLION - 1)
    tracemalloc.start()
    store = filled([text])
    held_bytes, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(store) == MILLION - 1
    assert store.nbytes < 30 * MILLION
    assert held_bytes - text.nbytes < 40 * MILLION
    assert peak < 60 * MILLION
    before = store.nbytes
    store.add(text[: MILLION // 2])
    assert store.nbytes <= before
    assert len(store) <= MILLION


def test_a_query_looks_at_few_slots():
    """Counted instead of timed: how far the probing goes in a table as full as it gets."""
    index, rng = NgramIndex(2), np.random.default_rng(1)
    ids = rng.integers(0, 32_000, 39_000).astype(np.int32)
    index.extend(ids, 0, len(ids))
    slots = index._slots
    taken = np.flatnonzero(slots)
    home = index._hash(ids, slots[taken].astype(np.int64))
    walked = (taken - home) & index._mask
    assert 0.5 < len(taken) / len(slots) <= 0.6
    assert walked.mean() < 2
    assert walked.max() < 80


def test_threads_share_a_store():
    store, wrong = Datastore(capacity=2_000), []

    def work(own: int) -> None:
        for number in range(300):
            store.add([own, number, own, number + 1])
            found = store.find([own, number], 2)
            if found.matched == 2 and found.tokens != (own, number + 1):
                wrong.append(found)

    threads = [Thread(target=work, args=(1_000 + seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kept = held(store)
    assert all(len(part) == 4 and part[3] == part[1] + 1 for part in kept)
    for own in range(1_000, 1_004):
        assert store.find([own], 3) == brute_force(kept, [own], 3, 3)
