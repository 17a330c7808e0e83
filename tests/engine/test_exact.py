"""L2 and L3 of the ladder on real models: every method and every setting gives plain decoding's tokens.

float64, six families, drafts that agree now and then. Compared are ids and the reason for the end, with
transformers' own `generate` (greedy) and with the `vanilla` method (sampling). What wandering knobs and
every method do together is in `tests/test_exactness.py`; here are the extremes one by one. Both count
what they compare (`tests/equality.py`).
"""

from __future__ import annotations

from functools import lru_cache

import pytest

import phrasekit as pk
from phrasekit import Knobs, PhrasePool
from phrasekit.methods import METHODS
from tests import models
from tests.equality import check
from tests.models import FAMILIES, PROMPT, VOCABULARY, generated, pair_of
from tests.runs import decode, poisoned

TOKENS = 130

EXTREMES = {
    "plain drafts": ("ouroboros", Knobs(window=0, guesses=0, suffixes=0)),
    "no draft": ("ouroboros", Knobs(gamma=0, suffixes=4, window=5)),
    "one token": ("ouroboros", Knobs(gamma=1, suffixes=1, beta=2)),
    "long": ("ouroboros", Knobs(gamma=7, suffixes=4, beta=7)),
    "far too long": ("ouroboros", Knobs(gamma=30, beta=64, suffixes=8)),
    "exact gamma": ("ouroboros", Knobs(gamma=3, cut_to_gamma=True, window=5)),
    "window of one": ("ouroboros", Knobs(window=1, level=2, guesses=7)),
    "window": ("ouroboros", Knobs(window=5, level=4, guesses=7)),
    "deep window": ("ouroboros", Knobs(window=5, level=6, guesses=0)),
    "paper repairs": ("ouroboros", Knobs(repair="paper", suffixes=4, gamma=2)),
    "no repairs": ("ouroboros", Knobs(repair="off", harvest_discarded=False)),
    "no harvest": (
        "ouroboros",
        Knobs(repair="off", harvest_discarded=False, harvest_committed=False, window=4),
    ),
    "lookahead, two levels": ("lookahead", Knobs(window=5, level=2, guesses=7)),
    "lookahead, six levels": ("lookahead", Knobs(window=3, level=6, guesses=2)),
    "lookahead, W unlike G": ("lookahead", Knobs(window=7, level=3, guesses=1)),
    "lookahead, no window": ("lookahead", Knobs(window=0, guesses=7)),
    "lookahead, no guesses": ("lookahead", Knobs(window=5, guesses=0)),
    "speculative, gamma 1": ("speculative", Knobs(gamma=1)),
    "speculative, gamma 7": ("speculative", Knobs(gamma=7)),
    "speculative, gamma 0": ("speculative", Knobs(gamma=0)),
    "cascade, no lookup": ("cascade", Knobs(gamma=5, lookup=0)),
    "cascade, lookup": ("cascade", Knobs(gamma=7, lookup=6, lookup_ngram=1)),
    "lookup, long": ("prompt_lookup", Knobs(lookup=40, lookup_ngram=1)),
    "lookup, off": ("prompt_lookup", Knobs(lookup=0)),
    "hybrid": ("hybrid", Knobs(gamma=4, suffixes=4, lookup=9, lookup_ngram=2)),
}

SAMPLINGS = (
    {"temperature": 0.6, "seed": 1},
    {"temperature": 1.0, "top_k": 5, "seed": 2},
    {"temperature": 1.4, "top_p": 0.8, "seed": 3},
    {"temperature": 0.9, "top_k": 20, "top_p": 0.6, "seed": -4},
    {"temperature": 3.0, "seed": 2**80},
)


@lru_cache(maxsize=64)
def sampled(family: str, number: int) -> tuple[int, ...]:
    """What plain decoding draws."""
    return decode(pair_of(family), "vanilla", **SAMPLINGS[number]).tokens


@pytest.mark.parametrize(
    ("family", "case"),
    [*(("llama", case) for case in EXTREMES), *(("gemma3", case) for case in list(EXTREMES)[::3])],
)
def test_every_extreme_is_greedy_generate(family, case):
    method, knobs = EXTREMES[case]
    run = decode(pair_of(family), method, knobs)
    check(run, generated(family, TOKENS))
    assert run.finish_reason == "length"


