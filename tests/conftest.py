"""One thread for torch: the models are tiny, and results must not depend on who else is at work."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests import models

# a fixture and hooks: pytest finds them by name
from tests.chromium import browser  # noqa: F401
from tests.equality import (  # noqa: F401
    pytest_configure,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

torch.set_num_threads(1)
# derandomised: a red run is red for everyone, and CI never surprises
settings.register_profile(
    "phrasekit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("phrasekit")


@pytest.fixture(params=list(models.FAMILIES))
def family(request: pytest.FixtureRequest) -> str:
    """Each kind of model in turn: the usual, sliding layers, learned positions."""
    return request.param
