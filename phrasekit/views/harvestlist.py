"""The picture of the harvest: positions, what the target says, the draft; then what grew of it."""

from __future__ import annotations

from phrasekit.trace.records import Trace
from phrasekit.views.escape import escape
from phrasekit.views.harvest import MOST, Grown, Harvest, HarvestInfo, harvest_info, more, others
from phrasekit.views.html import Html, chip, chips, lead, plain, ribbon
from phrasekit.views.link import opens
from phrasekit.views.tokens import KEPT, LATE, MARKS, Token, source_name
from phrasekit.views.view import View


def draw_harvest(info: HarvestInfo, theme: str = "auto") -> Html:  # noqa: ARG001  (its style follows)
    """A section per iteration: positions, what the target says, the draft; then the phrases."""
    body = "".join(_section(harvest, info.key) for harvest in info.harvests)
    notes = "".join(f'<p class="pk-note">{line}</p>' for line in more(info))
    return Html(f"{lead(info.sentence)}{body}{notes}")


def harvest_view(trace: Trace, *, most: int = MOST) -> View:
    """What was rejected, what became a phrase, where it was used later; see `harvest_info`."""
    return View(harvest_info(trace, most=most), draw_harvest)


def _section(harvest: Harvest, key: str) -> str:
    phrases = "".join(_phrase(grown, key) for grown in harvest.phrases)
    rest = "".join(f'<p class="pk-note">{escape(line)}</p>' for line in others(harvest))
    title = opens(key, harvest.iteration, f"Iteration {harvest.iteration + 1}")
    return f'<h4>{title}</h4>{_draft(harvest)}<ul class="pk-list">{phrases}</ul>{rest}'


def _draft(harvest: Harvest) -> str:
    """Positions, the target's words, marks and the draft, a column per position."""
    if not harvest.draft:
        return '<p class="pk-note">No draft: guesses were verified directly.</p>'
    head = "".join(f'<th scope="col">{token.position}</th>' for token in harvest.draft)
    said = "".join(
        f"<td>{_said(token, text)}</td>" for token, text in zip(harvest.draft, harvest.says, strict=True)
    )
    marks = "".join(
        f'<td class="pk-mark {token.verdict}">{MARKS[token.verdict]}</td>' for token in harvest.draft
    )
    drafted = "".join(f"<td>{chip(token, breaks=False)}</td>" for token in harvest.draft)
    rows = (("target says", said), ("", marks), ("draft", drafted))
    body = "".join(f'<tr><th scope="row">{name}</th>{cells}</tr>' for name, cells in rows)
    return (
        '<div class="pk-scroll"><table class="pk-grid pk-wide"><thead><tr><th scope="col">position</th>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _said(token: Token, text: str | None) -> str:
    """The target's word, bold where the draft said something else."""
    soft = " pk-soft" if token.verdict == LATE else ""
    return "" if text is None else plain(text, f"pk-said{soft}")


def _fate(grown: Grown, key: str) -> str:
    """Where it was used, each place a link."""
    if not grown.life.wins:
        return escape(grown.fate)
    return ", ".join(
        f"{opens(key, use.iteration, f'used in {use.iteration + 1}')}, {use.kept} of {use.proposed} kept"
        for use in grown.life.wins
    )


def _phrase(grown: Grown, key: str) -> str:
    """Key and ribbon; the ribbon is underlined where tokens of it entered the text."""
    verdict = KEPT if grown.life.kept else "idle"
    source = escape(source_name(grown.life.source), keep=40)
    was = f'{chips(grown.was)}<span class="pk-arrow">became</span>' if grown.was else ""
    return (
        f'<li>{plain(grown.texts[0])}<span class="pk-arrow">→</span>{was}{ribbon(grown.texts[1:], verdict)} '
        f'<span class="pk-note">{source}: {_fate(grown, key)}</span></li>'
    )
