"""A tiny pair without a tokenizer, and the embedded one."""

from __future__ import annotations

import pytest

from phrasekit import lm
from phrasekit.lm import Pair
from tests import models


@pytest.fixture
def tiny() -> Pair:
    return models.pair_of("llama")


@pytest.fixture(scope="session")
def embedded() -> Pair:
    return lm.load_pair()
