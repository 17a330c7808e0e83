"""One load for everybody, turns in one thread, and who may cancel what."""

from __future__ import annotations

from threading import Event, Semaphore, Thread, get_ident

import pytest

from dashboard.jobs.hub import JOBS, JOBS_EACH, BusyError, ModelHub, PairSpec, Place
from dashboard.jobs.job import CANCELLED, DONE, FAILED, PAUSED, RUNNING, WAITING, Job
from dashboard.parts.jobline import job_line
from tests.apps.conftest import until


class Steps(Job):
    """Notes its steps, and who ended it where; every step waits at a gate, and takes a second of the clock."""

    def __init__(self, owner="somebody", *, steps=3, gate=None, log=None, clock=None, error=None):
        super().__init__(owner)
        self.steps, self.gate, self.clock, self.error = steps, gate, clock, error
        self.log = log if log is not None else []
        self.threads = set()
        self.closed_in = None
        self.at_gate = Event()

    def work(self, pair):
        try:
            for step in range(self.steps):
                if self.cancelled:
                    return
                self.at_gate.set()
                if isinstance(self.gate, Semaphore):
                    self.gate.acquire(timeout=60)
                elif self.gate is not None:
                    self.gate.wait(60)
                self.threads.add(get_ident())
                self.log.append((self.number, step))
                if self.clock is not None:
                    self.clock.seconds += 1
                if self.error is not None and step:
                    raise self.error
                yield
        finally:
            self.closed_in = get_ident()


class Clock:
    """Stands still but for what jobs take."""

    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def place(pair):
    made = Place(PairSpec(), lambda: pair)
    assert made.wait(10)
    yield made
    made.close()


