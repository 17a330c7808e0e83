"""Loaded pairs, shared by every visitor: one thread and one first-come-first-served queue for each.

A thread of our own, as Panel's cannot be asked to stop (and a forward must not run in the thread that
serves the page). Nothing here knows Panel.
"""

from __future__ import annotations

import gc
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, RLock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from dashboard.job import RUNNING, WAITING, Job, told
from dashboard.probe import facts_of
from phrasekit.pool import PhrasePool

if TYPE_CHECKING:
    from phrasekit.tune import CostTable

LOADED = 2  # pairs in memory at once; the one unused longest goes
QUEUED = 24  # jobs that may wait for one pair
QUEUED_EACH = 4  # of them, of one visitor

log = logging.getLogger("phrasekit.dashboard")


class BusyError(RuntimeError):
    """The queue takes no more jobs; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class PairSpec:
    """Which pair, on which device; the arguments of `load_pair`.

    Attributes:
        target: "" is the embedded pair.
        draft: "" for methods without a draft model.
        device: such as "cpu" or "cuda".
        dtype: such as "bfloat16"; "" is float32 on a CPU and the checkpoint's own elsewhere.
    """

    target: str = ""
    draft: str = ""
    device: str = "cpu"
    dtype: str = ""

    @property
    def name(self) -> str:
        """What to call it."""
        if not self.target:
            return "embedded pair"
        return f"{self.target} with {self.draft}" if self.draft else self.target

    def load(self) -> Any:
        """Load it.

        Raises:
            PhrasekitError: models that do not fit each other, or cannot be exact.
            ValueError: names or settings that cannot be loaded.
            OSError: files that are not there.
        """
        from phrasekit.lm import load_pair
        from phrasekit.lm.load import quiet

        quiet()
        return load_pair(
            self.target or None, self.draft or None, device=self.device, dtype=self.dtype or None
        )


class Place:
    """One pair with its thread and its queue.

    Attributes:
        spec: which pair.
        pair: None until it is loaded.
        status: "loading", "ready" or "failed".
        message: what went wrong, in words.
        seconds: what loading took.
        facts: what there is to know about the pair, as names and values.
        pool: phrases for whoever chooses the shared pool.
        costs: what forwards cost, once a search has measured it; the next one need not.
    """

    def __init__(self, spec: PairSpec, load: Callable[[], Any]) -> None:
        self.spec = spec
        self.pair: Any = None
        self.status, self.message = "loading", ""
        self.began, self.seconds = monotonic(), 0.0
        self.facts: tuple[tuple[str, str], ...] = ()
        self.pool = PhrasePool()
        self.costs: CostTable | None = None
        self._load = load
        self._queue: deque[Job] = deque()
        self._serving: Job | None = None
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._serve, name=f"phrasekit {spec.name}", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether it serves nobody."""
        return self._serving is None and not self._queue

    def submit(self, job: Job) -> None:
        """Put a job at the end of the queue.

        Raises:
            BusyError: too many wait already.
        """
        with self._changed:
            mine = sum(one.owner == job.owner for one in self._queue)
            if mine >= QUEUED_EACH:
                raise BusyError(
                    f"at most {QUEUED_EACH} of your jobs may wait, and {mine} do; cancel one or wait for it"
                )
            if len(self._queue) >= QUEUED:
                raise BusyError(
                    f"at most {QUEUED} jobs may wait for this pair, and {len(self._queue)} do; try again soon"
                )
            job.place = self
            job.status = WAITING
            self._queue.append(job)
            self._changed.notify_all()

    def again(self, job: Job) -> None:
        """Put a job that was set aside back at the end of the queue."""
        with self._changed:
            if job is not self._serving and job not in self._queue:
                self._queue.append(job)
            self._changed.notify_all()

    def ahead(self, job: Job) -> int:
        """How many are served before this job, the one being served included."""
        with self._changed:
            if job not in self._queue:
                return 0
            serving = self._serving is not None and self._serving is not job
            return self._queue.index(job) + serving

    def drop(self, job: Job) -> bool:
        """Take a waiting job out of the queue; whether it was there."""
        with self._changed:
            if job in self._queue:
                self._queue.remove(job)
                return True
            return False

    def close(self) -> None:
        """Cancel everything and end the thread; the pair's memory is free afterwards."""
        with self._changed:
            self._closed = True
            waiting = [*self._queue]
            self._queue.clear()
            self._changed.notify_all()
        for job in waiting:
            job.cancel()
        if (serving := self._serving) is not None:
            serving.cancel()

    def wait(self, seconds: float) -> bool:
        """Wait until the pair is loaded, or could not be; whether it is ready."""
        with self._changed:
            self._changed.wait_for(lambda: self.status != "loading", seconds)
        return self.status == "ready"

    def _serve(self) -> None:
        """The thread: load, then serve one turn after the other."""
        self._try_load()
        while (job := self._next()) is not None:
            self._turn(job)
            with self._changed:
                self._serving = None
                if not job.over and self._closed:
                    job.cancel()
                elif job.status == RUNNING or (job.cancelled and not job.over):
                    self._queue.append(job)
        self.pair = None

    def _try_load(self) -> None:
        try:
            self.pair = self._load()
            self.seconds = monotonic() - self.began
            self.facts = tuple(facts_of(self.pair))
            status, message = "ready", ""
        except Exception as error:
            log.warning("loading %s failed", self.spec.name, exc_info=True)
            status, message = "failed", told(error)
        with self._changed:
            self.status, self.message = status, message
            self._changed.notify_all()

    def _next(self) -> Job | None:
        """The first job whose time has come; None once closed."""
        with self._changed:
            while not self._closed:
                now = monotonic()
                due = next((job for job in self._queue if job.due <= now), None)
                if due is not None:
                    self._queue.remove(due)
                    self._serving = due
                    return due
                first = min((job.due for job in self._queue), default=None)
                self._changed.wait(None if first is None else first - now)
        return None

    def _turn(self, job: Job) -> None:
        """Go on with a job until it ends or steps aside for others."""
        if self.pair is None:
            job.fail(RuntimeError(self.message or "the pair is not loaded"))
            return
        try:
            for _ in job.go_on(self.pair):
                if job.steps_aside(bool(self._queue)):
                    return
        except Exception as error:
            log.warning("a job failed", exc_info=True)
            job.fail(error)


