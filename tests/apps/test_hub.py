"""One load for everybody, one queue, and who may cancel what."""

from __future__ import annotations

from threading import Event, Thread, get_ident

import pytest

from dashboard.hub import QUEUED, QUEUED_EACH, BusyError, ModelHub, PairSpec, Place
from dashboard.job import CANCELLED, DONE, FAILED, PAUSED, Job
from tests.apps.conftest import until


class Steps(Job):
    """Notes its steps; waits for a gate before the first one."""

    def __init__(self, owner="somebody", *, steps=3, gate=None, log=None, patient=False, error=None):
        super().__init__(owner)
        self.patient = patient
        self.steps, self.gate, self.error = steps, gate, error
        self.log = log if log is not None else []
        self.threads = set()
        self.began = Event()

    def work(self, pair):
        for step in range(self.steps):
            if self.cancelled:
                return
            self.began.set()
            if self.gate is not None:
                self.gate.wait(10)
            self.threads.add(get_ident())
            self.log.append((self.number, step))
            if self.error is not None and step:
                raise self.error
            yield


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


def test_who_comes_first_is_served_first(place):
    gate, log = Event(), []
    jobs = [Steps(f"visitor {number}", gate=gate, log=log) for number in range(3)]
    for job in jobs:
        place.submit(job)
    until(lambda: jobs[0].status == "running")
    assert [job.ahead for job in jobs] == [0, 1, 2]
    gate.set()
    until(lambda: all(job.over for job in jobs))
    assert [number for number, _ in log] == [job.number for job in jobs for _ in range(3)]
    assert len(set.union(*(job.threads for job in jobs))) == 1
    assert get_ident() not in jobs[0].threads


def test_a_patient_job_steps_aside(place):
    gate, log = Event(), []
    long = Steps("one", steps=4, gate=gate, log=log, patient=True)
    place.submit(long)
    assert long.began.wait(10)
    short = Steps("other", steps=2, log=log)
    place.submit(short)
    gate.set()
    until(lambda: long.over and short.over)
    order = [number for number, _ in log]
    assert order == [long.number, short.number, short.number, long.number, long.number, long.number]


def test_cancel_takes_one_step_at_most(place):
    gate = Event()
    job = Steps(steps=1000, gate=gate)
    place.submit(job)
    assert job.began.wait(10)
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


def test_pause_lets_others_through_and_goes_on_where_it_was(place):
    gate, log = Event(), []
    job = Steps(steps=3, gate=gate, log=log)
    place.submit(job)
    assert job.began.wait(10)
    job.pause()
    gate.set()
    until(lambda: job.status == PAUSED)
    other = Steps(log=log)
    place.submit(other)
    until(lambda: other.over)
    job.resume()
    until(lambda: job.over)
    assert [step for number, step in log if number == job.number] == [0, 1, 2]
    assert job.status == DONE


def test_cancel_ends_a_paused_job(place):
    gate = Event()
    job = Steps(gate=gate)
    place.submit(job)
    assert job.began.wait(10)
    job.pause()
    gate.set()
    until(lambda: job.status == PAUSED)
    job.cancel()
    assert job.status == CANCELLED


def test_an_error_ends_one_job_and_not_the_thread(place):
    bad = Steps(error=ZeroDivisionError("a\nb \x1b[31m <b>"))
    place.submit(bad)
    good = Steps()
    place.submit(good)
    until(lambda: bad.over and good.over)
    assert (bad.status, good.status) == (FAILED, DONE)
    assert bad.message == "a b \\x1b[31m <b>"
    assert "Traceback" not in bad.message


def test_nobody_fills_the_queue(place):
    gate = Event()
    place.submit(holding := Steps("first", gate=gate))
    assert holding.began.wait(10)
    for _ in range(QUEUED_EACH):
        place.submit(Steps("greedy", gate=gate))
    with pytest.raises(BusyError, match="of your jobs may wait"):
        place.submit(Steps("greedy"))
    for number in range(QUEUED - QUEUED_EACH):
        place.submit(Steps(f"visitor {number}", gate=gate))
    with pytest.raises(BusyError, match="may wait for this pair"):
        place.submit(Steps("late"))
    gate.set()


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
    assert working.began.wait(10)
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
