"""The best phrases of a pool as a list: each unfolds to where it was used, and leads there."""

from __future__ import annotations

from phrasekit.trace.summary import counted
from phrasekit.views.escape import escape
from phrasekit.views.html import Html, lead, plain, ribbon
from phrasekit.views.link import opens
from phrasekit.views.phrases import Use
from phrasekit.views.pool import Phrase, PoolInfo
from phrasekit.views.tokens import source_name

NAMED = 12  # uses of one phrase


def draw_pool_list(info: PoolInfo, theme: str = "auto") -> Html:  # noqa: ARG001  (its style follows)
    """A line per phrase that put tokens into the text, a bar for how many."""
    most = max((phrase.life.kept for phrase in info.top), default=1)
    rows = "".join(_phrase(info, phrase, most) for phrase in info.top)
    return Html(f'{lead(info.sentence)}<div class="pk-phrases">{rows}</div>')


def _phrase(info: PoolInfo, phrase: Phrase, most: int) -> str:
    life = phrase.life
    bar = f'<span class="pk-bar" style="width:{6 * 16 * life.kept // most}px"></span>'
    uses = "".join(f"<li>{_use(info, use)}</li>" for use in life.wins[:NAMED])
    left = len(life.wins) - NAMED
    more = f"<li>and {left} more</li>" if left > 0 else ""
    return (
        f'<details><summary>{plain(phrase.key)}<span class="pk-arrow">→</span>{ribbon(phrase.followers)}'
        f'<span class="pk-kept">{bar}{counted(life.kept, "token")} kept, '
        f"{escape(source_name(life.source), keep=40)}</span></summary>"
        f'<ul class="pk-list">{uses}{more}</ul></details>'
    )


def _use(info: PoolInfo, use: Use) -> str:
    where = opens(info.key, use.iteration, f"iteration {use.iteration + 1}")
    return f"{where} at position {use.position}: {use.kept} of {use.proposed} kept"