class ModelHub:
    """Every pair in memory, loaded once whoever asks for it, dropped when too many are.

    Args:
        load: makes a pair; tests give their own.
        most: pairs in memory at once.
    """

    def __init__(self, load: Callable[[PairSpec], Any] = PairSpec.load, *, most: int = LOADED) -> None:
        self._load = load
        self._most = most
        self._places: OrderedDict[PairSpec, Place] = OrderedDict()
        self._lock = RLock()

    def place(self, spec: PairSpec) -> Place:
        """The pair's place; it begins to load if it is not there. One that failed is tried again.

        Raises:
            BusyError: as many pairs as may be are at work.
        """
        with self._lock:
            found = self._places.get(spec)
            if found is not None and found.status != "failed":
                self._places.move_to_end(spec)
                return found
            self._places.pop(spec, None)
            self._make_room()
            self._places[spec] = Place(spec, lambda: self._load(spec))
            return self._places[spec]

    def find(self, spec: PairSpec) -> Place | None:
        """The pair's place, if it is there; asking loads nothing."""
        with self._lock:
            return self._places.get(spec)

    def close(self) -> None:
        """End every thread."""
        with self._lock:
            for place in self._places.values():
                place.close()
            self._places.clear()

    def _make_room(self) -> None:
        while len(self._places) >= self._most:
            idle = next((spec for spec, place in self._places.items() if place.idle), None)
            if idle is None:
                raise BusyError(
                    f"at most {self._most} pairs may be loaded, and all are at work; try again soon"
                )
            self._places.pop(idle).close()
            _free()


def _free() -> None:
    """Give memory back, a GPU's included."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
