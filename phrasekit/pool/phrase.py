"""A phrase: a key token, what may follow it, and what came of proposing it."""

from __future__ import annotations

from dataclasses import dataclass, field

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
        touched: when it was last inserted or proposed, by its pool's own count.
    """

    id: int
    tokens: tuple[int, ...]
    source: str
    uses: int = 0
    accepted: int = 0
    touched: int = field(default=0, compare=False, repr=False)
