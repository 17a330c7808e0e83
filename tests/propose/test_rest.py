"""REST: a tree of continuations from a corpus, never more than 64 nodes, never another text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phrasekit as pk
from phrasekit.decode import Draft, Knobs, TokenTree
from phrasekit.errors import TokenizerMismatchError
from phrasekit.propose import Corpus, Datastore, Rest, prompt_mark
from phrasekit.propose.corpus import LONGEST, SHORTEST
from phrasekit.propose.rest import NODES
from phrasekit.trace import faults
from phrasekit.trace.records import RETRIEVED, STORE
from tests import models
from tests.models import PROMPT

COUNT = 100
SAMPLED = ({"temperature": 0.8, "seed": 3}, {"temperature": 1.2, "top_k": 9, "seed": 4})


def grown(corpus: Corpus, context: list[int], *, limit: int = 99, vocabulary: int = 5_000, **knobs) -> Draft:
    draft = Draft(TokenTree(vocabulary=vocabulary, limit=limit), context, Knobs(**knobs))
    Rest(corpus).propose(draft)
    return draft


def rehearsed(family: str, *, wrong_every: int) -> Corpus:
    """What the target will say, three times, with other mistakes in each and noise around."""
    text = [*PROMPT, *models.generated(family, COUNT)]
    rng = random.Random(family)
    versions = [
        [
            rng.randrange(models.VOCABULARY) if (at + shift) % wrong_every == 0 else t
            for at, t in enumerate(text)
        ]
        for shift in range(3)
    ]
    noise = [[rng.randrange(models.VOCABULARY) for _ in range(300)] for _ in range(20)]
    return Corpus.build([*noise, *versions])


# --- the tree -----------------------------------------------------------------------------------


def test_siblings_share_their_beginning():
    corpus = Corpus.build([[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 6]])
    draft = grown(corpus, [9, 1, 2], depth=3)
    tree = draft.tree
    assert [tree.path_tokens(node) for node in range(len(tree))] == [[6], [3], [3, 4], [3, 5]]
    assert set(tree.kinds) == {RETRIEVED}
    assert tree.trunk == []
    assert [branch.nodes for branch in tree.branches] == [(0,), (1, 2), (1, 3)]
    told = draft.retrieval
    assert (told.source, told.asked, told.matched, told.offered) == (STORE, 1, 2, 2)
    assert told.ms > 0


def test_a_miss_is_told_and_grows_nothing():
    draft = grown(Corpus.build([[1, 2, 3]]), [3, 2])
    assert len(draft.tree) == 0
    assert (draft.retrieval.source, draft.retrieval.asked, draft.retrieval.offered) == ("", 1, 0)


def test_without_room_nothing_is_asked():
    draft = grown(Corpus.build([[1, 2, 3]]), [1, 2], limit=0)
    assert (len(draft.tree), draft.retrieval.asked) == (0, 0)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    symbols=st.sampled_from([2, 3, 8, 40, 2_000]),
    depth=st.integers(1, 20),
    limit=st.integers(1, 25),
)
def test_the_tree_never_has_more_than_64_nodes(seed, symbols, depth, limit):
    rng = random.Random(seed)
    parts = [[1, 2, *(rng.randrange(symbols) for _ in range(25))] for _ in range(150)]
    corpus = Corpus.build(parts)
    tree = grown(corpus, [1, 2], depth=depth, limit=limit).tree
    assert 0 < len(tree) <= NODES == 64
    assert max(tree.depth(node) for node in range(len(tree))) <= min(depth, limit)
    assert tree.dropped == 0
    again = grown(Corpus.build(parts), [1, 2], depth=depth, limit=limit).tree
    assert again.record() == tree.record()


def test_ids_outside_the_vocabulary_are_dropped():
    """REST#19: a corpus of a larger vocabulary, added tokens counted."""
    tree = grown(Corpus.build([[1, 2, 7, 99, 3], [1, 2, 50]]), [1, 2], vocabulary=60).tree
    assert [tree.path_tokens(node) for node in range(len(tree))] == [[50], [7]]
    assert tree.dropped == 2


