"""What each way of proposing has earned lately: tokens and milliseconds, by situation.

Kept with the pool, since both are what earlier iterations and prompts have taught. A way that is not
known, or was not looked at for long, is tried when the trial costs a small share of the time at hand:
so what trials cost is bounded whatever they find, and short texts see few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

PLAIN = "plain"  # the way that promises are measured by
FADE = 0.95  # weight that an iteration's entry has left one iteration later
FIRST_TRIALS = 6  # rates decide after so many iterations of a way
FIRST_SHARE = 0.03  # of the time spent and to come that the first trials may cost
PRICE_SHARE = 0.05  # of the time to come that a way may cost once before anything is known of it
LATER_SHARE = 0.005  # of the time since a way was last tried that another trial may cost
BORROWED = 3  # iterations' worth of trust in a way's rate elsewhere while a situation is new


class Situation(NamedTuple):
    """Rates are kept apart by it.

    Attributes:
        matched: how far the last tokens match earlier text.
        span: order of magnitude of the context, which decides what rows cost; nothing is borrowed
            from another one.
    """

    matched: int
    span: int


@dataclass(frozen=True, slots=True)
class Way:
    """What may be chosen.

    Attributes:
        name: rates are kept by it.
        price: milliseconds it takes once before its rate holds.
        promise: times the speed of plain decoding that it can be trusted with untried; 0 for none, so
            that only a trial can tell.
    """

    name: str
    price: float = 0.0
    promise: float = 0.0


@dataclass(slots=True)
class Account:
    """Faded sums of one way, in one situation or in all of a span."""

    tokens: float = 0.0
    ms: float = 0.0
    weight: float = 0.0
    trials: int = 0

    def enter(self, tokens: float, ms: float) -> None:
        """Note one iteration."""
        self.tokens = FADE * self.tokens + tokens
        self.ms = FADE * self.ms + ms
        self.weight = FADE * self.weight + 1
        self.trials += 1

    def plus(self, other: Account, share: float) -> Account:
        """This one leaning on another."""
        return Account(
            tokens=self.tokens + share * other.tokens,
            ms=self.ms + share * other.ms,
            weight=self.weight + share * other.weight,
            trials=self.trials,
        )

    @property
    def pace(self) -> float:
        """Milliseconds a token."""
        return self.ms / self.tokens

    def loss(self, pace: float) -> float:
        """Milliseconds that an iteration takes beyond what its tokens are worth at another pace."""
        return max(0.0, (self.ms - pace * self.tokens) / self.weight)


class Ledger:
    """Running rates of every way by situation; several threads may share one."""

    def __init__(self) -> None:
        self._here: dict[tuple[str, Situation], Account] = {}
        self._elsewhere: dict[tuple[str, int], Account] = {}
        self._missed: dict[tuple[str, Situation], float] = {}  # ms in a situation since a way was tried
        self._spent: dict[int, float] = {}  # ms by span
        self._reading: dict[str, float] = {}  # ms a row, by who reads
        self._lock = Lock()

    def choose(
        self,
        ways: Sequence[Way],
        situation: Situation,
        *,
        room: int,
    ) -> str:
        """Name of the way that is through first, or of one that is due for a trial.

        Args:
            ways: what is possible, the most promising first.
            situation: where the iteration stands.
            room: tokens still to come.
        """
        with self._lock:
            known = {way: found for way in ways if (found := self._account(way, situation)) is not None}
            if not known:
                return min(ways, key=lambda way: way.price).name  # of equals the first
            best = min(known, key=lambda way: way.price + room * known[way].pace)
            pace = known[best].pace
            due = (
                way for way in ways if way != best and self._due(way, known.get(way), situation, pace, room)
            )
            return next(due, best).name

    def enter(self, way: str, situation: Situation, *, tokens: int, ms: float) -> None:
        """Note what an iteration emitted and how long it took."""
        with self._lock:
            self._here.setdefault((way, situation), Account()).enter(tokens, ms)
            self._elsewhere.setdefault((way, situation.span), Account()).enter(tokens, ms)
            self._spent[situation.span] = self._spent.get(situation.span, 0.0) + ms
            for other, span in self._elsewhere:
                if span == situation.span:
                    place = other, situation
                    self._missed[place] = 0.0 if other == way else self._missed.get(place, 0.0) + ms

    def enter_reading(self, reader: str, *, rows: int, ms: float) -> None:
        """Note how long a model took to read rows that it had not seen."""
        with self._lock:
            self._reading[reader] = ms / rows

    def reading(self, reader: str) -> float | None:
        """Milliseconds a row as last noted; None before."""
        return self._reading.get(reader)

    def rates(self) -> dict[tuple[str, Situation], float]:
        """Tokens per millisecond by (way, situation), for reports."""
        with self._lock:
            return {key: account.tokens / account.ms for key, account in self._here.items() if account.ms}

    def _due(self, way: Way, known: Account | None, situation: Situation, pace: float, room: int) -> bool:
        """Whether a trial is cheap enough, when the best way takes `pace` milliseconds a token."""
        elsewhere = self._elsewhere.get((way.name, situation.span), Account())
        if known is None or (elsewhere.trials < FIRST_TRIALS and not way.promise):
            ahead = room * pace
            # it may turn out to bring nothing but the token that comes anyway; what is to be paid once
            # has to be earned back in this text
            trial = (elsewhere.trials + 1) * pace
            spent = self._spent.get(situation.span, 0.0)
            return way.price <= PRICE_SHARE * ahead and trial <= FIRST_SHARE * (ahead + spent)
        missed = self._missed.get((way.name, situation), 0.0)
        return way.price + known.loss(pace) < LATER_SHARE * missed

    def _account(self, way: Way, situation: Situation) -> Account | None:
        """What is known of a way here, leaning on its promise or on elsewhere while that is little."""
        here = self._here.get((way.name, situation), Account())
        lean = BORROWED / (1 + here.trials)
        plain = self._elsewhere.get((PLAIN, situation.span))
        if way.promise and plain is not None:
            return here.plus(Account(tokens=way.promise, ms=plain.pace, weight=1.0), lean)
        elsewhere = self._elsewhere.get((way.name, situation.span))
        return None if elsewhere is None else here.plus(elsewhere, lean * (1 - FADE))
