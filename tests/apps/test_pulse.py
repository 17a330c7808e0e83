"""A dear look rests; a knob that moves does not wait for it."""

from __future__ import annotations

import pytest

from dashboard.visitor import pulse
from dashboard.visitor.pulse import HURRIED, LONGEST, SHARE, Look


class Clocks:
    """A session that takes as long as it is told to."""

    def __init__(self, costs):
        self.now, self.used, self.costs, self.ticks = 100.0, 0.0, costs, 0

    def tick(self):
        self.ticks += 1
        self.used += self.costs
        self.now += self.costs


@pytest.fixture
def clocks(monkeypatch):
    def make(costs):
        made = Clocks(costs)
        monkeypatch.setattr(pulse, "monotonic", lambda: made.now)
        monkeypatch.setattr(pulse, "thread_time", lambda: made.used)
        return made

    return make


@pytest.mark.parametrize(("costs", "rest"), [(0.001, 0.001 * SHARE), (0.1, LONGEST)])
def test_a_look_rests_by_what_it_took(clocks, costs, rest):
    session = clocks(costs)
    look = Look(session)
    look()
    session.now = 100.0 + rest - 0.0005
    look()
    assert session.ticks == 1
    session.now = 100.0 + rest + 0.0005
    look()
    assert session.ticks == 2


def test_a_knob_that_moved_is_looked_after_at_once(clocks):
    session = clocks(0.1)
    look = Look(session)
    look()
    look.hurry()
    for _ in range(HURRIED + 3):
        look()
    assert session.ticks == 1 + HURRIED + 1
