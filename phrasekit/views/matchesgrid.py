"""#Match against A as a grid of HTML: a column per iteration that opens it, a row per draft position."""

from __future__ import annotations

from collections.abc import Iterable

from phrasekit.views.html import Html, lead
from phrasekit.views.link import opens
from phrasekit.views.matches import SIGNS, STATES, Draft, MatchesInfo
from phrasekit.views.tokens import KEPT, LATE, MISTAKE

WORDS = {KEPT: "kept", LATE: "right, but after the first mistake", MISTAKE: "wrong"}


def draw_matches_grid(info: MatchesInfo, theme: str = "auto") -> Html:  # noqa: ARG001  (its style follows)
    """Numbers of iterations, #Match and A of each, then its draft from the first position down."""
    deepest = max((draft.drafted for draft in info.drafts), default=0)
    head = "".join(
        f'<th scope="col">{opens(info.key, draft.iteration, str(draft.iteration + 1))}</th>'
        for draft in info.drafts
    )
    sums = "".join(
        _line(name, (f"<td>{getattr(draft, field)}</td>" for draft in info.drafts))
        for name, field in (("kept (A)", "accepted"), ("#Match", "matches"))
    )
    rows = "".join(
        _line(str(place + 1), (_cell(info, draft, place) for draft in info.drafts))
        for place in range(deepest)
    )
    key = ", ".join(f"{SIGNS[state]} {WORDS[state]}" for state in STATES if state)
    return Html(
        f"{lead(info.sentence)}"
        '<div class="pk-scroll"><table class="pk-grid pk-matches"><thead><tr><th scope="row">iteration</th>'
        f"{head}</tr></thead><tbody>{sums}{rows}</tbody></table></div>"
        f'<p class="pk-note">{key}; a row is a position of the draft.</p>'
    )


def _line(name: str, cells: Iterable[str]) -> str:
    return f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'


def _cell(info: MatchesInfo, draft: Draft, place: int) -> str:
    state = draft.states[place] if place < draft.drafted else ""
    if not state:
        return "<td></td>"
    sign = opens(info.key, draft.iteration, SIGNS[state])
    return f'<td class="pk-m {state}" title="{WORDS[state]}">{sign}</td>'
