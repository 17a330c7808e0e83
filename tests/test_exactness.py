"""Promise 1: the output is the target's own, whatever proposes (ladder L2, L3; more in tests/engine).

float64, tiny random models, drafts that agree only now and then: partial acceptance in every run.
"""

from __future__ import annotations

import random

import pytest

import phrasekit as pk
from phrasekit.methods import METHODS
from tests import models

TOKENS = 132
SPECULATIVE = [name for name in METHODS if name != "vanilla"]
SAMPLED = (
    {"temperature": 0.8, "seed": 11},
    {"temperature": 1.3, "top_k": 7, "top_p": 0.9, "min_p": 0.02, "seed": 12},
    {"temperature": 0.7, "repetition_penalty": 1.2, "presence_penalty": 0.3, "seed": 13},
)


def random_knobs(rng: random.Random) -> pk.Knobs:
    return pk.Knobs(
        gamma=rng.randint(0, 7),
        window=rng.choice((0, 0, 2, 5)),
        level=rng.randint(2, 6),
        guesses=rng.choice((0, 3, 7)),
        suffixes=rng.randint(0, 4),
        beta=rng.randint(2, 7),
        cut_to_gamma=rng.random() < 0.5,
        harvest_discarded=rng.random() < 0.7,
        repair=rng.choice(("paper", "prefix", "off")),
        harvest_committed=rng.random() < 0.7,
        lookup=rng.randint(0, 9),
        lookup_ngram=rng.randint(1, 5),
    )


def decode(pair: pk.Pair, method: str, *, walk: int, pool: pk.PhrasePool | None = None, **options) -> pk.Run:
    """A run whose knobs take a random walk between iterations."""
    rng = random.Random(f"{method}/{walk}")
    decoder = pk.decoder(pair, models.PROMPT, method=method, max_new_tokens=TOKENS, pool=pool, **options)
    while not decoder.finished:
        decoder.knobs = random_knobs(rng)
        decoder.step()
    return decoder.result()


@pytest.mark.parametrize("method", METHODS)
def test_greedy_is_transformers_generate(family: str, method: str) -> None:
    run = decode(models.pair_of(family), method, walk=1)
    assert run.tokens == models.generated(family, TOKENS)
    assert run.finish_reason == "length"


@pytest.mark.parametrize("options", SAMPLED, ids=str)
@pytest.mark.parametrize("method", SPECULATIVE)
def test_seeded_sampling_is_plain_sampling(family: str, method: str, options: dict) -> None:
    pair = models.pair_of(family)
    plain = pk.generate(pair, models.PROMPT, method="vanilla", max_new_tokens=TOKENS, **options)
    assert decode(pair, method, walk=2, **options).tokens == plain.tokens


def test_partial_acceptance_really_happens(family: str) -> None:
    """transformers PR#27540: the uncovered case was matches > 0 and more than one outer loop."""
    run = decode(models.pair_of(family), "ouroboros", walk=1)
    partial = [it for it in run.trace.iterations if 0 < it.accepted < it.drafted]
    whole = [it for it in run.trace.iterations if it.drafted and it.accepted == it.drafted]
    assert len(partial) >= 3
    assert whole


@pytest.mark.parametrize("kind", ["same", "other"])
@pytest.mark.parametrize("method", ["speculative", "ouroboros", "cascade", "hybrid"])
def test_always_and_hardly_ever_accepted(family: str, method: str, kind: str) -> None:
    run = decode(models.pair_of(family, kind), method, walk=3)
    assert run.tokens == models.generated(family, TOKENS)


@pytest.mark.parametrize("method", ["lookahead", "ouroboros", "hybrid"])
def test_a_poisoned_pool_only_costs_speed(family: str, method: str) -> None:
    rng = random.Random(7)
    pool = pk.PhrasePool()
    for _ in range(3000):
        pool.insert(
            [rng.randrange(-3, models.VOCABULARY + 40) for _ in range(rng.randint(2, 9))], "committed"
        )
    run = decode(models.pair_of(family), method, walk=4, pool=pool)
    assert run.tokens == models.generated(family, TOKENS)
