"""Lanes that fail, wait or are interrupted: one error, the first one, and no thread left behind."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from phrasekit.parallel import Serial, Threads, check_schedule, schedule_of
from phrasekit.parallel.schedule import cpu_threads

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


class ExpectedError(Exception):
    pass


def always(_: object) -> bool:
    return True


def helpers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("phrasekit-draft")]


@pytest.fixture
def threads():
    schedule = Threads()
    yield schedule
    schedule.close()
    assert helpers() == []


def failing(error: BaseException, after: float = 0.0):
    def lane(*_: object) -> None:
        time.sleep(after)
        raise error

    return lane


def test_serial_leaves_out_a_draft_that_nobody_wants():
    made: list[str] = []
    schedule = Serial()
    assert schedule.run(lambda: 1, lambda _: made.append("draft"), wanted=lambda said: said > 1) == (1, None)
    assert made == []
    assert schedule.run(lambda: 2, lambda _: "draft", wanted=lambda said: said > 1) == (2, "draft")


def test_both_lanes_run_at_the_same_time(threads):
    meet = threading.Barrier(2, timeout=10)

    def lane(*_: object) -> str:
        meet.wait()  # passes only where the other lane has come too
        return threading.current_thread().name

    target, draft = threads.run(lane, lane, wanted=always)
    assert target == threading.current_thread().name
    assert draft.startswith("phrasekit-draft")
    # one thread for all rounds
    threads.run(lane, lane, wanted=always)
    assert len(helpers()) == 1


def test_a_failing_draft_is_what_is_raised(threads):
    with pytest.raises(ExpectedError, match="draft"):
        threads.run(lambda: 1, failing(ExpectedError("draft")), wanted=always)
    assert threads.run(lambda: 1, lambda _: 2, wanted=always) == (1, 2)


def test_a_failing_target_stops_the_draft(threads):
    asked = []

    def draft(stopped) -> None:
        while not stopped():
            asked.append(1)
            time.sleep(0.001)

    with pytest.raises(ExpectedError, match="target"):
        threads.run(failing(ExpectedError("target"), after=0.02), draft, wanted=always)
    count = len(asked)
    time.sleep(0.01)
    assert len(asked) == count > 0


def test_the_first_of_two_failures_is_reported(threads):
    with pytest.raises(ExpectedError, match="draft"):
        threads.run(
            failing(ExpectedError("target"), after=0.1), failing(ExpectedError("draft")), wanted=always
        )
    with pytest.raises(ExpectedError, match="target"):
        threads.run(
            failing(ExpectedError("target")), failing(ExpectedError("draft"), after=0.1), wanted=always
        )


def test_an_interrupt_is_not_mistaken_for_a_failure(threads):
    with pytest.raises(KeyboardInterrupt):
        threads.run(failing(KeyboardInterrupt(), after=0.05), failing(ExpectedError("draft")), wanted=always)
    assert threads.run(lambda: 1, lambda _: 2, wanted=always) == (1, 2)


def test_a_closed_schedule_can_be_used_again(threads):
    threads.run(lambda: 1, lambda _: 2, wanted=always)
    threads.close()
    assert helpers() == []
    assert threads.run(lambda: 3, lambda _: 4, wanted=always) == (3, 4)


def test_every_lane_has_its_own_cpu_threads():
    before = torch.get_num_threads()
    schedule = Threads(target_threads=2, draft_threads=1)
    seen = schedule.run(torch.get_num_threads, lambda _: torch.get_num_threads(), wanted=always)
    schedule.close()
    assert seen == (2, 1)
    assert torch.get_num_threads() == before
    with cpu_threads(3):
        assert torch.get_num_threads() == 3
    assert torch.get_num_threads() == before


def test_what_the_machine_cannot_run_is_refused():
    with pytest.raises(ValueError, match="one of serial, threads, streams, but got 'both'"):
        check_schedule("both")
    with pytest.raises(ValueError, match=r"needs models on a CUDA device, but one is on cpu; take 'threads'"):
        schedule_of("streams", target=CUDA, draft=CPU)
    check_schedule("streams", CUDA, CUDA)
    assert schedule_of("serial", target=CPU, draft=CPU).name == "serial"
    assert schedule_of("threads", target=CPU, draft=CPU).name == "threads"
