"""Something that a pair's thread does for one visitor, and that can be paused and cancelled.

The thread writes plain values and raises `version`; whoever shows the job reads them a few times a second.
So no thread but the page's own ever touches the page, and a lost connection loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from phrasekit.trace import visible

if TYPE_CHECKING:
    from dashboard.hub import Place

IDLE, WAITING, RUNNING, PAUSED = "idle", "waiting", "running", "paused"
DONE, CANCELLED, FAILED = "done", "cancelled", "failed"
OVER = (DONE, CANCELLED, FAILED)
LONGEST = 600  # characters of an error

_numbers = count(1)


class Job:
    """Work in turns.

    Attributes:
        owner: whose it is; nobody may fill the queue alone.
        patient: whether it steps aside, between two turns, for whoever waits.
        number: tells jobs apart.
        place: where it was submitted.
        status: "idle", "waiting", "running", "paused", "done", "cancelled" or "failed".
        message: what went wrong, in words.
        version: grows with every change worth showing.
        due: not before this moment, in seconds of `time.monotonic`.
    """

    patient = False

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.number = next(_numbers)
        self.place: Place | None = None
        self.status, self.message = IDLE, ""
        self.version = 0
        self.due = 0.0
        self._stop, self._hold = Event(), Event()
        self._turns: Iterator[None] | None = None

    def work(self, pair: Any) -> Iterator[None]:
        """Do it; yield wherever it may be set aside. `cancelled` asks before every step."""
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
    def cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    @property
    def held(self) -> bool:
        """Whether it was asked to pause."""
        return self._hold.is_set()

    @property
    def ahead(self) -> int:
        """How many are served first."""
        return self.place.ahead(self) if self.place is not None and self.status == WAITING else 0

    def cancel(self) -> None:
        """Stop within a step; what was made is kept."""
        self._stop.set()
        waits = self.place is not None and self.place.drop(self)
        if waits or self.status == PAUSED:
            self._end(CANCELLED)
        elif self.status == IDLE:
            self.status = CANCELLED

    def pause(self) -> None:
        """Step aside within a step, until `resume`."""
        if self.active:
            self._hold.set()

    def resume(self) -> None:
        """Go on at the end of the queue."""
        self._hold.clear()
        if self.status == PAUSED and self.place is not None:
            self.status = RUNNING
            self.changed()
            self.place.again(self)

    def go_on(self, pair: Any) -> Iterator[None]:
        """The steps from where it was set aside to its end."""
        if self._turns is None:
            self._turns = self.work(pair)
        self.status = RUNNING
        self.changed()
        for _ in self._turns:
            yield
        self._end(CANCELLED if self.cancelled else DONE)

    def steps_aside(self, others: bool) -> bool:
        """Whether to set it aside now.

        Args:
            others: whether somebody waits.
        """
        if self._hold.is_set() and not self.cancelled:
            self.status = PAUSED
            self.changed()
            return True
        return not self.cancelled and ((self.patient and others) or self.due > monotonic())

    def fail(self, error: Exception) -> None:
        """End with an error; what was made is kept."""
        self.message = told(error)
        self._end(FAILED)

    def changed(self) -> None:
        """Something is worth showing."""
        self.version += 1

    def _end(self, status: str) -> None:
        self.status = status
        if self._turns is not None and status != DONE:
            self._close()
        self._turns = None
        self.changed()

    def _close(self) -> None:
        """Let the steps that are left go; a generator that is running cannot be closed and ends by itself."""
        close = getattr(self._turns, "close", None)
        if close is not None and not getattr(self._turns, "gi_running", False):
            close()


def told(error: BaseException) -> str:
    """An error on one line, safe to show."""
    message = " ".join(str(error).split()) or type(error).__name__
    return visible(message, spaces=False, keep=LONGEST)
