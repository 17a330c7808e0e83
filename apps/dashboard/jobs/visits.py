"""What a visitor has, apart from the page that shows it, so that a page loaded again finds it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from dashboard.jobs.job import Job
from dashboard.jobs.pinned import Pinned
from dashboard.jobs.proof import PlainRun
from dashboard.jobs.run import LiveRun
from phrasekit.pool import PhrasePool
from phrasekit.trace import Trace

if TYPE_CHECKING:
    from dashboard.jobs.hub import PairSpec


@dataclass(eq=False, kw_only=True)
class Visit:
    """Jobs and plain values; nothing of a page.

    Attributes:
        page: stands for the page that shows it; one at a time.
        owner: in whose name its jobs have turns.
        run: the run shown on Step and Tune, or None.
        plain: plain decoding of the same prompt, once somebody asked for the proof.
        pins: settings kept for comparison.
        uploaded: a trace from a file, shown in place of the run.
        jobs: all that go on, and the last of each kind.
        pool: phrases of the visitor's own.
        pool_of: the pair whose tokens they are.
    """

    page: object
    owner: str = field(default_factory=lambda: secrets.token_hex(8))
    run: LiveRun | None = None
    plain: PlainRun | None = None
    pins: tuple[Pinned, ...] = ()
    uploaded: Trace | None = None
    jobs: list[Job] = field(default_factory=list)
    pool: PhrasePool = field(default_factory=PhrasePool)
    pool_of: PairSpec | None = None

    @property
    def used(self) -> bool:
        """Whether there is anything to lose."""
        return bool(self.jobs) or self.uploaded is not None or self.pool_of is not None


class Visits:
    """Visits by the token of the browser tab that they are shown in.

    A visit stays as long as the server keeps the page that shows it, which is a while after the page has
    gone. So there are never more of them than pages, and no clock of their own.
    """

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._visits)

    def come(self, token: str, own: Visit) -> Visit:
        """What a page shows that comes with a token: what was there before, or what it has itself.

        From now on that is this page's. Of two pages with one token, the later one has it.
        """
        with self._lock:
            known = self._visits.get(token)
            if known is None or own.used:
                self._visits[token] = own
                return own
            known.page = own.page
            return known

    def leave(self, visit: Visit, page: object) -> bool:
        """A page has gone for good; whether the visit was still its own and is therefore over."""
        with self._lock:
            if visit.page is not page:
                return False
            self._visits = {token: one for token, one in self._visits.items() if one is not visit}
            return True
