"""Who is served next: the visitor who has had the least time, and each visitor's own jobs in turn.

(Start-time fair queueing of one step a turn. So a visitor with many jobs gets no more than one with a single
job, a search whose steps take seconds no more than a run whose steps take milliseconds, and a run that keeps
a pace goes on as soon as it is due, as it needs less than its share.) Knows neither threads nor a clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.jobs.job import Job


class Turns:
    """Jobs that wait for a turn.

    Whoever comes, or comes back, is put level with the last one served: time that was not asked for does not
    add up, or an old visitor could keep all others waiting.
    """

    def __init__(self) -> None:
        self._line: list[Job] = []  # in the order they came
        self._had: dict[str, float] = {}  # visitor → seconds; those that are not above the level are left out
        self._level = 0.0  # what the visitor served last had had before

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[Job]:
        return iter(tuple(self._line))

    def __contains__(self, job: Job) -> bool:
        return job in self._line

    def add(self, job: Job) -> None:
        """Let a job wait, behind those of the same visitor."""
        self._line.append(job)

    def drop(self, job: Job) -> None:
        """Let it wait no longer."""
        self._line.remove(job)

    def take(self, now: float) -> Job | None:
        """Whose turn it is; None where none is due.

        Args:
            now: in the seconds of `Job.due`.
        """
        if not self._line:
            self._had, self._level = {}, 0.0
            return None
        ready = [job for job in self._line if _ready(job, now)]
        if not ready:
            return None
        first = min(ready, key=self._key)
        self._level = max(self._level, self._of(first))
        self._line.remove(first)
        return first

    def charge(self, job: Job, seconds: float) -> None:
        """A turn is over and took so long."""
        self._had[job.owner] = self._of(job) + seconds
        self._had = {owner: had for owner, had in self._had.items() if had > self._level}

    def before(self, job: Job, now: float) -> int:
        """How many that wait and are due stand before a job that waits."""
        key = self._key(job)
        place = self._line.index(job)
        return sum(
            _ready(one, now) and (self._key(one), at) < (key, place) for at, one in enumerate(self._line)
        )

    def next_due(self) -> float | None:
        """When the first one is due; None where nobody waits."""
        return min((job.due for job in self._line), default=None)

    def _of(self, job: Job) -> float:
        return max(self._level, self._had.get(job.owner, 0.0))

    def _key(self, job: Job) -> tuple[bool, float]:
        return not _urgent(job), self._of(job)


def _urgent(job: Job) -> bool:
    """Whether all that is left is to end it or to lay it aside."""
    return job.cancelled or job.held


def _ready(job: Job, now: float) -> bool:
    return job.due <= now or _urgent(job)
