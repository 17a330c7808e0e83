"""What makes phrases: its look, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.tabs.pool.rows import Row
from phrasekit.pool.phrase import SOURCES
from phrasekit.views.escape import escape
from phrasekit.views.tokens import source_name

OLDER = "older"  # the look of what nobody knows the source of


def look(source: str) -> str:
    """Name of a source's texture; all of them share one hue, as they mean the same."""
    return source if source in SOURCES else "other" if source else OLDER


def named(source: str) -> str:
    """A swatch and the source in words, as markup."""
    return f'<i class="sw {look(source)}"></i>{escape(source_name(source), keep=30)}'


def worth(rows: Sequence[Row]) -> str:
    """What each source is worth: its share of the phrases, and of the tokens kept."""
    if not rows:
        return '<p class="note">Nothing yet.</p>'
    sources = dict.fromkeys(row.source for row in rows)
    groups = [[row for row in rows if row.source == source] for source in sources]
    told = "".join(_group(group, rows) for group in sorted(groups, key=len, reverse=True))
    return f'{told}<p class="note">Upper bar: share of all phrases. Lower bar: share of the tokens kept.</p>'


def _group(own: Sequence[Row], rows: Sequence[Row]) -> str:
    kept, saved = sum(row.kept for row in rows), sum(row.kept for row in own)
    used = sum(row.kept > 0 for row in own)
    of_all, of_kept = len(own) / len(rows), saved / kept if kept else 0.0
    return (
        f'<div class="src"><b>{named(own[0].source)}</b><span>{used} of {len(own)} used</span>'
        f'<div class="bars"><i class="share {look(own[0].source)}" style="width:{100 * of_all:.1f}%"></i>'
        f'<i class="share ink" style="width:{100 * of_kept:.1f}%"></i></div>'
        f"<p>{of_all:.0%} of the phrases, {of_kept:.0%} of the tokens kept: {saved}</p></div>"
    )