def test_three_visitors_at_once_load_one_pair(pair):
    loads, found = [], []
    gate = Event()

    def load(spec):
        gate.wait(10)
        loads.append(spec)
        return pair

    hub = ModelHub(load)
    threads = [Thread(target=lambda: found.append(hub.place(PairSpec()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gate.set()
    assert found[0].wait(10)
    assert loads == [PairSpec()]
    assert len(set(map(id, found))) == 1
    assert {name for name, _ in found[0].facts} >= {"target", "draft", "device", "probe of the target"}
    hub.close()


@pytest.fixture
def timed(pair):
    """A place whose clock only jobs move, so that turns can be counted."""
    clock = Clock()
    made = Place(PairSpec(), lambda: pair, clock=clock)
    assert made.wait(10)
    yield made, clock
    made.close()


def test_everybody_has_a_turn_before_anybody_has_a_second(timed):
    place, clock = timed
    gate, log = Event(), []
    jobs = [Steps(f"visitor {number}", steps=5, gate=gate, log=log, clock=clock) for number in range(4)]
    for job in jobs:
        place.submit(job)
    assert jobs[0].at_gate.wait(10)
    assert [job.ahead for job in jobs] == [0, 1, 2, 3]
    assert [job.status for job in jobs] == [RUNNING, WAITING, WAITING, WAITING]
    gate.set()
    until(lambda: all(job.over for job in jobs))
    assert log == [(job.number, step) for step in range(5) for job in jobs]
    assert len(set.union(*(job.threads for job in jobs))) == 1
    assert get_ident() not in jobs[0].threads


def test_who_comes_while_a_long_job_goes_on_is_served_next(timed):
    place, clock = timed
    gate, log = Semaphore(0), []
    long = Steps("long", steps=100, gate=gate, log=log, clock=clock)
    place.submit(long)
    for _ in range(20):
        gate.release()
    until(lambda: len(log) == 20)
    short = Steps("short", steps=2, gate=gate, log=log, clock=clock)
    place.submit(short)
    for _ in range(5):
        gate.release()
    until(lambda: short.over)
    assert [number for number, _ in log[20:24]] == [long.number, short.number, long.number, short.number]
    long.cancel()
    gate.release()


def test_what_a_visitor_sees_while_others_have_turns(place):
    gate = Semaphore(0)
    mine, second = Steps("me", gate=gate), Steps("me", gate=gate)
    others = [Steps("other", gate=gate), Steps("third", gate=gate)]
    place.submit(mine)
    assert mine.at_gate.wait(10)
    assert (mine.others, second.others) == (0, 0)
    line = job_line(mine, idle="", doing="measuring", kept="", share=0, count="")
    assert "<b>Running</b><span>measuring</span>" in line
    for job in (second, *others):
        place.submit(job)
    line = job_line(mine, idle="", doing="measuring", kept="", share=0, count="")
    assert "<b>Running</b><span>measuring; taking turns with 2 others</span>" in line
    line = job_line(others[1], idle="", doing="", kept="", share=0, count="")
    assert "<b>Waiting</b><span>position 4 in the queue</span>" in line
    gate.release()
    assert others[0].at_gate.wait(10)
    assert mine.status == RUNNING, "set aside, and still under way"
    assert mine.others == 2
    for _ in range(12):
        gate.release()
    until(lambda: all(job.over for job in (mine, second, *others)))


def test_cancel_takes_one_step_at_most(place):
    gate = Event()
    job = Steps(steps=1000, gate=gate)
    place.submit(job)
    assert job.at_gate.wait(10)
    job.cancel()
    gate.set()
    until(lambda: job.over)
    assert job.status == CANCELLED
    assert len(job.log) <= 1


def test_cancel_while_waiting_never_begins(place):
    gate = Event()
    first, second = Steps(gate=gate), Steps()
    place.submit(first)
    place.submit(second)
    second.cancel()
    assert second.status == CANCELLED
    gate.set()
    until(lambda: first.over)
    assert (first.status, second.log) == (DONE, [])


def set_aside(place, gate, **given):
    """A job that has made a step, while somebody else's is being made."""
    job = Steps("mine", gate=gate, steps=1000, **given)
    place.submit(job)
    assert job.at_gate.wait(10)
    other = Steps("other", gate=gate)
    place.submit(other)
    gate.release()
    assert other.at_gate.wait(10)
    return job, other


def test_what_is_cancelled_while_set_aside_ends_next_and_in_the_pairs_thread(place):
    gate = Semaphore(0)
    job, other = set_aside(place, gate)
    job.due = float("inf")
    job.cancel()
    assert job.status == RUNNING, "the thread that serves the pair must end it"
    gate.release()
    until(lambda: job.over)
    assert (job.status, len(job.log), len(other.log)) == (CANCELLED, 1, 1)
    assert job.closed_in == place._thread.ident
    for _ in range(2):
        gate.release()
    until(lambda: other.over)


def test_a_job_that_is_set_aside_can_fail_alone(place):
    gate = Semaphore(0)
    job, other = set_aside(place, gate, error=ValueError("no"))
    for _ in range(4):
        gate.release()
    until(lambda: job.over and other.over)
    assert (job.status, job.message, other.status) == (FAILED, "no", DONE)


def test_pause_lets_others_through_and_goes_on_where_it_was(place):
    gate, log = Event(), []
    job = Steps(steps=3, gate=gate, log=log)
    place.submit(job)
    assert job.at_gate.wait(10)
    job.pause()
    gate.set()
    until(lambda: job.status == PAUSED)
    other = Steps(log=log)
    place.submit(other)
    until(lambda: other.over)
    assert place.idle
    job.resume()
    until(lambda: job.over)
    assert [step for number, step in log if number == job.number] == [0, 1, 2]
    assert job.status == DONE


def test_pause_holds_at_once_a_job_that_is_set_aside(place):
    gate = Semaphore(0)
    job, other = set_aside(place, gate)
    job.due = float("inf")
    job.pause()
    gate.release()
    until(lambda: job.status == PAUSED)
    assert len(job.log) == 1
    job.due = 0.0
    job.resume()
    job.cancel()
    for _ in range(4):
        gate.release()
    until(lambda: job.over and other.over)


def test_a_pause_that_is_taken_back_before_it_was_seen_changes_nothing(place):
    gate = Event()
    job = Steps(gate=gate)
    place.submit(job)
    assert job.at_gate.wait(10)
    job.pause()
    job.resume()
    gate.set()
    until(lambda: job.over)
    assert job.status == DONE


@pytest.mark.parametrize("begun", [True, False])
def test_cancel_ends_a_paused_job(place, begun):
    gate = Semaphore(0)
    first = Steps(gate=gate)
    place.submit(first)
    assert first.at_gate.wait(10)
    job = first if begun else Steps("other", gate=gate)
    if not begun:
        place.submit(job)
    job.pause()
    gate.release()
    until(lambda: job.status == PAUSED)
    job.cancel()
    until(lambda: job.status == CANCELLED)
    assert job.closed_in == (place._thread.ident if begun else None)
    first.cancel()
    gate.release()


def test_a_place_that_closes_ends_what_waits_stands_still_and_goes_on(pair):
    place = Place(PairSpec(), lambda: pair)
    gate = Semaphore(0)
    job, other = set_aside(place, gate)
    paused = Steps("third", gate=gate)
    place.submit(paused)
    paused.pause()
    gate.release()
    until(lambda: paused.status == PAUSED)
    late = Steps("late", gate=gate)
    place.submit(late)
    place.close()
    assert late.status == CANCELLED
    for _ in range(4):
        gate.release()
    place.join(10)
    assert not place._thread.is_alive()
    assert {one.status for one in (job, other, paused, late)} == {CANCELLED}
    assert job.closed_in == other.closed_in == place._thread.ident
    assert place.pair is None
    with pytest.raises(BusyError, match="just been unloaded"):
        place.submit(Steps())
    paused.resume()
    assert paused.status == CANCELLED


def test_an_error_ends_one_job_and_not_the_thread(place):
    bad = Steps(error=ZeroDivisionError("a\nb \x1b[31m <b>"))
    place.submit(bad)
    good = Steps()
    place.submit(good)
    until(lambda: bad.over and good.over)
    assert (bad.status, good.status) == (FAILED, DONE)
    assert bad.message == "a b \\x1b[31m <b>"
    assert "Traceback" not in bad.message


def test_nobody_takes_all_the_room(place):
    gate, there = Event(), []

    def submit(owner):
        there.append(Steps(owner, gate=gate))
        place.submit(there[-1])

    for _ in range(JOBS_EACH):
        submit("greedy")
    with pytest.raises(BusyError, match=f"at most {JOBS_EACH} of your jobs may go on"):
        submit("greedy")
    there[1].cancel()
    submit("greedy")
    there[0].cancel()
    submit("greedy")  # one that is to stop takes no room, though it has not stopped yet
    for number in range(JOBS - JOBS_EACH):
        submit(f"visitor {number}")
    with pytest.raises(BusyError, match=f"at most {JOBS} jobs may share this pair"):
        submit("late")
    gate.set()
    until(lambda: place.idle)


def test_a_pair_that_cannot_be_loaded_says_why_and_is_tried_again(pair):
    answers = [ValueError("no such model"), pair]

    def load(spec):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    hub = ModelHub(load)
    place = hub.place(PairSpec())
    assert not place.wait(10)
    assert (place.status, place.message) == ("failed", "no such model")
    job = Steps()
    place.submit(job)
    until(lambda: job.over)
    assert (job.status, job.message) == (FAILED, "no such model")
    assert hub.place(PairSpec()).wait(10)
    hub.close()


def test_the_pair_unused_longest_goes_and_one_at_work_stays(pair):
    hub = ModelHub(lambda spec: pair, most=2)
    specs = [PairSpec(target=name) for name in "abc"]
    gate = Event()
    first = hub.place(specs[0])
    assert first.wait(10)
    first.submit(working := Steps(gate=gate))
    assert working.at_gate.wait(10)
    second = hub.place(specs[1])
    assert second.wait(10)
    assert hub.place(specs[2]).wait(10)
    assert hub.find(specs[0]) is first
    assert hub.find(specs[1]) is None
    until(lambda: second.pair is None)
    third = hub.place(specs[2])
    third.submit(Steps(gate=gate))
    until(lambda: not third.idle)
    with pytest.raises(BusyError, match="at most 2 pairs"):
        hub.place(specs[1])
    gate.set()
    hub.close()
