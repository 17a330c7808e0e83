"""A tiny pair that really decodes, and a clock that says what each step took."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phrasekit.api import Decoding
from phrasekit.lm import Pair
from phrasekit.tune import CostTable
from phrasekit.tune.costs import Cost
from tests import models

PROMPTS = tuple(tuple((token + shift) % models.VOCABULARY for token in models.PROMPT) for shift in range(4))
COSTS = CostTable((Cost(1, 32, 4.0), Cost(8, 32, 6.0)), (Cost(1, 32, 1.0), Cost(8, 32, 2.0)))


class FakeTime:
    """A clock in seconds; every step of a decoding takes `price` of it.

    Attributes:
        steps: method of every step, in order.
        intrude: called before every step.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.price: Callable[[Decoding], float] = lambda decoding: 1.0
        self.intrude: Callable[[Decoding], None] = lambda decoding: None
        self.steps: list[str] = []

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch) -> FakeTime:
    fake, step = FakeTime(), Decoding.step

    def stepping(self: Decoding):
        fake.intrude(self)
        fake.steps.append(self.method.name)
        fake.now += fake.price(self)
        return step(self)

    monkeypatch.setattr(Decoding, "step", stepping)
    return fake


@pytest.fixture(scope="session")
def pair() -> Pair:
    return models.pair_of("llama")
