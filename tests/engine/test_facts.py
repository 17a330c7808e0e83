"""What a trace records is what happened: every number computed again from the model and the tree."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest
import torch

import phrasekit as pk
from phrasekit.trace.records import WINDOW, Iteration
from tests import models
from tests.models import PROMPT

CASES = {
    "vanilla": pk.Knobs(),
    "speculative": pk.Knobs(gamma=5),
    "prompt_lookup": pk.Knobs(lookup_ngram=1, lookup=4),
    "lookahead": pk.Knobs(window=4, level=4, guesses=5),
    "cascade": pk.Knobs(gamma=4, lookup=3, lookup_ngram=1),
    "ouroboros": pk.Knobs(gamma=4, window=3, level=4, guesses=4, suffixes=4, beta=5),
    "hybrid": pk.Knobs(gamma=4, suffixes=4, beta=5, lookup=5, lookup_ngram=2),
}
methods = pytest.mark.parametrize("method", CASES)


@lru_cache
def run(method: str) -> tuple[pk.Run, pk.PhrasePool]:
    """A run on a pool that already holds something."""
    pool = pk.PhrasePool(per_key=3, capacity=150)
    for key in range(0, models.VOCABULARY, 2):
        pool.insert((key, (key * 5 + 1) % models.VOCABULARY, 7), "window")
    done = pk.generate(
        models.pair_of("llama"), PROMPT, method=method, knobs=CASES[method], max_new_tokens=70, pool=pool
    )
    assert done.tokens == models.generated("llama", 70)
    return done, pool


def prefix(iteration: Iteration, node: int) -> tuple[int, ...]:
    found: tuple[int, ...] = ()
    while node >= 0:
        found, node = (iteration.tree.tokens[node], *found), iteration.tree.parents[node]
    return found


@methods
def test_every_pick_is_the_models_own(method):
    """Each row of each tree against an ordinary forward of its path, window rows included."""
    done, _ = run(method)
    model, text = models.target("llama").model, (*PROMPT, *done.tokens)
    for iteration in done.trace.iterations[::3]:
        context = text[: iteration.position]
        for node, pick in enumerate(iteration.picks, start=-1):
            if pick < 0:
                assert iteration.tree.kinds[node] == WINDOW
                continue
            ids = torch.tensor([[*context, *prefix(iteration, node)]])
            with torch.inference_mode():
                assert pick == int(model(input_ids=ids).logits[0, -1].argmax())


@methods
def test_acceptance_follows_from_tree_and_picks(method):
    done, _ = run(method)
    for iteration in done.trace.iterations:
        tree = iteration.tree
        proposed = [node for node in range(len(tree.tokens)) if tree.kinds[node] != WINDOW]
        said = {prefix(iteration, node): iteration.picks[node + 1] for node in (-1, *proposed)}
        assert len(said) == 1 + len(proposed), "one node for every distinct prefix"
        draft = [tree.tokens[node] for node in tree.trunk]
        right = [said[tuple(draft[:i])] == token for i, token in enumerate(draft)]
        assert iteration.drafted == len(draft)
        assert iteration.matches == sum(right)
        assert iteration.accepted == next((i for i, hit in enumerate(right) if not hit), len(right))
        leading = []
        for branch in tree.branches:
            hits = [said[prefix(iteration, tree.parents[node])] == tree.tokens[node] for node in branch.nodes]
            leading.append(next((i for i, hit in enumerate(hits) if not hit), len(hits)))
        assert iteration.suffix_accepted == tuple(leading)
        walked = tuple(tree.tokens[node] for node in iteration.path)
        assert (*walked, said[walked])[: len(iteration.emitted)] == iteration.emitted
        assert (*walked, said[walked]) not in said, "the walk went on as far as it could"


@methods
def test_positions_roots_and_totals(method):
    done, _ = run(method)
    text = (*PROMPT, *done.tokens)
    iterations = done.trace.iterations
    assert sum(len(iteration.emitted) for iteration in iterations) == len(done.tokens) == 70
    for number, iteration in enumerate(iterations):
        assert iteration.index == number
        assert iteration.root == text[iteration.position - 1]
        assert text[iteration.position :][: len(iteration.emitted)] == iteration.emitted
        assert len(iteration.kinds) == len(iteration.emitted)
        for node, kind in zip(iteration.path, iteration.kinds, strict=False):
            assert kind == iteration.tree.kinds[node]
        if len(iteration.emitted) > len(iteration.path):
            assert iteration.kinds[-1] == "target"
        assert iteration.forward.cached == (0 if number == 0 else iteration.position - 1)
        pending = len(PROMPT) if number == 0 else 1
        assert iteration.forward.rows == pending + len(iteration.tree.tokens)
        assert iteration.forward.picked == sum(pick >= 0 for pick in iteration.picks)


@methods
def test_drafting_is_recorded_inside(method):
    done, _ = run(method)
    drafts = method in ("speculative", "cascade", "ouroboros")
    for iteration in done.trace.iterations:
        if drafts and len(done.tokens) - (iteration.position - len(PROMPT)) > 1:
            assert iteration.draft
        if not iteration.draft:
            assert not drafts or iteration.drafted == 0
            continue
        said = tuple(token for inner in iteration.draft for token in inner.emitted)
        trunk = tuple(iteration.tree.tokens[node] for node in iteration.tree.trunk)
        assert trunk == said[: len(trunk)]
        assert len(said) >= CASES[method].gamma or len(said) == 69 - (iteration.position - len(PROMPT))
        at = iteration.position
        for inner in iteration.draft:
            assert inner.position == at
            at += len(inner.emitted)
        spent = sum(inner.ms for inner in iteration.draft)
        assert spent <= iteration.phases["propose"]


@methods
def test_pool_records_add_up(method):
    done, pool = run(method)
    known = dict.fromkeys(range(48))  # what it held before
    start = len(known)
    for iteration in done.trace.iterations:
        records = [*(inner.pool for inner in iteration.draft), iteration.pool]
        for record in records:
            known.update({phrase.id: phrase.tokens for phrase in record.inserted})
        for record in records:
            for phrase in record.retrieved:
                assert known[phrase.id] in (None, phrase.tokens)
            assert record.hits <= record.lookups
            assert len({phrase.id for phrase in record.retrieved}) >= record.hits > 0 or not record.retrieved
        gone = [phrase for record in records for phrase in record.evicted]
        for phrase in gone:
            del known[phrase]  # a KeyError here is a phrase that went twice or never was
        if method in ("ouroboros", "lookahead", "hybrid"):
            assert iteration.pool.size == len(known)
    if method in ("ouroboros", "lookahead", "hybrid"):
        assert len(pool) == len(known) != start
        assert {phrase.id for phrase in pool} == set(known)
        credited = Counter(i.tree.phrases[node] for i in done.trace.iterations for node in i.path)
        assert any(phrase >= 0 for phrase in credited)
        assert all(phrase.accepted == credited[phrase.id] for phrase in pool)
    else:
        assert len(pool) == start


def test_windows_are_recorded_as_they_were_before_the_iteration():
    done, _ = run("lookahead")
    for before, after in zip(done.trace.iterations[3:30], done.trace.iterations[4:], strict=False):
        first, *rest = before.window
        picks = [before.picks[n + 1] for n, kind in enumerate(before.tree.kinds) if kind == WINDOW][
            -len(rest[-1]) :
        ]
        assert after.window == (rest[0][1:], *rest[1:], tuple(picks))
        assert len(first) == 3


def test_knobs_in_force_are_recorded():
    done, _ = run("ouroboros")
    assert {tuple(sorted(i.knobs.items())) for i in done.trace.iterations} == {
        tuple(sorted(CASES["ouroboros"].as_dict().items()))
    }
    assert all(inner.knobs == i.knobs for i in done.trace.iterations for inner in i.draft)


def test_settings_tell_how_to_repeat_a_run():
    trace = pk.generate(
        models.pair_of("llama", eos=frozenset({9, 4})),
        PROMPT,
        max_new_tokens=5,
        temperature=0.5,
        top_k=3,
        top_p=0.9,
        seed=7,
    ).trace
    wanted = {"temperature": 0.5, "top_k": 3, "top_p": 0.9, "seed": 7, "max_new_tokens": 5, "eos": (4, 9)}
    assert {name: trace.settings[name] for name in wanted} == wanted
    assert (trace.settings["target"], trace.settings["draft"]) == ("tiny-llama", "noisy-llama")
    assert trace.settings["dtype"] == "float64"
    assert (trace.method, trace.prompt) == ("ouroboros", PROMPT)
