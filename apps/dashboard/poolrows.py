"""The phrases of a pool as rows: searched, sorted, and each with what became of it in the run shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

from phrasekit.pool import PhrasePool
from phrasekit.trace import Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import token_text
from phrasekit.views.escape import escape
from phrasekit.views.html import plain
from phrasekit.views.phrases import Life, lives
from phrasekit.views.tokens import source_name

STYLE = (Path(__file__).parent / "pool.css").read_text("utf-8")
USES = 12  # uses of one phrase, told
KEEP = 80  # characters of a search


@dataclass(frozen=True, kw_only=True)
class Row:
    """A phrase.

    Attributes:
        id: its number in the pool.
        texts: of its tokens, the key first.
        source: what made it.
        tried: times that a lookup returned it.
        kept: tokens that it put into a text.
        life: what became of it in the run shown, where that run has it.
    """

    id: int
    texts: tuple[str, ...]
    source: str
    tried: int
    kept: int
    life: Life | None = None


SORTS: Mapping[str, Callable[[Row], tuple[object, ...]]] = {
    "tokens saved": lambda row: (-row.kept, -row.tried, row.id),
    "times tried": lambda row: (-row.tried, -row.kept, row.id),
    "newest first": lambda row: (-row.id,),
    "longest first": lambda row: (-len(row.texts), -row.kept, row.id),
    "after the token": lambda row: (row.texts[0].strip().casefold(), -row.kept, row.id),
    "source": lambda row: (row.source, -row.kept, row.id),
}


def rows_of_pool(pool: PhrasePool, text_of: Callable[[int], str], trace: Trace | None) -> tuple[Row, ...]:
    """Every phrase held.

    Args:
        pool: may be in use.
        text_of: what a token id reads like.
        trace: the run that used it last.
    """
    known = {life.id: life for life in lives(trace)} if trace is not None else {}
    found = []
    for phrase in pool:
        life = known.get(phrase.id)
        same = life is not None and life.tokens == phrase.tokens
        found.append(
            Row(
                id=phrase.id,
                texts=tuple(map(text_of, phrase.tokens)),
                source=phrase.source,
                tried=phrase.uses,
                kept=phrase.accepted,
                life=life if same else None,
            )
        )
    return tuple(found)


def rows_of_trace(trace: Trace) -> tuple[Row, ...]:
    """Every phrase that a recorded run names."""
    return tuple(
        Row(
            id=life.id,
            texts=tuple(token_text(token, trace.texts) for token in life.tokens),
            source=life.source,
            tried=len(life.tries),
            kept=life.kept,
            life=life,
        )
        for life in lives(trace)
        if life.tokens
    )


def chosen(rows: Iterable[Row], search: str, order: str) -> list[Row]:
    """The rows that hold some words, case aside, in an order of `SORTS`."""
    words = search[:KEEP].casefold()
    found = [row for row in rows if not words or words in "".join(row.texts).casefold()]
    return sorted(found, key=SORTS[order])


def listed(rows: Sequence[Row], most: int) -> str:
    """A line per phrase, which unfolds to its life."""
    top = max((row.kept for row in rows), default=0)
    head = (
        '<div class="ph head"><span>after the token</span><span>source</span><span class="n">tried</span>'
        '<span class="n">tokens kept</span></div>'
    )
    return f'<div class="phrases">{head}{"".join(_line(row, top) for row in rows[:most])}</div>'


def worth(rows: Sequence[Row]) -> str:
    """What each source is worth: its share of the phrases, and of the tokens kept."""
    phrases, kept = len(rows), sum(row.kept for row in rows)
    parts = []
    for source in sorted({row.source for row in rows}, key=lambda one: -_count(rows, one)):
        own = [row for row in rows if row.source == source]
        saved = sum(row.kept for row in own)
        used = sum(row.kept > 0 for row in own)
        of_all, of_kept = len(own) / phrases, saved / kept if kept else 0.0
        parts.append(
            f'<div class="src"><b>{_named(source)}</b>'
            f"<span>{used} of {len(own)} used</span>"
            f'<i class="share {_class(source)}" style="width:{100 * of_all:.1f}%"></i>'
            f'<i class="share ink" style="width:{100 * of_kept:.1f}%"></i>'
            f"<p>{of_all:.0%} of the phrases, {of_kept:.0%} of the tokens kept: {saved}</p></div>"
        )
    note = '<p class="note">Upper bar: share of all phrases. Lower bar: share of the tokens kept.</p>'
    return "".join(parts) + note if parts else '<p class="note">Nothing yet.</p>'


def _count(rows: Sequence[Row], source: str) -> int:
    return sum(row.source == source for row in rows)


def _line(row: Row, top: int) -> str:
    joints = chain(["pk-first"], repeat("pk-cont"))
    ribbon = "".join(
        f'<span class="pk-t phrase {joint} kept">{plain(text, "pk-in")}</span>'
        for joint, text in zip(joints, row.texts[1:], strict=False)
    )
    bar = f'<i style="width:{round(64 * row.kept / top) if top else 0}px"></i>'
    return (
        f'<details><summary class="ph"><span class="words">{plain(row.texts[0])}'
        f'<span class="pk-arrow">→</span>{ribbon}</span>'
        f'<span class="from">{_named(row.source)}</span>'
        f'<span class="n"><em>tried </em>{row.tried}</span>'
        f'<span class="n kept"><b>{row.kept}</b><em> kept</em>{bar}</span></summary>'
        f'<div class="life">{"".join(_life(row))}</div></details>'
    )


def _life(row: Row) -> Iterator[str]:
    life = row.life
    if life is None:
        yield "<p>It was not named in the run shown.</p>"
        return
    born = f"Born in iteration {life.born + 1}, from the {escape(source_name(life.source), keep=40)}."
    yield f"<p>{born if life.born >= 0 else 'There before the run, or its birth was not recorded.'}</p>"
    if life.tries:
        yield f"<p>Looked up {counted(len(life.tries), 'time')}.</p>"
    for use in life.uses[:USES]:
        yield (
            f"<p>Used in iteration {use.iteration + 1} at position {use.position}: "
            f"{use.kept} of {use.proposed} kept.</p>"
        )
    if len(life.uses) > USES:
        yield f"<p>And {len(life.uses) - USES} more uses.</p>"
    if life.evicted >= 0:
        yield f"<p>Evicted in iteration {life.evicted + 1}.</p>"


def _named(source: str) -> str:
    return f'<i class="sw {_class(source)}"></i>{escape(source_name(source), keep=30)}'


def _class(source: str) -> str:
    return source if source in ("window", "committed", "discarded", "suffix") else "other"
