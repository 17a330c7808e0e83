"""Whatever ends a step in the middle (Ctrl-C, an error), the next step goes on as if it had not begun.

Interrupted are the inner calls, before and after they did their work: the target's and the draft's
forwards, the growth of the tree, the harvest, the moving of cache rows.
"""

from __future__ import annotations

import random
from itertools import count

import pytest
import torch

import phrasekit as pk
from phrasekit.decode import Proposer, TokenTree
from phrasekit.lm.cache import TreeCache
from phrasekit.lm.model import Session
from phrasekit.pool import PhrasePool
from phrasekit.trace import faults
from phrasekit.trace.records import LOOKUP
from tests.equality import check
from tests.models import PROMPT, generated, pair_of
from tests.runs import decode, random_knobs

TOKENS = 40
TIMES = 6
KNOBS = pk.Knobs(gamma=4, window=2, level=3, guesses=3, suffixes=3)
PLACES = {
    "forward": (Session, "forward"),
    "propose": (TokenTree, "add"),
    "learn": (PhrasePool, "insert"),
    "commit": (TreeCache, "commit"),
}


def interrupt(patch: pytest.MonkeyPatch, place: str, every: int) -> list[int]:
    """Ctrl-C at every so many calls of `place`, by turns before and after its work, a few times; the calls hit."""
    owner, name = PLACES[place]
    inside, calls, hit = getattr(owner, name), count(1), []

    def interrupted(*given, **options):
        call = next(calls)
        now = call % every == 0 and len(hit) < TIMES
        if now and len(hit) % 2 == 0:
            hit.append(call)
            raise KeyboardInterrupt
        result = inside(*given, **options)
        if now:
            hit.append(call)
            raise KeyboardInterrupt
        return result

    patch.setattr(owner, name, interrupted)
    return hit


def go_on(decoding) -> int:
    """Step to the end through all interruptions; how many there were."""
    times = 0
    while not decoding.finished:
        before = decoding.tokens
        try:
            decoding.step()
        except KeyboardInterrupt:
            times += 1
            assert decoding.tokens == before == decoding.trace.tokens
    return times


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 4}], ids=["greedy", "sampled"])
@pytest.mark.parametrize("method", ["lookahead", "ouroboros", "cascade", "hybrid"])
@pytest.mark.parametrize(("place", "every"), [("forward", 7), ("propose", 23), ("learn", 31), ("commit", 5)])
def test_an_interrupted_run_goes_on_exactly(place, every, method, sampling, monkeypatch):
    pair = pair_of("llama")
    due = decode(pair, "vanilla", count=TOKENS, **sampling).tokens
    pool = PhrasePool()
    decoding = pk.decoder(
        pair, PROMPT, method=method, knobs=KNOBS, max_new_tokens=TOKENS, pool=pool, **sampling
    )
    with monkeypatch.context() as patch:
        hit = interrupt(patch, place, every)
        assert go_on(decoding) == len(hit)
    assert len(hit) >= 2 or (place, method) == ("learn", "cascade"), "it has no pool"
    run = decoding.result()
    check(run, due)
    assert list(faults(run.trace)) == []
    assert pool.check_integrity() == ""
    check(decode(pair, method, KNOBS, count=TOKENS, pool=pool, **sampling), due)


class Fails(Proposer):
    """Raises in `where`, behind proposers that have done their part."""

    def __init__(self, where: str) -> None:
        self.where = where

    def propose(self, draft):
        draft.tree.add_branch(-1, [1, 2, 3], LOOKUP)
        if self.where == "propose":
            raise RuntimeError("out of order")

    def learn(self, verdict):
        if self.where == "learn":
            raise RuntimeError("out of order")


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("where", ["propose", "learn"])
@pytest.mark.parametrize("method", ["lookahead", "ouroboros", "hybrid"])
def test_an_exception_in_a_proposer_leaves_model_and_pool_as_they_were(method, where, steps):
    pair, pool = pair_of("llama"), PhrasePool()
    weights = [parameter.clone() for parameter in pair.target.model.parameters()]
    decoding = pk.decoder(pair, PROMPT, method=method, knobs=KNOBS, max_new_tokens=TOKENS, pool=pool)
    for _ in range(steps):
        decoding.step()
    decoder = decoding._decoder
    cache, honest = decoder._session.cache, decoder.proposers
    rows = [layer.keys[:, :, : cache.length].clone() for layer in cache.layers] if steps else []
    phrases = {phrase.tokens for phrase in pool}
    # first in learning, so that the harvest has not begun; last in proposing, so that the tree is full
    decoder.proposers = (Fails(where), *honest) if where == "learn" else (*honest, Fails(where))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of order"):
            decoding.step()
    held = {phrase.tokens for phrase in pool}
    # a draft decoder has finished iterations of its own by then, and keeps what they taught
    assert held == phrases if method == "lookahead" else held >= phrases
    assert pool.check_integrity() == ""
    assert all(map(torch.equal, weights, pair.target.model.parameters()))
    kept = min(cache.length, len(decoder.context) - 1)
    for layer, before in zip(cache.layers, rows, strict=False):
        assert torch.equal(layer.keys[:, :, :kept], before[:, :, :kept])
    decoder.proposers = honest
    while not decoding.finished:
        decoding.step()
    check(decoding.result(), generated("llama", TOKENS))


def test_runs_of_every_method_in_turns_on_one_pair_and_one_pool():
    """A second run while the first is alive: steps interleaved, greedy and sampled, other knobs each time."""
    pair, pool, rng = pair_of("mistral"), PhrasePool(), random.Random(3)
    options = [{}, {"temperature": 0.9, "seed": 8}]
    methods = ["ouroboros", "lookahead", "hybrid", "cascade", "prompt_lookup"]
    runs = [
        pk.decoder(pair, PROMPT, method=method, max_new_tokens=TOKENS, pool=pool, **sampling)
        for sampling in options
        for method in methods
    ]
    while waiting := [run for run in runs if not run.finished]:
        run = rng.choice(waiting)
        run.knobs = random_knobs(rng)
        run.step()
    dues = [decode(pair, "vanilla", count=TOKENS, **sampling).tokens for sampling in options]
    for place, run in enumerate(runs):
        check(run.result(), dues[place // len(methods)])
    assert pool.check_integrity() == ""