def test_the_longest_end_of_the_context_wins():
    parts = [[*range(30), 77], [5, 28, 29, 88], [29, 99]]
    draft = grown(Corpus.build(parts), list(range(30)), depth=1)
    assert (draft.tree.tokens, draft.retrieval.matched) == ([77], LONGEST)
    draft = grown(Corpus.build(parts), [5, 28, 29], depth=1)
    assert (draft.tree.tokens, draft.retrieval.matched) == ([88], 3)
    draft = grown(Corpus.build(parts), [4, 29], depth=1)
    assert (draft.tree.tokens, draft.retrieval.matched) == ([], 0)
    assert SHORTEST == 2


# --- whole runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong_every", [9, 25])
def test_greedy_is_transformers_generate(family, wrong_every):
    corpus = rehearsed(family, wrong_every=wrong_every)
    run = pk.generate(models.pair_of(family), PROMPT, method="rest", store=corpus, max_new_tokens=COUNT)
    assert run.tokens == models.generated(family, COUNT)
    assert list(faults(run.trace)) == []
    lengths = [len(iteration.path) for iteration in run.trace.iterations]
    assert sum(lengths) > COUNT / 4  # it was of use
    widths = [len(iteration.tree.tokens) for iteration in run.trace.iterations]
    assert max(widths) <= NODES
    partial = [it for it in run.trace.iterations if 0 < len(it.path) < len(it.tree.tokens)]
    assert len(partial) > 3
    assert RETRIEVED in {kind for iteration in run.trace.iterations for kind in iteration.kinds}


@pytest.mark.parametrize("options", SAMPLED, ids=str)
def test_seeded_sampling_is_plain_sampling(family, options):
    pair = models.pair_of(family)
    plain = pk.generate(pair, PROMPT, method="vanilla", max_new_tokens=COUNT, **options)
    store = Datastore()
    store.add([*PROMPT, *plain.tokens[: COUNT // 2], 1, 2, 3])
    store.add([*PROMPT, *plain.tokens[: COUNT // 3], 3, 2, 1])
    run = pk.generate(
        pair, PROMPT, method="rest", store=Corpus.freeze(store), max_new_tokens=COUNT, **options
    )
    assert run.tokens == plain.tokens
    assert sum(len(iteration.path) for iteration in run.trace.iterations) > COUNT / 4


def test_a_poisoned_corpus_only_costs_speed(family):
    """Right, then wrong at every place in turn, and foreign ids."""
    text = [*PROMPT, *models.generated(family, COUNT)]
    wrong = [
        [*text[:at], (text[at] + 1) % models.VOCABULARY, *text[at + 1 :]] for at in range(20, len(text), 3)
    ]
    foreign = [[*text[: at + 2], 10**6] for at in range(0, len(text), 2)]
    corpus = Corpus.build([*wrong, *foreign])
    run = pk.generate(models.pair_of(family), PROMPT, method="rest", store=corpus, max_new_tokens=COUNT)
    assert run.tokens == models.generated(family, COUNT)


# --- what is refused ----------------------------------------------------------------------------


def test_without_a_corpus_it_says_how_to_make_one(monkeypatch):
    pair = models.pair_of("llama")
    monkeypatch.setattr(type(pair.target), "session", lambda *_: pytest.fail("a model ran"))
    with pytest.raises(
        ValueError, match=r"needs a corpus.*got no store; build one with `phrasekit store build"
    ):
        pk.generate(pair, PROMPT, method="rest")
    with pytest.raises(ValueError, match=r"got a Datastore, of which Corpus\.freeze makes one"):
        pk.generate(pair, PROMPT, method="rest", store=Datastore())
    with pytest.raises(TypeError, match="store must be a Datastore or a Corpus"):
        pk.generate(pair, PROMPT, method="rest", store=[[1, 2]])
    with pytest.raises(TokenizerMismatchError, match="tokenizer"):
        pk.generate(pair, PROMPT, method="rest", store=Corpus.build([[1, 2]], fingerprint="another"))


def test_a_run_says_whether_the_store_saw_its_prompt():
    pair = models.pair_of("llama")
    for sources, saw in (([prompt_mark(PROMPT)], True), ([prompt_mark(PROMPT[:-1])], False)):
        corpus = Corpus.build([[1, 2, 3]], sources=sources, fingerprint=pair.fingerprint)
        run = pk.generate(pair, PROMPT, method="rest", store=corpus, max_new_tokens=2)
        assert run.trace.settings["store_saw_prompt"] is saw
        assert run.trace.settings["store_tokens"] == 3
