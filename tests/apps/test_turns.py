"""Nobody gets more time than anybody else, whatever they ask for and whenever they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.jobs.job import Job
from dashboard.jobs.turns import Turns

SECONDS = st.floats(0.001, 9.0)


class Times:
    """Serves as a place does, and notes who had how much; a turn takes what its job takes."""

    def __init__(self):
        self.turns, self.now = Turns(), 0.0
        self.had, self.order, self.takes = {}, [], {}

    def come(self, owner, seconds=1.0):
        job = Job(owner)
        self.takes[job] = seconds
        self.had.setdefault(owner, 0.0)
        self.turns.add(job)
        return job

    def serve(self, pause=None):
        job = self.turns.take(self.now)
        if job is None:
            return None
        seconds = self.takes[job]
        self.now += seconds
        self.had[job.owner] += seconds
        self.order.append(job.owner)
        if pause is not None:
            pause(job)
        self.turns.charge(job, seconds)
        self.turns.add(job)
        return job


@given(st.lists(SECONDS, min_size=2, max_size=6))
def test_visitors_never_part_by_more_than_a_step(durations):
    times = Times()
    for number, seconds in enumerate(durations):
        times.come(f"visitor {number}", seconds)
    for _ in range(60):
        times.serve()
        assert max(times.had.values()) - min(times.had.values()) <= max(durations) + 1e-9


@given(st.integers(2, 6), st.integers(1, 40))
def test_equal_runs_are_one_iteration_apart_at_most(visitors, turns):
    times = Times()
    for number in range(visitors):
        times.come(str(number), 0.1)
    for _ in range(turns):
        times.serve()
    served = [times.order.count(str(number)) for number in range(visitors)]
    assert max(served) - min(served) <= 1
    assert len(set(times.order[:visitors])) == min(visitors, turns), "everybody's first turn comes first"


def test_many_jobs_bring_no_more_time_and_have_turns_of_their_own():
    times = Times()
    jobs = [times.come("many") for _ in range(4)]
    times.come("one")
    served = [times.serve() for _ in range(16)]
    assert times.had == {"many": 8.0, "one": 8.0}
    assert [served.count(job) for job in jobs] == [2, 2, 2, 2]


@given(st.integers(1, 60), SECONDS, SECONDS)
def test_who_comes_late_is_next_and_then_one_of_all(turns, long, short):
    times = Times()
    times.come("old", long)
    times.come("other", short)
    for _ in range(turns):
        times.serve()
    times.come("new", 0.5)
    before = dict(times.had)
    assert "new" in [times.serve().owner for _ in range(2)]
    for _ in range(200):
        times.serve()
    gained = [times.had[owner] - before[owner] for owner in times.had]
    assert max(gained) - min(gained) <= 2 * max(long, short, 0.5) + 1e-9


def test_a_run_with_a_pace_saves_nothing_up():
    """It is served when it is due; what it did not need then is not made up for later."""
    times = Times()
    paced = times.come("paced", 0.125)
    times.come("busy", 0.25)

    def rest(job):
        if job is paced:
            paced.due = times.now + 1.0

    while times.now < 100:
        times.serve(rest)
    assert times.order.count("paced") > 60, "it is due every 1.125 s and waits for one step of the other"
    paced.due = 0.0
    times.order.clear()
    for _ in range(30):
        times.serve()
    assert 18 <= times.order.count("paced") <= 21, "half of the time, with steps half as long"


def test_who_is_gone_is_forgotten():
    turns = Turns()
    for number in range(1000):
        turns.add(job := Job(str(number)))
        turns.take(0.0)
        turns.charge(job, 1.0)
    assert turns.take(0.0) is None
    assert turns._had == {}


def test_what_is_asked_to_stop_or_to_stand_still_comes_first():
    turns = Turns()
    jobs = [Job(str(number)) for number in range(3)]
    for job in jobs:
        turns.add(job)
    jobs[1].due = jobs[2].due = 50.0
    assert (turns.before(jobs[1], 0.0), turns.next_due()) == (1, 0.0)
    jobs[2].cancel()
    jobs[1]._hold.set()
    assert turns.before(jobs[0], 0.0) == 2
    assert [turns.take(0.0) for _ in jobs] == [jobs[1], jobs[2], jobs[0]]


def test_only_what_waits_can_be_dropped():
    turns = Turns()
    with pytest.raises(ValueError, match="not in list"):
        turns.drop(Job("me"))
