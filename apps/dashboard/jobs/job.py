"""Something that a pair's thread does for one visitor, and that can be paused and cancelled.

The thread writes plain values and raises `version`; whoever shows the job reads them a few times a second.
So no thread but the page's own ever touches the page, and a lost connection loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from threading import Event
from typing import TYPE_CHECKING, Any

from phrasekit.trace import visible

if TYPE_CHECKING:
    from dashboard.jobs.hub import Place

IDLE, WAITING, RUNNING, PAUSED = "idle", "waiting", "running", "paused"
DONE, CANCELLED, FAILED = "done", "cancelled", "failed"
OVER = (DONE, CANCELLED, FAILED)
LONGEST = 600  # characters of an error

_numbers = count(1)


class Job:
    """Work in steps, each of them a turn; between two turns others have theirs.

    Attributes:
        owner: whose it is; all jobs of one visitor share that visitor's turns.
        number: tells jobs apart.
        place: where it was submitted.
        status: "idle", "waiting" for its first turn, "running", "paused", "done", "cancelled" or "failed".
        message: what went wrong, in words.
        version: grows with every change worth showing.
        due: not before this moment, in seconds of `time.monotonic`.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.number = next(_numbers)
        self.place: Place | None = None
        self.status, self.message = IDLE, ""
        self.version = 0
        self.due = 0.0
        self._stop, self._hold = Event(), Event()
        self._steps: Iterator[None] | None = None

    def work(self, pair: Any) -> Iterator[None]:
        """Do it; yield after every step. `cancelled` asks before every step, and then it must end."""
        raise NotImplementedError

    @property
    def active(self) -> bool:
        """Whether there is more to come."""
        return self.status in (WAITING, RUNNING, PAUSED)

    @property
    def over(self) -> bool:
        """Whether it ended."""
        return self.status in OVER

    @property
    def begun(self) -> bool:
        """Whether it has made a step and has more to make."""
        return self._steps is not None

    @property
    def cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    @property
    def held(self) -> bool:
        """Whether it was asked to pause."""
        return self._hold.is_set()

    @property
    def ahead(self) -> int:
        """How many have a turn before its first."""
        return self.place.ahead(self) if self.place is not None and self.status == WAITING else 0

    @property
    def others(self) -> int:
        """How many other visitors it takes turns with."""
        return self.place.others(self) if self.place is not None and self.status == RUNNING else 0

    def cancel(self) -> None:
        """Stop within a step, and before the next one of anybody else; what was made is kept.

        What has begun ends in the pair's thread, which alone may touch it.
        """
        self._stop.set()
        if self.status == IDLE or (self.place is not None and self.place.lets_go(self)):
            self.end(CANCELLED)

    def pause(self) -> None:
        """Stand still within a step, until `resume`."""
        if self.active:
            self._hold.set()
            if self.place is not None:
                self.place.wake()

    def resume(self) -> None:
        """Go on when it is its visitor's turn."""
        self._hold.clear()
        if self.status == PAUSED and self.place is not None:
            self._become(RUNNING)
            self.place.again(self)

    def step(self, pair: Any) -> None:
        """Have a turn, in the pair's thread: a step, or whatever it was asked for.

        Raises:
            Exception: whatever its work raises; then `fail` says so.
        """
        if self.held and not self.cancelled:
            self._become(PAUSED)
            return
        if self._steps is None:
            if self.cancelled:
                self.end(CANCELLED)
                return
            self._steps = self.work(pair)
        self._become(RUNNING)
        try:
            next(self._steps)
        except StopIteration:
            self.end(CANCELLED if self.cancelled else DONE)

    def fail(self, error: Exception) -> None:
        """End with an error; what was made is kept."""
        self.message = told(error)
        self.end(FAILED)

    def end(self, status: str) -> None:
        """It is over."""
        self._steps = None
        self._become(status)

    def changed(self) -> None:
        """Something is worth showing."""
        self.version += 1

    def _become(self, status: str) -> None:
        if self.status != status:
            self.status = status
            self.changed()


def told(error: BaseException) -> str:
    """An error on one line, safe to show."""
    message = " ".join(str(error).split()) or type(error).__name__
    return visible(message, spaces=False, keep=LONGEST)