@pytest.mark.parametrize("method", ["ouroboros", "speculative"])
@pytest.mark.parametrize("draft", ["other", "same"])
def test_drafts_that_never_and_always_agree(family, draft, method):
    pair = pair_of(family, draft)
    run = decode(pair, method, Knobs(window=2, level=3, gamma=3))
    check(run, generated(family, TOKENS))
    if method == "speculative":
        accepted = sum(iteration.accepted for iteration in run.trace.iterations)
        drafted = sum(iteration.drafted for iteration in run.trace.iterations)
        assert accepted == drafted if draft == "same" else accepted < drafted / 4
        assert draft != "same" or len(run.trace.iterations) == -(-TOKENS // 4)


def test_partial_acceptance_is_what_was_compared(family):
    """transformers PR#27540, #30042: acceptance of some tokens, in several loops, with more to follow."""
    for method, knobs in (("speculative", Knobs(gamma=5)), ("ouroboros", Knobs(gamma=5, suffixes=3))):
        iterations = decode(pair_of(family), method, knobs).trace.iterations
        partial = [i for i in iterations if 0 < i.accepted < i.drafted]
        assert len(partial) >= 8
        assert {i.accepted for i in iterations} >= {0, 1, 2, 3, 5}


def test_the_text_is_no_loop_that_would_hide_mistakes(family):
    """Positions and cached rows hardly matter to a text that repeats itself."""
    tokens = generated(family, TOKENS)
    assert len(set(tokens)) > 20
    tail = tokens[-60:]
    assert not any(tail[period:] == tail[:-period] for period in range(1, 30))


@pytest.mark.parametrize("case", ["window", "long", "lookahead, six levels", "cascade, lookup", "hybrid"])
@pytest.mark.parametrize("number", range(len(SAMPLINGS)))
def test_every_method_draws_what_plain_decoding_draws(case, number):
    """vllm#6038, #9441; LookaheadDecoding PR#6: seeds and settings hold under speculation too."""
    method, knobs = EXTREMES[case]
    check(decode(pair_of("llama"), method, knobs, **SAMPLINGS[number]), sampled("llama", number))


@pytest.mark.parametrize("number", range(2, len(SAMPLINGS)))
def test_every_family_draws_what_plain_decoding_draws(family, number):
    method, knobs = EXTREMES["window"]
    check(decode(pair_of(family), method, knobs, **SAMPLINGS[number]), sampled(family, number))


def test_seeds_differ_and_are_kept():
    texts = {}
    for seed in range(12):
        options = {"temperature": 1.0, "seed": seed, "count": 30}
        texts[seed] = decode(pair_of("llama"), "ouroboros", **options).tokens
        assert decode(pair_of("llama"), "speculative", **options).tokens == texts[seed]
    assert len(set(texts.values())) == 12
    assert generated("llama", 30) not in texts.values()


def test_sampling_partly_accepts_as_well():
    """One noise for draft and target: they agree as often as the coupling allows."""
    iterations = decode(pair_of("llama"), "speculative", Knobs(gamma=5), temperature=1.0).trace.iterations
    assert sum(0 < i.accepted < i.drafted for i in iterations) >= 8


# --- pools ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ouroboros", "lookahead", "hybrid"])
def test_what_a_poisoned_pool_proposes_is_dropped_and_counted(family, method):
    pool = poisoned()
    run = decode(pair_of(family, eos=frozenset({3})), method, Knobs(window=3), pool=pool)
    check(run, models.until(generated(family, TOKENS), 3))
    assert pool.check_integrity() == ""
    assert sum(i.tree.dropped + sum(j.tree.dropped for j in i.draft) for i in run.trace.iterations) > 0


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_a_warm_pool_changes_the_steps_and_not_the_text(family):
    pool = PhrasePool()
    cold = decode(pair_of(family), "ouroboros", Knobs(gamma=3), pool=pool)
    warm = decode(pair_of(family), "ouroboros", Knobs(gamma=3), pool=pool)
    for run in (cold, warm):
        check(run, generated(family, TOKENS))
    assert len(warm.trace.iterations) < len(cold.trace.iterations)
    assert pool.check_integrity() == ""
    check(decode(pair_of(family), "ouroboros", pool=pool, **SAMPLINGS[0]), sampled(family, 0))


def test_history_is_off_where_a_method_says_so():
    pool = PhrasePool()
    pool.insert((1, 2, 3), "window")
    decode(pair_of("llama"), "ouroboros-no-history", pool=pool, count=20)
    assert [phrase.tokens for phrase in pool] == [(1, 2, 3)]
    assert all(phrase.uses == 0 for phrase in pool)


# --- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 12))
@pytest.mark.parametrize("method", ["ouroboros", "lookahead", "cascade"])
def test_every_length(method, count):
    pool = PhrasePool()
    decode(pair_of("llama"), method, count=60, pool=pool)
    run = decode(pair_of("llama"), method, Knobs(gamma=5, window=3, suffixes=4), count=count, pool=pool)
    check(run, generated("llama", count))
    assert run.finish_reason == "length"


@pytest.mark.parametrize("place", [0, 1, 2, 3, 5, 8, 13, 21, 34])
@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_end_tokens_wherever_they_come(family, place):
    tokens = generated(family, TOKENS)[:40]
    eos = frozenset({tokens[place], tokens[place + 2]})
    end = next(i for i, token in enumerate(tokens) if token in eos) + 1
    for method in ("vanilla", "ouroboros", "lookahead", "prompt_lookup", "hybrid"):
        run = decode(pair_of(family, eos=eos), method, count=40)
        check(run, tokens[:end])
        assert run.finish_reason == "eos"


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
@pytest.mark.parametrize("space", [1, 2, 3, 7, 20])
def test_the_end_of_the_context(family, space):
    """gpt2 has no position beyond its context: one row too deep, window rows included, is an IndexError."""
    context = len(PROMPT) + space
    made = models.build(family, max_position_embeddings=context)
    target = pk.load_model(made)
    pair = pk.Pair(target=target, draft=pk.load_model(models.noisy(made, 0.03)))
    assert target.context == context
    due = models.greedy(made, PROMPT, space)
    for method in (name for name in METHODS if "-no-" not in name):
        run = decode(pair, method, Knobs(window=3, level=3, gamma=6, suffixes=3, lookup=9))
        assert (run.tokens, run.finish_reason) == (due, "context"), method


def test_a_model_that_changes_its_positions_midway_ends_before():
    """Phi-3: past 4,096 positions every row of a forward turns with other frequencies, cached ones do not."""
    factors = {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "factor": 16.0}
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 50, **factors}
    made = models.build("llama", rope_parameters=rope)
    pair = pk.Pair(target=pk.load_model(made), draft=pk.load_model(models.noisy(made, 0.03)))
    for method in ("vanilla", "ouroboros", "lookahead"):
        run = decode(pair, method, Knobs(gamma=6, window=3), count=60)
        assert (run.tokens, run.finish_reason) == (models.greedy(made, PROMPT, 26), "context")


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_a_cache_that_has_to_grow(family, monkeypatch):
    """llama.cpp#15445: no size is right for every text and tree."""
    for name in ("RESERVED_ROWS", "SPARE_ROWS"):
        monkeypatch.setattr(f"phrasekit.decode.decoder.{name}", 0)
    decoding = pk.decoder(pair_of(family), PROMPT, knobs=Knobs(window=3, gamma=5), max_new_tokens=TOKENS)
    layer = decoding._decoder._session.cache.layers[0]
    assert layer.capacity == len(PROMPT)
    assert tuple(token for step in decoding for token in step.emitted) == generated(family, TOKENS)
    assert layer.capacity > 2 * len(PROMPT)


