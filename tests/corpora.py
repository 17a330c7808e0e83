"""Corpora for the methods that need one: what the target will say, with mistakes, among noise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import phrasekit as pk
from phrasekit.propose import Corpus
from tests import models

COUNT = 130


def needed(pair: pk.Pair, method: str) -> dict[str, Any]:
    """The argument `store` of a run, for a method that cannot do without; else nothing."""
    if not pk.METHODS[method].corpus:
        return {}
    family = pair.target.name.removeprefix("tiny-")
    return {"store": corpus_of(family if family in models.FAMILIES else "")}


@lru_cache
def corpus_of(family: str) -> Corpus:
    """Of a family's greedy text; "" is noise alone."""
    rng = random.Random(family)
    noise = [[rng.randrange(models.VOCABULARY) for _ in range(400)] for _ in range(30)]
    text = [*models.PROMPT, *models.generated(family, COUNT)] if family else []
    return Corpus.build([*noise, *mistaken(text, models.VOCABULARY, rng)])


def mistaken(text: Sequence[int], vocabulary: int, rng: random.Random) -> list[list[int]]:
    """Four copies of a text, every ninth token of each a random one, another in each."""
    return [
        [rng.randrange(vocabulary) if (at + 2 * shift) % 9 == 0 else token for at, token in enumerate(text)]
        for shift in range(4)
    ]
