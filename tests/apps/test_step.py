"""Step beside a run that goes on."""

from __future__ import annotations

from itertools import count

from dashboard.parts.runbar import RunBar
from dashboard.tabs import step as room
from dashboard.tabs.step import SHARE, StepTab
from tests.apps.conftest import finish, until


def test_a_picture_rests_many_times_what_the_last_one_took(visitor, monkeypatch):
    """So that whoever looks at a long run does not slow it down."""
    session = visitor(tab="step", tokens=64, pace="8 iterations a second")
    tab = StepTab(session, RunBar(session))
    clock = [100.0]
    monkeypatch.setattr(room, "monotonic", lambda: clock[0])
    monkeypatch.setattr(room, "thread_time", count().__next__)  # every picture takes a second
    session.start()
    run = session.run

    def shown() -> int:
        session.tick()
        return len(tab.stepper.info["steps"]) if session.source == "run" else 0

    first = until(shown)
    until(lambda: len(run.iterations) > first + 1)
    assert shown() == first
    clock[0] += SHARE - 1
    assert shown() == first
    clock[0] += 2
    assert until(lambda: shown() > first)
    session.cancel()
    finish(session)
    assert shown() == len(run.iterations)
