"""What each way of proposing has earned lately: tokens and milliseconds, by situation.

Kept with the pool, since both are what earlier iterations and prompts have taught.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

FADE = 0.9  # weight that an iteration's entry has left one iteration later
FIRST_TRIALS = 2  # every way is tried this often, in whatever situation, before rates decide
RETRY = 40  # and again in a situation after this many iterations there without it
BORROWED = 3  # iterations' worth of trust in a way's rate elsewhere while a situation is new


@dataclass(slots=True)
class Account:
    """Faded sums of one way, in one situation or in all."""

    tokens: float = 0.0
    ms: float = 0.0
    trials: int = 0
    since: int = 0

    def enter(self, tokens: int, ms: float) -> None:
        """Note one iteration."""
        self.tokens = FADE * self.tokens + tokens
        self.ms = FADE * self.ms + ms
        self.trials += 1
        self.since = 0


class Ledger:
    """Running rates of (way, situation); several threads may share one."""

    def __init__(self) -> None:
        self._here: dict[tuple[str, int], Account] = {}
        self._everywhere: dict[str, Account] = {}
        self._lock = Lock()

    def choose(self, ways: Sequence[str], situation: int) -> str:
        """The way with the best rate; first, and now and then, one that is not known well enough.

        Args:
            ways: what is possible, the most promising first.
            situation: rates are kept apart by this number, and borrowed where it is new.
        """
        with self._lock:
            for way in ways:
                if self._everywhere.setdefault(way, Account()).trials < FIRST_TRIALS:
                    return way
            rates = {way: self._rate(way, situation) for way in ways}
            best = max(rates.values())
            for way in ways:
                account = self._here[way, situation]
                account.since += 1
                # a way far behind is looked at again less often
                if account.since > RETRY * (1 if rates[way] > best / 2 else 4):
                    return way
            return max(ways, key=rates.__getitem__)

    def enter(self, way: str, situation: int, *, tokens: int, ms: float) -> None:
        """Note what an iteration emitted and how long it took."""
        with self._lock:
            self._here.setdefault((way, situation), Account()).enter(tokens, ms)
            self._everywhere.setdefault(way, Account()).enter(tokens, ms)

    def rates(self) -> dict[tuple[str, int], float]:
        """Tokens per millisecond by (way, situation), for reports."""
        with self._lock:
            return {key: account.tokens / account.ms for key, account in self._here.items() if account.ms}

    def _rate(self, way: str, situation: int) -> float:
        """Tokens per millisecond here, leaning on the rate elsewhere while little is known."""
        here = self._here.setdefault((way, situation), Account())
        there = self._everywhere[way]
        lean = BORROWED / (1 + here.trials) * (1 - FADE)
        ms = here.ms + lean * there.ms
        return (here.tokens + lean * there.tokens) / ms if ms else 0.0
