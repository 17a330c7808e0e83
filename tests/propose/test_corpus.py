"""The corpus against a search through all its documents."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.propose import corpus as module
from phrasekit.propose.corpus import LONGEST, SHORTEST, Continuations, Corpus
from phrasekit.propose.datastore import Datastore
from phrasekit.propose.documents import Retrieved, prompt_mark

documents = st.lists(st.lists(st.integers(0, 3), max_size=24), max_size=10)
contexts = st.lists(st.integers(0, 3), max_size=20)


def matches(parts, context, depth) -> tuple[list[tuple[int, ...]], int]:
    """What follows the longest known end of the context, everywhere, and how long that end is."""
    for size in range(min(LONGEST, len(context)), SHORTEST - 1, -1):
        wanted = context[len(context) - size :]
        found = [
            tuple(part[end : end + depth])
            for part in parts
            for end in range(size, len(part))
            if part[end - size : end] == wanted
        ]
        if found:
            return found, size
    return [], 0


def beginnings(found) -> Counter:
    return Counter(row[:size] for row in found for size in range(1, len(row) + 1))


def kept_beginnings(found, nodes) -> set[tuple[int, ...]]:
    """The most frequent, then the shorter, then by their ids."""
    counts = beginnings(found)
    return set(sorted(counts, key=lambda path: (-counts[path], len(path), path))[:nodes])


def trie(paths) -> set[tuple[int, ...]]:
    return {path[:size] for path in paths for size in range(1, len(path) + 1)}


@settings(max_examples=150)
@given(documents, contexts, st.integers(1, 12), st.integers(1, 70))
def test_the_trie_holds_the_most_frequent_beginnings(parts, context, depth, nodes):
    found, size = matches(parts, context, depth)
    told = Corpus.build(parts).continuations(context, depth=depth, nodes=nodes)
    assert (told.matched, told.places) == (size, len(found))
    assert trie(told.paths) == kept_beginnings(found, nodes)
    counts = beginnings(found)
    assert [counts[path] for path in told.paths] == sorted((counts[p] for p in told.paths), reverse=True)
    assert not set(told.paths) & {path[:-1] for path in trie(told.paths)}  # none begins another


@settings(max_examples=100)
@given(documents, contexts, st.integers(1, 6))
def test_the_likeliest_continuation_takes_the_most_frequent_token_every_time(parts, context, count):
    found, size = matches(parts, context, count)
    told = Corpus.build(parts).find(context, count)
    path: tuple[int, ...] = ()
    while len(path) < count:
        going_on = Counter(
            row[len(path)] for row in found if row[: len(path)] == path and len(row) > len(path)
        )
        if not going_on:
            break
        path += (min(going_on, key=lambda token: (-going_on[token], token)),)
    assert told == Retrieved(path, size if found else 0)


def test_examples():
    corpus = Corpus.build([[1, 2, 3, 4, 5], [9, 2, 3, 4, 6], [2, 3, 7]])
    assert corpus.continuations([2, 3], depth=2, nodes=64) == Continuations(((7,), (4, 5), (4, 6)), 2, 3)
    assert corpus.continuations([1, 2, 3], depth=9, nodes=64) == Continuations(((4, 5),), 3, 1)
    assert corpus.continuations([2, 3], depth=2, nodes=2).paths == (
        (4,),
        (7,),
    )  # twice; then once, and shorter
    assert corpus.continuations([3], depth=2, nodes=9) == Continuations()  # one token says too little
    assert corpus.find([8, 2, 3], 2) == Retrieved((4, 5), 2)
    assert corpus.find([1, 2, 3], 1, ngram=2) == Retrieved((4,), 2)
    assert corpus.find([1, 2, 3], 1, ngram=0) == Retrieved()


@pytest.mark.parametrize("context", [[], [4, 5], [3, 9], [-1, 9], [5, -1], [2**40, 1]])
def test_what_is_unknown_or_has_no_continuation_finds_nothing(context):
    corpus = Corpus.build([[1, 2, 3, 4, 5], [9, 2]])
    assert corpus.continuations(context, depth=3, nodes=9) == Continuations()
    assert corpus.find(context, 3) == Retrieved()


def test_an_empty_corpus():
    corpus = Corpus.build([[], []])
    assert (len(corpus), corpus.documents, corpus.nbytes) == (0, 0, 0)
    assert corpus.continuations([1, 2], depth=3, nodes=9) == Continuations()
    assert corpus.find([1, 2], 3) == Retrieved()


def test_a_trie_never_has_more_nodes_than_it_may():
    """REST#13: "draft_choices was not cut enough"."""
    rng = np.random.default_rng(0)
    wide = [[1, 2, *rng.integers(3, 2_000, 12).tolist()] for _ in range(3_000)]
    corpus = Corpus.build(wide)
    for nodes in (1, 2, 63, 64, 1_000):
        told = corpus.continuations([1, 2], depth=10, nodes=nodes)
        assert len(trie(told.paths)) == nodes
        assert told == Corpus.build(wide).continuations([1, 2], depth=10, nodes=nodes)


def test_of_too_many_places_a_fair_share_is_looked_at(monkeypatch):
    """9 in 10 go on with 5000: so they do in the sample, though they are the last ones in order."""
    monkeypatch.setattr(module, "MATCHES", 50)
    parts = [[1, 2, 5_000 if number % 10 else number] for number in range(1_000)]
    told = Corpus.build(parts).continuations([1, 2], depth=1, nodes=1)
    assert told == Continuations(((5_000,),), 2, 1_000)


def test_ids_of_large_vocabularies():
    big = [70_000, 151_935, 2**31 - 1, 4_464, 151_935, 1]  # 70 000 is 4464 in 16 bits
    corpus = Corpus.build([big, [300, 151_935, 5]])
    assert corpus.find([70_000, 151_935], 2).tokens == (2**31 - 1, 4_464)
    assert corpus.find([4_464, 151_935], 2).tokens == (1,)


def test_a_frozen_datastore_holds_the_same():
    store = Datastore(fingerprint="f")
    store.add([1, 2, 3], source=prompt_mark([1]))
    store.add([1, 2, 4])
    corpus = Corpus.freeze(store)
    assert (len(corpus), corpus.documents, corpus.fingerprint) == (6, 2, "f")
    assert corpus.sources == store.sources
    assert corpus.saw([1])
    assert not corpus.saw([2])
    assert corpus.continuations([1, 2], depth=1, nodes=9).paths == ((3,), (4,))


def test_memory_is_eight_bytes_a_token():
    corpus = Corpus.build([np.arange(50_000).tolist()])
    assert corpus.nbytes == 8 * (50_000 + 1)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydivsufsort", None)
    with pytest.raises(ImportError, match=r"pip install 'phrasekit\[retrieve\]'"):
        Corpus.build([[1, 2]])


@pytest.mark.parametrize(
    ("text", "suffixes"),
    [([1, 2], [0, 1]), ([1, -2, -1], [0, 1, 2]), ([1, -1], [0]), ([1, -1], [0, 2]), ([1, -1], [-1, 0])],
)
def test_arrays_that_are_no_corpus_are_refused(text, suffixes):
    with pytest.raises(ValueError, match="of a corpus must be"):
        Corpus(np.array(text, np.int32), np.array(suffixes, np.int32))


def test_bad_documents_are_refused():
    with pytest.raises(ValueError, match="token ids must be from 0"):
        Corpus.build([[1, -1, 2]])
    with pytest.raises(ValueError, match="a source must be a mark"):
        Corpus.build([[1]], sources=["no mark"])
