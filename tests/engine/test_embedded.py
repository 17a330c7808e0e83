"""L2 and L3 on the embedded pair in float32, real text: what a user's first run shows."""

from __future__ import annotations

from functools import lru_cache

import pytest

import phrasekit as pk
from phrasekit.methods import METHODS
from phrasekit.propose import Corpus
from tests import models

PROMPTS = (
    "def quicksort(items):\n",
    "import os\nimport sys\n\n\nclass Reader:\n    def __init__(self, path):\n        self.path = path\n\n    def",
)
TOKENS = 48
SPECULATIVE = [name for name in METHODS if name != "vanilla" and "-no-" not in name]
CODE = "def quicksort(items):\n    if not items:\n        return []\n    for item in items:\n        return item\n"


@lru_cache
def pair() -> pk.Pair:
    return pk.load_pair()


@lru_cache
def store(method: str) -> Corpus | None:
    """For a method that needs one."""
    return Corpus.build([pair().encode(CODE)]) if METHODS[method].corpus else None


@lru_cache
def plain(prompt: str, **sampling) -> tuple[int, ...]:
    return pk.generate(pair(), prompt, method="vanilla", max_new_tokens=TOKENS, **sampling).tokens


@pytest.mark.parametrize("prompt", PROMPTS)
def test_plain_decoding_is_generate(prompt):
    (eos,) = pair().eos
    assert plain(prompt) == models.greedy(pair().target.model, pair().encode(prompt), TOKENS, eos)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("method", SPECULATIVE)
def test_every_method_is_plain_decoding(method, prompt):
    pool = pk.PhrasePool()
    for sampling in ({}, {"temperature": 0.8, "top_p": 0.95, "seed": 1}):
        run = pk.generate(
            pair(), prompt, method=method, max_new_tokens=TOKENS, pool=pool, store=store(method), **sampling
        )
        assert run.tokens == plain(prompt, **sampling)
        assert run.text == pair().tokenizer.decode(run.tokens, skip_special_tokens=True)


def test_the_draft_is_of_use():
    """A pair whose draft never agreed would pass everything above."""
    iterations = []
    for prompt in PROMPTS:
        for method in ("speculative", "ouroboros"):
            knobs = pk.Knobs(gamma=4)
            run = pk.generate(pair(), prompt, method=method, max_new_tokens=TOKENS, knobs=knobs)
            iterations += run.trace.iterations
    accepted = [iteration.accepted for iteration in iterations]
    assert sum(accepted) > len(accepted) / 2
    assert sum(0 < iteration.accepted < iteration.drafted for iteration in iterations) > 3


def test_an_end_token_ends_the_text():
    """The model's own; found by forcing it with a bias, as a user's logits processor may."""
    (eos,) = pair().eos

    def push(ids, scores):
        scores = scores.clone()
        scores[:, eos] += 100.0 * (ids.shape[1] >= 30)
        return scores

    for method in ("vanilla", "ouroboros", "lookahead"):
        run = pk.generate(pair(), PROMPTS[0], method=method, max_new_tokens=TOKENS, processors=[push])
        assert run.finish_reason == "eos"
        assert run.tokens == (*plain(PROMPTS[0])[: 30 - len(pair().encode(PROMPTS[0]))], eos)
