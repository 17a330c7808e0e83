"""When the two lanes of a round run; the result is the same.

Torch keeps its number of CPU threads by Python thread, so each lane can have its own group of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from threading import Event
from typing import Protocol, TypeVar

import torch

from phrasekit.trace.records import SCHEDULES, SERIAL, STREAMS, THREADS

Judged = TypeVar("Judged")
Drafted = TypeVar("Drafted")
Stopped = Callable[[], bool]


class Schedule(Protocol):
    """Runs the target's lane and the draft's lane of one round."""

    name: str

    def run(
        self,
        target: Callable[[], Judged],
        draft: Callable[[Stopped], Drafted],
        *,
        wanted: Callable[[Judged], bool],
    ) -> tuple[Judged, Drafted | None]:
        """Both results; None for a draft that was not made as nobody would have used it.

        Args:
            target: one forward.
            draft: several forwards; it asks before each whether to stop.
            wanted: whether a draft is of use, by what the target said.

        Raises:
            BaseException: the first one that a lane raised; the other lane has ended then.
        """
        ...

    def close(self) -> None:
        """End what runs in the background."""
        ...


class Serial:
    """One lane after the other, the target's first: a draft that nobody would use is not made."""

    name = SERIAL

    def run(
        self,
        target: Callable[[], Judged],
        draft: Callable[[Stopped], Drafted],
        *,
        wanted: Callable[[Judged], bool],
    ) -> tuple[Judged, Drafted | None]:
        """See `Schedule.run`."""
        judged = target()
        return judged, draft(lambda: False) if wanted(judged) else None

    def close(self) -> None:
        """See `Schedule.close`."""


class Threads:
    """The draft's lane in a thread of its own, each lane with its own CPU threads.

    Args:
        target_threads: CPU threads of the target's lane; None takes what the draft's leaves.
        draft_threads: CPU threads of the draft's lane; None takes half of them, at least one.
    """

    name = THREADS

    def __init__(self, *, target_threads: int | None = None, draft_threads: int | None = None) -> None:
        cores = torch.get_num_threads()
        drafts = draft_threads or max(1, cores // 2)
        self._target_threads = target_threads or max(1, cores - drafts)
        self._draft_threads = drafts
        self._worker: ThreadPoolExecutor | None = None

    def run(
        self,
        target: Callable[[], Judged],
        draft: Callable[[Stopped], Drafted],
        *,
        wanted: Callable[[Judged], bool],
    ) -> tuple[Judged, Drafted | None]:
        """See `Schedule.run`."""
        stop = Event()
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="phrasekit-draft")
        beside = self._worker.submit(self._drafting, draft, stop)
        try:
            with self._target_lane():
                judged = target()
            return judged, beside.result()
        except BaseException as error:  # noqa: BLE001  (raised again)
            first = _failure(beside)  # asked before the lane is told to stop
            stop.set()
            wait([beside])
            # an interrupt is nobody's failure
            raise (first or error) if isinstance(error, Exception) else error from None

    def close(self) -> None:
        """See `Schedule.close`."""
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def _target_lane(self) -> AbstractContextManager[None]:
        return cpu_threads(self._target_threads)

    def _draft_lane(self) -> AbstractContextManager[None]:
        return cpu_threads(self._draft_threads)

    def _drafting(self, draft: Callable[[Stopped], Drafted], stop: Event) -> Drafted:
        with self._draft_lane():
            return draft(stop.is_set)


class Streams(Threads):
    """Like threads, each lane on a CUDA stream of its own, on one device or two.

    Args:
        target: device of the target model.
        draft: device of the draft model.
    """

    name = STREAMS

    def __init__(self, target: torch.device, draft: torch.device) -> None:
        super().__init__()
        self._devices = (target, draft)
        # torch types Stream as untyped
        self._streams = tuple(torch.cuda.Stream(device) for device in self._devices)  # type: ignore[no-untyped-call]

    def _target_lane(self) -> AbstractContextManager[None]:
        return self._stream(0)

    def _draft_lane(self) -> AbstractContextManager[None]:
        return self._stream(1)

    @contextmanager
    def _stream(self, lane: int) -> Iterator[None]:
        device, stream = self._devices[lane], self._streams[lane]
        default = torch.cuda.default_stream(device)
        stream.wait_stream(default)  # the commit of the round before ran there
        with torch.cuda.stream(stream):
            yield
        default.wait_stream(stream)


@contextmanager
def cpu_threads(count: int) -> Iterator[None]:
    """Torch uses `count` threads for what the calling thread asks for."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_schedule(name: str, *devices: torch.device) -> None:
    """Refuse a schedule that does not exist or that the models' devices cannot run.

    Raises:
        ValueError: what is wrong, and what to take instead.
    """
    known = [schedule for schedule in SCHEDULES if schedule]
    if name not in known:
        raise ValueError(f"schedule must be one of {', '.join(known)}, but got {name!r}")
    other = next((device for device in devices if device.type != "cuda"), None)
    if name == STREAMS and other is not None:
        raise ValueError(
            f"schedule 'streams' needs models on a CUDA device, but one is on {other}; "
            "take 'threads' or 'serial'"
        )


def schedule_of(name: str, *, target: torch.device, draft: torch.device) -> Schedule:
    """The schedule of this name, for models on these devices.

    Raises:
        ValueError: see `check_schedule`.
    """
    check_schedule(name, target, draft)
    if name == STREAMS:
        return Streams(target, draft)
    return Threads() if name == THREADS else Serial()


def _failure(beside: Future[Drafted]) -> BaseException | None:
    return beside.exception() if beside.done() else None