def test_a_draft_whose_context_ends_first():
    """It stops drafting; the target goes on alone."""
    made = models.build("gpt2")
    small = models.build("gpt2", seed=7, max_position_embeddings=len(PROMPT) + 20)
    pair = pk.Pair(target=pk.load_model(made), draft=pk.load_model(small))
    run = decode(pair, "ouroboros", Knobs(window=2, level=3), count=60)
    assert run.tokens == models.greedy(made, PROMPT, 60)
    assert any(i.draft for i in run.trace.iterations)
    assert not any(i.draft for i in run.trace.iterations[-10:])


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 40])
def test_prompts_of_every_length(family, length):
    """Shorter than, as long as and longer than the sliding window of 16."""
    prompt = tuple((11 * i + 5) % VOCABULARY for i in range(length))
    due = models.greedy(models.target(family).model, prompt, 24)
    for method in ("ouroboros", "lookahead"):
        run = pk.generate(pair_of(family), prompt, method=method, knobs=Knobs(window=2), max_new_tokens=24)
        assert run.tokens == due


def test_a_prompt_of_several_forwards():
    made = models.build("gemma3", max_position_embeddings=2048)
    pair = pk.Pair(target=pk.load_model(made), draft=pk.load_model(models.noisy(made, 0.05)))
    prompt = tuple((11 * i + i // 13) % VOCABULARY for i in range(1100))
    for method in ("vanilla", "ouroboros"):
        run = pk.generate(pair, prompt, method=method, max_new_tokens=40)
        assert run.tokens == models.greedy(made, prompt, 40)


def test_families_are_what_they_are_here_for():
    """Sliding layers smaller than the prompt; mixed layers; learned positions."""
    assert len(PROMPT) > models.WINDOW
    kinds = {family: pair_of(family).target.adapter.layer_kinds for family in FAMILIES}
    assert kinds["gemma3"] == {"full_attention", "sliding_attention"}
    assert kinds["mistral"] == {"sliding_attention"}
    assert kinds["llama"] == {"full_attention"}
    assert {family for family in FAMILIES if pair_of(family).target.adapter.lean is None} == {
        "gemma3",
        "gpt2",
        "neox",
    }
