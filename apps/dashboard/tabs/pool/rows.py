"""The phrases of a pool as rows: searched, sorted, and each with what became of it in the run shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from phrasekit.pool import PhrasePool
from phrasekit.pool.phrase import Phrase
from phrasekit.trace import Trace
from phrasekit.trace.visible import token_text
from phrasekit.views.phrases import Life, lives

KEEP = 80  # characters of a search


@dataclass(frozen=True)
class Row:
    """A phrase.

    Attributes:
        id: its number in the pool.
        texts: of its tokens, the key first.
        source: what made it.
        tried: times that a lookup returned it.
        kept: tokens that it put into a text.
        life: what became of it in the run shown, where that run names it.
    """

    id: int
    texts: tuple[str, ...]
    source: str
    tried: int
    kept: int
    life: Life | None = None

    @property
    def gone(self) -> bool:
        """Whether it had to go in the run shown."""
        return self.life is not None and self.life.evicted >= 0


SORTS: Mapping[str, Callable[[Row], tuple[object, ...]]] = {
    "tokens saved": lambda row: (-row.kept, -row.tried, row.id),
    "times tried": lambda row: (-row.tried, -row.kept, row.id),
    "newest first": lambda row: (-row.id,),
    "longest first": lambda row: (-len(row.texts), -row.kept, row.id),
    "after the token": lambda row: (row.texts[0].strip().casefold(), -row.kept, row.id),
    "source": lambda row: (row.source, -row.kept, row.id),
}


def rows_of_pool(pool: PhrasePool, text_of: Callable[[int], str], trace: Trace | None) -> tuple[Row, ...]:
    """Every phrase held, and those that the run shown saw go.

    Args:
        pool: may be in use.
        text_of: what a token id reads like.
        trace: the run that used this pool last, if it is shown.
    """
    known = {life.id: life for life in lives(trace) if life.tokens} if trace is not None else {}
    rows = {phrase.id: _held(phrase, text_of, known.get(phrase.id)) for phrase in pool}
    gone = (life for life in known.values() if life.evicted >= 0 and life.id not in rows)
    return (*rows.values(), *(_row(life, text_of) for life in gone))


def rows_of_trace(trace: Trace) -> tuple[Row, ...]:
    """Every phrase that a recorded run names."""
    return tuple(
        _row(life, lambda token: token_text(token, trace.texts)) for life in lives(trace) if life.tokens
    )


def _held(phrase: Phrase, text_of: Callable[[int], str], life: Life | None) -> Row:
    """A phrase of the pool; of one that was born in the run shown that run tells everything."""
    if life is not None and life.born >= 0:
        return _row(life, text_of)
    texts = tuple(map(text_of, phrase.tokens))
    return Row(phrase.id, texts, phrase.source, phrase.uses, phrase.accepted, life)


def _row(life: Life, text_of: Callable[[int], str]) -> Row:
    return Row(life.id, tuple(map(text_of, life.tokens)), life.source, len(life.tries), life.kept, life)


def chosen(rows: Iterable[Row], search: str, order: str) -> list[Row]:
    """The rows that hold some words, case aside, in an order of `SORTS`."""
    words = search[:KEEP].casefold()
    found = [row for row in rows if not words or words in "".join(row.texts).casefold()]
    return sorted(found, key=SORTS[order])
