"""Step beside a run that goes on."""

from __future__ import annotations

from itertools import count

from dashboard.parts.runbar import RunBar
from dashboard.tabs import step as room
from dashboard.tabs.step import SHARE, StepTab
from tests.apps.conftest import finish, until


def test_a_picture_rests_many_times_what_the_last_one_took(visitor, monkeypatch):
    """So that whoever looks at a long run does not slow it down."""
    session = visitor(tab="step", tokens=400, pace="8 iterations a second")
    tab = StepTab(session, RunBar(session))
    clock = [100.0]
    monkeypatch.setattr(room, "monotonic", lambda: clock[0])
    monkeypatch.setattr(room, "thread_time", count().__next__)  # every picture takes a second
    session.start()
    run = session.run

    def shown() -> int:
        session.tick()
        return len(tab.stepper.info["steps"]) if tab.stepper.info["origin"] == "your run" else 0

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


def test_it_follows_the_iteration_that_another_view_leads_to(visitor):
    session = visitor(tab="step", tokens=24)
    tab = StepTab(session, RunBar(session))
    session.start()
    finish(session)
    session.settings.tab = "pool"
    session.settings.step = 3
    session.settings.tab = "step"
    assert tab.stepper.step == 3
    session.settings.step = 1
    assert tab.stepper.step == 1
    tab.stepper.step = 2
    assert session.settings.step == 2


def test_the_stepper_says_whose_run_it_is_and_what_the_proof_found(visitor):
    session = visitor(tab="step", tokens=24)
    tab = StepTab(session, RunBar(session))
    assert tab.stepper.info["origin"] == "recorded run"
    session.start()
    finish(session)
    assert tab.stepper.info["origin"] == "your run"
    assert tab.stepper.info["plain"] is None
    session.prove()
    until(lambda: session.plain.iterations)
    session.tick()  # a picture amid the proof, which is not the last one
    finish(session)
    assert tab.stepper.info["plain"]["checked"] == len(session.run.tokens)
    assert tab.stepper.info["plain"]["differs"] == -1
    assert tab.intro.visible
