"""How often a page looks at what goes on."""

from __future__ import annotations

from time import monotonic, thread_time

from dashboard.visitor.session import Session

PERIOD = 120  # milliseconds between two looks at what goes on, or more:
SHARE = 20  # a look rests this many times what the last one took, as the run stands still meanwhile
LONGEST = 0.35  # seconds at most
HURRIED = 4  # looks without a rest after a knob moved


class Look:
    """A look at what goes on: the dearer it was, the longer it rests."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._next = 0.0
        self._hurry = 0

    def hurry(self) -> None:
        """Somebody moved a knob: the next looks do not rest, so that its effect shows at once."""
        self._next, self._hurry = 0.0, HURRIED

    def __call__(self) -> None:
        """Look, unless the last look is still to be rested from."""
        began = monotonic()
        if began < self._next:
            return
        used = thread_time()
        self._session.tick()
        self._hurry -= 1
        if self._hurry < 0:
            self._next = began + min(LONGEST, SHARE * (thread_time() - used))
