"""Runs to compare with plain decoding: with fixed knobs, with knobs that wander, from a poisoned pool."""

from __future__ import annotations

import random

import phrasekit as pk
from phrasekit.decode.knobs import BOUNDS, FLAGS, REPAIRS
from phrasekit.trace import faults
from tests import corpora
from tests.models import PROMPT, VOCABULARY


def decode(
    pair: pk.Pair, method: str, knobs: pk.Knobs | None = None, *, count: int = 130, **options
) -> pk.Run:
    """A whole run, its trace checked."""
    options = {**corpora.needed(pair, method), **options}
    return sound(pk.generate(pair, PROMPT, method=method, knobs=knobs, max_new_tokens=count, **options))


def wander(pair: pk.Pair, method: str, *, walk: int, count: int, **options) -> pk.Run:
    """A run whose knobs take a random walk between iterations; another number is another walk."""
    rng = random.Random(f"{method}/{walk}")
    options = {**corpora.needed(pair, method), **options}
    decoding = pk.decoder(pair, PROMPT, method=method, max_new_tokens=count, **options)
    while not decoding.finished:
        decoding.knobs = random_knobs(rng)
        decoding.step()
    return sound(decoding.result())


def sound(run: pk.Run) -> pk.Run:
    assert list(faults(run.trace)) == []
    assert run.tokens == run.trace.tokens
    return run


def random_knobs(rng: random.Random) -> pk.Knobs:
    """Any knobs, the small values of each; half of them without a window, which is most of the work."""
    numbers = {name: rng.randint(low, min(high, low + 7)) for name, (low, high) in BOUNDS.items()}
    window = {"window": rng.choice((0, 0, 1, 2, 3, 5)), "level": rng.randint(2, 6)}
    flags = {name: rng.random() < 0.7 for name in FLAGS}
    return pk.Knobs(**{**numbers, **window, **flags}, repair=rng.choice(REPAIRS))


def poisoned() -> pk.PhrasePool:
    """Phrases that no tokenizer made: foreign ids, end tokens, wrong continuations, far too long, noise."""
    pool, rng = pk.PhrasePool(per_key=6, longest=40), random.Random(7)
    for key in range(VOCABULARY):
        pool.insert((key, *([VOCABULARY + 5] * 3)), "window")
        pool.insert((key, 2**40, 1), "suffix")
        pool.insert((key, 1, 2, 3, 4, 5, 6, 7, 8), "committed")
        pool.insert((key, *range(39)), "discarded")
        for length in (2, 9):
            pool.insert((key, *(rng.randrange(VOCABULARY + 40) for _ in range(length - 1))), "committed")
    return pool
