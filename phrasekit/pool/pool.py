"""The phrase pool: what may follow a key token, most recently useful last (Ouroboros section 3.1–3.4).

Bounded per key and over all keys, least recently used first; no phrase twice, and none that is the
beginning of another under the same key. All operations take a lock, so that decoders in several
threads may share one pool; what they return is immutable.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import RLock

# Where a phrase came from.
WINDOW, DISCARDED, SUFFIX, COMMITTED = "window", "discarded", "suffix", "committed"
SOURCES = (WINDOW, DISCARDED, SUFFIX, COMMITTED)


@dataclass(slots=True)
class Phrase:
    """One entry: `tokens[0]` is the key, the rest what may follow it.

    Attributes:
        id: unique in its pool, never used again.
        source: what made it.
        uses: times it was proposed.
        accepted: tokens the target accepted from it.
    """

    id: int
    tokens: tuple[int, ...]
    source: str
    uses: int = 0
    accepted: int = 0


class PhrasePool:
    """Phrases by key token.

    Args:
        per_key: phrases kept under one key.
        capacity: phrases kept in all.
        longest: tokens of a phrase at most, its key included; longer ones are cut.

    Raises:
        TypeError: a limit that is no whole number.
        ValueError: a limit outside its bounds.
    """

    def __init__(self, *, per_key: int = 16, capacity: int = 65_536, longest: int = 32) -> None:
        for name, value, low in (("per_key", per_key, 1), ("capacity", capacity, 1), ("longest", longest, 2)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be a whole number, but got {value!r}")
            if value < low:
                raise ValueError(f"{name} must be {low} or more, but got {value}")
        self.per_key = per_key
        self.capacity = capacity
        self.longest = longest
        self._by_key: dict[int, list[Phrase]] = {}
        self._by_age: OrderedDict[int, Phrase] = OrderedDict()  # oldest first
        self._next_id = 0
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._by_age)

    def __iter__(self) -> Iterator[Phrase]:
        """Every phrase, oldest first."""
        with self._lock:
            return iter(tuple(self._by_age.values()))

    def __repr__(self) -> str:
        """Short, so that a notebook never prints thousands of phrases."""
        return f"PhrasePool({len(self)} of {self.capacity} phrases, {len(self._by_key)} keys)"

    def lookup(self, key: int, count: int) -> tuple[Phrase, ...]:
        """The `count` most recent phrases after `key`, newest first; they become recently used."""
        with self._lock:
            found = self._by_key.get(key)
            if not found or count < 1:
                return ()
            chosen = tuple(found[: -count - 1 : -1])
            for phrase in reversed(chosen):
                phrase.uses += 1
                self._by_age.move_to_end(phrase.id)
            return chosen

    def insert(self, tokens: Sequence[int], source: str) -> tuple[Phrase | None, tuple[int, ...]]:
        """Keep a phrase of two tokens or more as the newest of its key.

        A phrase already held, or held as the beginning of a longer one, is only refreshed.

        Returns:
            The new phrase, or None where none was added, and the ids of phrases that had to go.
        """
        if len(tokens) < 2:
            return None, ()
        kept = tuple(tokens[: self.longest])
        with self._lock:
            held = self._by_key.setdefault(kept[0], [])
            shorter = None
            for place, phrase in enumerate(held):
                if phrase.tokens[: len(kept)] == kept:
                    held.append(held.pop(place))
                    self._by_age.move_to_end(phrase.id)
                    return None, ()
                if kept[: len(phrase.tokens)] == phrase.tokens:
                    shorter = phrase
            return self._add(kept, source, shorter)

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
            return ""

    def _add(
        self, tokens: tuple[int, ...], source: str, shorter: Phrase | None
    ) -> tuple[Phrase, tuple[int, ...]]:
        gone = [shorter] if shorter else []
        held = self._by_key[tokens[0]]
        if not gone and len(held) >= self.per_key:
            gone.append(held[0])
        for phrase in gone:
            self._remove(phrase)
        new = Phrase(self._next_id, tokens, source)
        self._next_id += 1
        self._by_key.setdefault(tokens[0], []).append(new)
        self._by_age[new.id] = new
        if len(self._by_age) > self.capacity:
            oldest = next(iter(self._by_age.values()))
            self._remove(oldest)
            gone.append(oldest)
        return new, tuple(phrase.id for phrase in gone)

    def _remove(self, phrase: Phrase) -> None:
        held = self._by_key[phrase.tokens[0]]
        held.remove(phrase)
        if not held:
            del self._by_key[phrase.tokens[0]]
        del self._by_age[phrase.id]
