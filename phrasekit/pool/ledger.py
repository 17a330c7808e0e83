"""What each way of proposing has earned lately: tokens and milliseconds, by situation.

Kept with the pool, since both are what earlier iterations and prompts have taught.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

FADE = 0.85  # weight that an iteration's entry has left one iteration later
FIRST_TRIALS = 2  # every way is tried this often in a situation before rates decide
RETRY = 40  # and again after this many iterations without it


@dataclass(slots=True)
class Account:
    """Faded sums of one way in one situation."""

    tokens: float = 0.0
    ms: float = 0.0
    trials: int = 0
    since: int = 0

    @property
    def rate(self) -> float:
        """Tokens per millisecond."""
        return self.tokens / self.ms if self.ms else 0.0


class Ledger:
    """Running rates of (way, situation); several threads may share one."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, int], Account] = {}
        self._lock = Lock()

    def choose(self, ways: Sequence[str], situation: int) -> str:
        """The way with the best rate; first, and now and then, one that is not known well enough.

        Args:
            ways: what is possible, the most promising first.
            situation: rates are kept apart by this number.
        """
        with self._lock:
            accounts = [self._accounts.setdefault((way, situation), Account()) for way in ways]
            for account in accounts:
                account.since += 1
            best = max(accounts, key=lambda account: account.rate)
            for way, account in zip(ways, accounts, strict=True):
                # a way far behind is looked at again less often
                patience = RETRY * (1 if account.rate > best.rate / 2 else 4)
                if account.trials < FIRST_TRIALS or account.since > patience:
                    return way
            return ways[accounts.index(best)]

    def enter(self, way: str, situation: int, *, tokens: int, ms: float) -> None:
        """Note what an iteration emitted and how long it took."""
        with self._lock:
            account = self._accounts.setdefault((way, situation), Account())
            account.tokens = FADE * account.tokens + tokens
            account.ms = FADE * account.ms + ms
            account.trials += 1
            account.since = 0

    def rates(self) -> dict[tuple[str, int], float]:
        """Tokens per millisecond by (way, situation), for reports."""
        with self._lock:
            return {key: account.rate for key, account in self._accounts.items() if account.trials}
