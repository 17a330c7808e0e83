"""Two hundred thousand tokens: the pool stays sound, its memory flat, its operations cheap.

No test asserts seconds: costs are ratios of CPU time to a plain dict's, measured in the same minute,
with a wide margin. They catch a scan of the pool on the hot path, not a few percent.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator
from time import thread_time

import pytest

from phrasekit.pool import PhrasePool
from phrasekit.pool.harvest import discarded_runs, new_ngrams, repaired
from phrasekit.pool.phrase import COMMITTED, DISCARDED, SUFFIX, WINDOW
from phrasekit.pool.policy import POLICIES

TOKENS = 200_000
VOCABULARY = 32_000


def text(seed: int) -> Iterator[int]:
    """Token ids as frequent as words are, with repeats of what was said before."""
    rng = random.Random(seed)
    said: list[int] = []
    while True:
        if said and rng.random() < 0.05:
            start = rng.randrange(len(said))
            run = said[start : start + 12]
        else:
            run = [min(int(rng.paretovariate(0.7)), VOCABULARY - 1) for _ in range(8)]
        said += run
        if len(said) > 4_000:
            del said[:2_000]
        yield from run


def harvest(pool: PhrasePool, source: Iterator[int], tokens: int, seed: int) -> None:
    """What the proposers of Ouroboros do with a pool, iteration by iteration, without any model."""
    rng, context, done = random.Random(seed), [next(source) for _ in range(8)], 0
    while done < tokens:
        verdicts = [next(source) for _ in range(9)]
        draft = [token if rng.random() < 0.7 else rng.randrange(VOCABULARY) for token in verdicts[:8]]
        accepted = next((i for i in range(8) if draft[i] != verdicts[i]), 8)
        emitted = verdicts[: accepted + 1]
        for phrase in pool.lookup(context[-1], 4):
            if phrase.tokens[1] == emitted[0]:
                pool.credit(phrase.id, 1)
        for found in discarded_runs(draft, verdicts, accepted):
            pool.insert(found, DISCARDED)
        for phrase in pool.lookup(draft[-1], 3):
            suffix = phrase.tokens[1:6]
            better = repaired(draft[-1], suffix, verdicts[: len(suffix)], rule="prefix")
            if better is not None:
                pool.insert(better, SUFFIX)
        context = [*context[-16:], *emitted]
        for ngram in new_ngrams(context, len(context) - len(emitted), 6):
            pool.insert(ngram, COMMITTED)
        done += len(emitted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "tokens"), [("lru", TOKENS), ("least_used", TOKENS // 4), ("least_accepted", TOKENS // 4)]
)
def test_a_long_run_leaves_memory_flat_and_the_pool_sound(policy, tokens):
    pool = PhrasePool(capacity=2_048, policy=policy, half_life=0 if policy == "lru" else 1_024)
    source = text(seed=1)
    tracemalloc.start()
    try:
        harvest(pool, source, tokens // 2, seed=2)
        half, _ = tracemalloc.get_traced_memory()
        assert len(pool) == pool.capacity, "full by half-time, or flat memory means nothing"
        tracemalloc.reset_peak()
        harvest(pool, source, tokens // 2, seed=3)
        end, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end < 1.05 * half
    assert peak < 1.25 * half  # a heap is twice as large while it is made anew
    assert pool.check_integrity() == ""


def microseconds(operation: Callable[[int], object], count: int = 500, repeats: int = 15) -> float:
    """CPU time of one call, the best of several batches."""
    best = float("inf")
    for _ in range(repeats):
        started = thread_time()
        for number in range(count):
            operation(number)
        best = min(best, thread_time() - started)
    return 1e6 * best / count


def busy_pool(policy: str, capacity: int) -> PhrasePool:
    """A full pool with sixteen phrases to a key."""
    rng = random.Random(0)
    pool = PhrasePool(capacity=capacity, policy=policy)
    while len(pool) < capacity:
        pool.insert((rng.randrange(capacity // 14), *(rng.randrange(99) for _ in range(5))), WINDOW)
    for phrase in pool:
        pool.credit(phrase.id, rng.randrange(5))
    return pool


def costs(policy: str, capacity: int) -> tuple[float, float]:
    """Microseconds of a lookup of four and of an insert that makes another phrase go."""
    pool, rng = busy_pool(policy, capacity), random.Random(1)
    keys = [rng.randrange(capacity // 14) for _ in range(500)]
    fresh = iter(
        [(rng.randrange(capacity // 14), *(rng.randrange(99) for _ in range(5))) for _ in range(8_000)]
    )
    lookup = microseconds(lambda number: pool.lookup(keys[number], 4))
    insert = microseconds(lambda _: pool.insert(next(fresh), WINDOW))
    assert pool.check_integrity() == ""
    return lookup, insert


@pytest.mark.parametrize("policy", POLICIES)
def test_lookup_and_insert_cost_a_handful_of_dict_operations(policy):
    plain = microseconds(dict.fromkeys(range(500), 1).get)
    lookup, insert = costs(policy, 4_096)
    assert lookup < 300 * plain, f"{lookup:.1f} µs, a dict {plain:.3f} µs"
    assert insert < 1_200 * plain, f"{insert:.1f} µs, a dict {plain:.3f} µs"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_large_pool_costs_hardly_more_than_a_small_one(policy):
    small, large = costs(policy, 512), costs(policy, 16_384)
    assert large[0] < 5 * small[0]
    assert large[1] < 5 * small[1]
