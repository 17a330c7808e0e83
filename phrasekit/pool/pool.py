"""The phrase pool: what may follow a key token, most recently useful last (Ouroboros section 3.1–3.4).

Bounded per key and over all keys; no phrase twice, and none that is the beginning of another under the
same key. What goes first and what a lookup gives first are policies (`phrasekit.pool.policy`). All
operations take a lock, so that decoders in several threads may share one pool.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from threading import RLock
from typing import TypeVar

from phrasekit.pool.ledger import Ledger
from phrasekit.pool.phrase import Phrase
from phrasekit.pool.policy import ORDERS, POLICIES

Choice = TypeVar("Choice")

BOUNDS = {"per_key": (1, 256), "capacity": (1, 1 << 20), "longest": (2, 1024), "half_life": (0, 1 << 40)}
HALVED_PER_PHRASE = 8  # counters that may be halved for every new phrase, on average


class PhrasePool:
    """Phrases by key token.

    Args:
        per_key: phrases kept under one key.
        capacity: phrases kept in all.
        longest: tokens of a phrase at most, its key included; longer ones are cut.
        policy: which phrase goes when its key or the pool is full, the newcomer excepted: "lru" the
            least recently inserted or proposed, "least_used" the least often proposed, "least_accepted"
            the one with the fewest accepted tokens.
        order: which phrases a lookup gives first: "recent" the newest, "accepted" those with the most
            accepted tokens.
        half_life: after so many new phrases all counters are halved, so that old fame fades; 0 never,
            else capacity/8 or more, since halving looks at every phrase.

    Attributes:
        age: new phrases since the counters were last halved.

    Raises:
        TypeError: a limit that is no whole number.
        ValueError: a limit outside its bounds, or an unknown policy or order.
    """

    def __init__(
        self,
        *,
        per_key: int = 16,
        capacity: int = 65_536,
        longest: int = 32,
        policy: str = "lru",
        order: str = "recent",
        half_life: int = 0,
    ) -> None:
        limits = {"per_key": per_key, "capacity": capacity, "longest": longest, "half_life": half_life}
        for name, value in limits.items():
            _check_limit(name, value)
        _check_half_life(half_life, capacity)
        self.per_key = per_key
        self.capacity = capacity
        self.longest = longest
        self.policy = policy
        self.order = order
        self.half_life = half_life
        self.age = 0
        self._by_key: dict[int, list[Phrase]] = {}  # least recently touched first, as below
        self._by_age: OrderedDict[int, Phrase] = OrderedDict()
        self._policy = _choice("policy", policy, POLICIES)(self._by_age)
        self._first = _choice("order", order, ORDERS)
        self._ids = count()
        self._clock = count(1)
        self._lock = RLock()
        self.ledger = Ledger()

    def __len__(self) -> int:
        return len(self._by_age)

    def __iter__(self) -> Iterator[Phrase]:
        """Every phrase, the least recently touched first."""
        with self._lock:
            return iter(tuple(self._by_age.values()))

    def __repr__(self) -> str:
        """Short, so that a notebook never prints thousands of phrases."""
        return f"PhrasePool({len(self)} of {self.capacity} phrases, {len(self._by_key)} keys)"

    def lookup(self, key: int, count: int) -> tuple[Phrase, ...]:
        """The first `count` phrases after `key` by the pool's order; they become recently touched."""
        with self._lock:
            held = self._by_key.get(key)
            if not held or count < 1:
                return ()
            chosen = self._first(held, count)
            for phrase in reversed(chosen):
                phrase.uses += 1
                self._touch(phrase)
            return chosen

    def insert(self, tokens: Sequence[int], source: str) -> tuple[Phrase | None, tuple[int, ...]]:
        """Keep a phrase of two tokens or more as the newest of its key.

        A phrase already held, or held as the beginning of a longer one, is only refreshed. One with a
        negative id, where the model gave no finite logits, is not kept.

        Returns:
            The new phrase, or None where none was added, and the ids of phrases that had to go.
        """
        if len(tokens) < 2 or min(tokens) < 0:
            return None, ()
        kept = tuple(tokens[: self.longest])
        size, second = len(kept), kept[1]
        with self._lock:
            held, shorter = self._by_key.get(kept[0], []), None
            for place, phrase in enumerate(held):
                if phrase.tokens[1] != second:
                    continue
                if phrase.tokens[:size] == kept:
                    held.append(held.pop(place))
                    self._touch(phrase)
                    return None, ()
                if kept[: len(phrase.tokens)] == phrase.tokens:
                    shorter = phrase
            gone = shorter or self._surplus(held)
            if gone is not None:
                self._remove(gone)
            return self._add(kept, source), () if gone is None else (gone.id,)

    def credit(self, phrase_id: int, tokens: int) -> None:
        """Note that the target accepted `tokens` tokens of a phrase; unknown ids are ignored."""
        with self._lock:
            phrase = self._by_age.get(phrase_id)
            if phrase is not None:
                phrase.accepted += tokens

    def clear(self) -> None:
        """Forget every phrase."""
        with self._lock:
            self._by_key.clear()
            self._by_age.clear()

    def check_integrity(self) -> str:
        """The first rule that is broken, or "" when all hold; for tests."""
        with self._lock:
            listed = [phrase for held in self._by_key.values() for phrase in held]
            if len(listed) != len(self._by_age) or any(self._by_age.get(p.id) is not p for p in listed):
                return "every phrase is listed once by key and once by age"
            if len(listed) > self.capacity:
                return "never more phrases than the capacity"
            for key, held in self._by_key.items():
                if not 1 <= len(held) <= self.per_key:
                    return "one to per_key phrases under a key"
                texts = [phrase.tokens for phrase in held]
                if any(text[0] != key or not 2 <= len(text) <= self.longest for text in texts):
                    return "a phrase starts with its key and has 2 to longest tokens"
                if any(a is not b and a[: len(b)] == b for a in texts for b in texts):
                    return "no phrase is the beginning of another under the same key"
                if not _ascending(held):
                    return "the phrases of a key stand in the order they were touched"
            if not _ascending(self._by_age.values()):
                return "all phrases stand in the order they were touched"
            return ""

    def _surplus(self, held: Sequence[Phrase]) -> Phrase | None:
        """What must go before one more phrase comes to those held under its key."""
        if len(held) >= self.per_key:
            return self._policy.weakest(held)
        return self._policy.victim() if len(self._by_age) >= self.capacity else None

    def _add(self, tokens: tuple[int, ...], source: str) -> Phrase:
        new = Phrase(next(self._ids), tokens, source, touched=next(self._clock))
        self._by_key.setdefault(tokens[0], []).append(new)
        self._by_age[new.id] = new
        self._policy.admit(new)
        if self.half_life:
            self._grow_older()
        return new

    def _touch(self, phrase: Phrase) -> None:
        phrase.touched = next(self._clock)
        self._by_age.move_to_end(phrase.id)

    def _grow_older(self) -> None:
        self.age += 1
        if self.age < self.half_life:
            return
        self.age = 0
        for phrase in self._by_age.values():
            phrase.uses >>= 1
            phrase.accepted >>= 1
        self._policy.restart()

    def _remove(self, phrase: Phrase) -> None:
        held = self._by_key[phrase.tokens[0]]
        del held[next(place for place, one in enumerate(held) if one is phrase)]
        if not held:
            del self._by_key[phrase.tokens[0]]
        del self._by_age[phrase.id]


def _check_limit(name: str, value: object) -> None:
    low, high = BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, but got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be {low} or more, but got {value}")
    if value > high:
        raise ValueError(f"{name} must be {high} or less, but got {value}")


def _check_half_life(half_life: int, capacity: int) -> None:
    least = -(-capacity // HALVED_PER_PHRASE)
    if 0 < half_life < least:
        raise ValueError(
            f"half_life must be 0 or at least capacity/{HALVED_PER_PHRASE} ({least}), since halving looks at "
            f"every phrase, but got {half_life}"
        )


def _choice(name: str, given: str, choices: Mapping[str, Choice]) -> Choice:
    if given not in tuple(choices):
        raise ValueError(f"{name} must be one of {', '.join(choices)}, but got {given!r}")
    return choices[given]


def _ascending(phrases: Iterable[Phrase]) -> bool:
    return all(before.touched < after.touched for before, after in pairwise(phrases))
