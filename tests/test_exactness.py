"""Promise 1: the output is the target's own, whatever proposes (ladder L2, L3; more in tests/engine).

float64, tiny random models, drafts that agree only now and then, knobs that wander in every run.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

import phrasekit as pk
from phrasekit.methods import METHODS
from tests import models
from tests.equality import check
from tests.runs import decode, poisoned, wander

TOKENS = 132
LONG = 360  # where acceptance is so high that tokens are cheap
SPECULATIVE = [name for name in METHODS if name != "vanilla"]
SAMPLED = (
    {"temperature": 0.8, "seed": 11},
    {"temperature": 1.3, "top_k": 7, "top_p": 0.9, "min_p": 0.02, "seed": 12},
    {"temperature": 0.7, "repetition_penalty": 1.2, "presence_penalty": 0.3, "seed": 13},
)


@lru_cache(maxsize=64)
def sampled(family: str, number: int) -> tuple[int, ...]:
    """What plain decoding draws."""
    count = LONG if number == 0 else TOKENS
    return decode(models.pair_of(family), "vanilla", count=count, **SAMPLED[number]).tokens


@pytest.mark.parametrize("method", METHODS)
def test_greedy_is_transformers_generate(family: str, method: str) -> None:
    run = wander(models.pair_of(family), method, walk=1, count=TOKENS)
    check(run, models.generated(family, TOKENS))
    assert run.finish_reason == "length"
    if method == "ouroboros":  # transformers PR#27540: matches > 0 and more than one outer loop
        assert sum(0 < it.accepted < it.drafted for it in run.trace.iterations) >= 8
        assert any(it.drafted and it.accepted == it.drafted for it in run.trace.iterations)


@pytest.mark.parametrize("number", range(len(SAMPLED)))
@pytest.mark.parametrize("method", SPECULATIVE)
def test_seeded_sampling_is_plain_sampling(family: str, method: str, number: int) -> None:
    run = wander(models.pair_of(family), method, walk=2, count=TOKENS, **SAMPLED[number])
    check(run, sampled(family, number)[:TOKENS])


@pytest.mark.parametrize("kind", ["same", "other"])
@pytest.mark.parametrize("method", ["speculative", "ouroboros", "cascade", "hybrid"])
def test_always_and_hardly_ever_accepted(family: str, method: str, kind: str) -> None:
    check(
        wander(models.pair_of(family, kind), method, walk=3, count=TOKENS), models.generated(family, TOKENS)
    )


@pytest.mark.parametrize("method", ["lookahead", "ouroboros", "hybrid"])
def test_a_poisoned_pool_costs_speed_and_nothing_else(family: str, method: str) -> None:
    pool = poisoned()
    run = wander(models.pair_of(family, eos=frozenset({3})), method, walk=4, count=TOKENS, pool=pool)
    check(run, models.until(models.generated(family, TOKENS), 3))
    assert pool.check_integrity() == ""
    assert sum(len(it.pool.retrieved) for it in run.trace.iterations) > 0


@pytest.mark.parametrize("reach", [5, 16])
@pytest.mark.parametrize("sampling", [{}, SAMPLED[0]], ids=["greedy", "sampled"])
@pytest.mark.parametrize("method", ["lookahead", "ouroboros", "hybrid"])
def test_a_pool_that_knows_the_text_by_heart(family: str, method: str, sampling: dict, reach: int) -> None:
    """Long paths out of many branches, step after step: every cache row moves, and soon the window is passed."""
    due = sampled(family, 0) if sampling else models.generated(family, LONG)
    text, pool = (*models.PROMPT, *due), pk.PhrasePool()
    for start in range(len(text)):
        pool.insert(text[start : start + reach], "committed")
    knobs = pk.Knobs(gamma=0, window=0, level=reach, guesses=9, suffixes=9, beta=reach, lookup=0)
    run = decode(models.pair_of(family), method, knobs, count=LONG, pool=pool, **sampling)
    check(run, due)
    if method != "hybrid":  # which goes by the clock
        assert len(run.trace.iterations) < 2.5 * LONG / reach
