"""Loaded pairs, shared by every visitor: one thread for each, in which all jobs take turns.

A thread of our own, as Panel's cannot be asked to stop (and a forward must not run in the thread that
serves the page). Nothing here knows Panel.
"""

from __future__ import annotations

import gc
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, RLock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from dashboard.jobs.job import PAUSED, WAITING, Job, told
from dashboard.jobs.probe import facts_of
from dashboard.jobs.turns import Turns
from dashboard.jobs.visits import Visits
from phrasekit.lm.progress import Loading, watched
from phrasekit.pool import PhrasePool

if TYPE_CHECKING:
    from phrasekit.tune import CostTable

LOADED = 2  # pairs in memory at once; the one unused longest goes
JOBS = 24  # that one pair serves in turn; every one that has begun keeps its caches
JOBS_EACH = 6  # of them, of one visitor
PATIENCE = 5.0  # seconds that a step may still take when the server ends

log = logging.getLogger("phrasekit.dashboard")


class BusyError(RuntimeError):
    """No more jobs or pairs are taken; the message says what to do."""


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
    """One pair with its thread and the jobs that have their turns in it.

    Attributes:
        spec: which pair.
        pair: None until it is loaded.
        status: "loading", "ready" or "failed".
        message: what went wrong, in words.
        steps: of loading, as far as they have come.
        seconds: what loading took.
        facts: what there is to know about the pair, as names and values.
        pool: phrases for whoever chooses the shared pool.
        costs: what forwards cost, once a search has measured it; the next one need not.

    Args:
        spec: see above.
        load: makes the pair.
        clock: gives seconds.
    """

    def __init__(
        self, spec: PairSpec, load: Callable[[], Any], *, clock: Callable[[], float] = monotonic
    ) -> None:
        self.spec = spec
        self.pair: Any = None
        self.status, self.message = "loading", ""
        self.began, self.seconds = monotonic(), 0.0
        self.steps: tuple[Loading, ...] = ()
        self.facts: tuple[tuple[str, str], ...] = ()
        self.pool = PhrasePool()
        self.costs: CostTable | None = None
        self._load = load
        self._clock = clock
        self._turns = Turns()
        self._paused: list[Job] = []
        self._serving: Job | None = None
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._serve, name=f"phrasekit {spec.name}", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether it serves nobody; what is paused does not count."""
        with self._changed:
            return not self._jobs()

    def submit(self, job: Job) -> None:
        """Let a job have turns.

        Raises:
            BusyError: too many do already, or the pair has just been unloaded.
        """
        with self._changed:
            self._check_room(job)
            job.place = self
            job.status = WAITING
            self._turns.add(job)
            self._changed.notify_all()

    def again(self, job: Job) -> None:
        """Let a job that was paused go on."""
        with self._changed:
            if job in self._paused:
                self._paused.remove(job)
                self._turns.add(job)
            self._changed.notify_all()

    def wake(self) -> None:
        """A job wants something of the thread."""
        with self._changed:
            self._changed.notify_all()

    def lets_go(self, job: Job) -> bool:
        """Forget a job that was cancelled, if it has not begun; else the thread ends it in its next turn."""
        with self._changed:
            if job is self._serving or job.over:
                return False
            if job.begun:
                self.again(job)
                return False
            if job in self._turns:
                self._turns.drop(job)
            elif job in self._paused:
                self._paused.remove(job)
            return True

    def ahead(self, job: Job) -> int:
        """How many have a turn before a job that waits for its first, whoever has one now included."""
        with self._changed:
            if job not in self._turns:
                return 0
            return self._turns.before(job, self._clock()) + (self._serving is not None)

    def others(self, job: Job) -> int:
        """How many other visitors have turns."""
        with self._changed:
            return len({one.owner for one in self._jobs()} - {job.owner})

    def close(self) -> None:
        """Cancel everything and end the thread; the pair's memory is free afterwards."""
        with self._changed:
            self._closed = True
            for job in [*self._jobs(), *self._paused]:
                job.cancel()
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread, after `close`; one that still loads is not waited for."""
        if self.status != "loading":
            self._thread.join(seconds)

    def wait(self, seconds: float) -> bool:
        """Wait until the pair is loaded, or could not be; whether it is ready."""
        with self._changed:
            self._changed.wait_for(lambda: self.status != "loading", seconds)
        return self.status == "ready"

    def _jobs(self) -> list[Job]:
        """All that wait for a turn or have one."""
        serving = self._serving
        return [*self._turns, *([serving] if serving is not None else [])]

    def _check_room(self, job: Job) -> None:
        if self._closed:
            raise BusyError("this pair has just been unloaded; try again")
        there = [one for one in self._jobs() if not one.cancelled]
        mine = sum(one.owner == job.owner for one in there)
        if mine >= JOBS_EACH:
            raise BusyError(
                f"at most {JOBS_EACH} of your jobs may go on, and {mine} do; cancel one or wait for it"
            )
        if len(there) >= JOBS:
            raise BusyError(f"at most {JOBS} jobs may share this pair, and {len(there)} do; try again soon")

    def _serve(self) -> None:
        """The thread: load, then serve one turn after the other."""
        self._try_load()
        while (job := self._next()) is not None:
            began = self._clock()
            self._turn(job)
            with self._changed:
                self._turns.charge(job, self._clock() - began)
                self._put_back(job)
        self.pair = None

    def _come(self, now: Loading) -> None:
        """Loading has come further."""
        others = (one for one in self.steps if (one.name, one.step) != (now.name, now.step))
        self.steps = (*others, now)

    def _try_load(self) -> None:
        try:
            with watched(self._come):
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
        """The job whose turn it is; None once closed and everything has ended."""
        with self._changed:
            while not self._closed or len(self._turns):
                now = self._clock()
                if (job := self._turns.take(now)) is not None:
                    self._serving = job
                    return job
                due = self._turns.next_due()
                self._changed.wait(None if due is None else due - now)
        return None

    def _turn(self, job: Job) -> None:
        """One step of a job."""
        try:
            if self.pair is None:
                raise RuntimeError(self.message or "the pair is not loaded")
            job.step(self.pair)
        except Exception as error:
            log.warning("a job failed", exc_info=True)
            job.fail(error)

    def _put_back(self, job: Job) -> None:
        """Where a job waits after its turn."""
        self._serving = None
        if job.over:
            return
        if job.status == PAUSED and job.held and not job.cancelled:
            self._paused.append(job)
            return
        self._turns.add(job)


class ModelHub:
    """Every pair in memory, loaded once whoever asks for it, dropped when too many are.

    Attributes:
        visits: what every visitor has.

    Args:
        load: makes a pair; tests give their own.
        most: pairs in memory at once.
    """

    def __init__(self, load: Callable[[PairSpec], Any] = PairSpec.load, *, most: int = LOADED) -> None:
        self.visits = Visits()
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
        """End every thread and wait for it; one that is cut off within a forward takes Python along."""
        with self._lock:
            places = [*self._places.values()]
            self._places.clear()
        for place in places:
            place.close()
        for place in places:
            place.join(PATIENCE)

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
