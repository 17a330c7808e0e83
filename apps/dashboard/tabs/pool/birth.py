"""How a phrase was born, in words and with the piece of the run that it was read off."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.tabs.pool.excerpt import excerpt
from phrasekit.trace import Trace
from phrasekit.trace.records import TARGET
from phrasekit.views.birth import Column, Passage, Refused, birth_of
from phrasekit.views.escape import escape
from phrasekit.views.html import chip, plain
from phrasekit.views.phrases import Life
from phrasekit.views.tokens import LATE, MARKS, MISTAKE, OFF, OWN, VERDICTS, Token, compact, source_name

ORIGINS = {
    "window": "the lookahead window",
    "committed": "the committed text",
    "discarded": "the rejected tail",
    "suffix": "a repaired suffix",
}
AROUND = 2  # positions beside what tells, and columns of a window
LETTER = 8  # pixels of a token's letter
FITS, NARROW = 400, 290  # pixels that a row of positions may take: beside the table, on a phone


def born(trace: Trace, life: Life) -> str:
    """A heading, why, and the place itself, as markup; for a phrase whose birth the run tells."""
    found = birth_of(trace, life)
    source = origin(life.source)
    if isinstance(found, Passage) and found.end <= len(trace.prompt):
        source = "the prompt"
    return f"<h3>Born in iteration {life.born + 1}, from {source}</h3>{_told(trace, life, found)}"


def origin(source: str) -> str:
    """What made a phrase, in words that stand after "from"."""
    return ORIGINS.get(source) or escape(source_name(source) if source else "an unknown source", keep=40)


def _told(trace: Trace, life: Life, found: Refused | Column | Passage | None) -> str:
    if isinstance(found, Refused):
        why = _tail(found) if life.source == "discarded" else _repair(found)
        return f"<p>{why}</p>{_positions(found, 'draft' if life.source == 'discarded' else 'proposed')}"
    if isinstance(found, Column):
        return (
            "<p>A column of the lookahead window read this way: the boxed token is the key, and the model "
            f"gave the last one in this forward. Nobody had verified it yet.</p>{_window(found)}"
        )
    if isinstance(found, Passage):
        return f"<p>{_passage(trace, found)}</p>{excerpt(trace, found.start, found.end)}"
    return "<p>Where in that iteration it stood was not recorded.</p>"


def _tail(found: Refused) -> str:
    at = next((at for at, token in enumerate(found.tokens) if token.verdict == MISTAKE), found.key)
    return (
        f"The draft went wrong at position {found.tokens[at].position}, where it wrote "
        f"{_wrote(found, at)} and the target says {_own(found, at)}. Behind that the two agree again: the "
        "boxed token of the target is the key, and what both say after it is the phrase."
    )


def _repair(found: Refused) -> str:
    at = next((at for at, token in enumerate(found.tokens) if token.verdict in (MISTAKE, OFF)), found.key + 1)
    return (
        "All of the draft was right, but the phrase put behind it was not: at position "
        f"{found.tokens[at].position} it has {_wrote(found, at)} where the target says {_own(found, at)}. "
        "With the target's words in place it is a new phrase."
    )


def _wrote(found: Refused, at: int) -> str:
    return chip(found.tokens[at], breaks=False)


def _own(found: Refused, at: int) -> str:
    said = found.says[at]
    if said is None:
        return "nothing"
    return chip(Token(-1, said, TARGET, OWN, found.tokens[at].position), breaks=False)


def _passage(trace: Trace, found: Passage) -> str:
    where = f"positions {found.start} to {found.end - 1}"
    size = found.end - found.start
    kept = f"every run of {size} tokens becomes a phrase, its first token the key."
    if found.end <= len(trace.prompt):
        return f"The prompt has these tokens in this order, at {where}: {kept}"
    return f"The target wrote these tokens in this order, at {where}: {kept}"


def _positions(found: Refused, proposed: str) -> str:
    """A column per position: what the target says, the mark, what was proposed."""
    wrong = next((at for at, token in enumerate(found.tokens) if token.verdict == MISTAKE), found.key)
    places = range(max(0, min(wrong, found.key) - AROUND), min(len(found.tokens), found.end + AROUND))
    wide = sum(LETTER * max(len(_short(found, at)), 2) + 10 for at in places) + 76
    fit = "" if wide <= NARROW else " turns" if wide <= FITS else " turned"
    names = ("position", "target says", "verdict", proposed)
    heads = "".join(f'<span role="columnheader">{name}</span>' for name in names)
    rows = "".join(f'<div role="row">{"".join(_cells(found, at))}</div>' for at in places)
    return (
        f'<div class="positions{fit}" role="table" aria-label="What the target says, and what was proposed">'
        f'<div role="row">{heads}</div>{rows}</div>'
    )


def _short(found: Refused, at: int) -> str:
    return max(compact(found.says[at] or ""), compact(found.tokens[at].text), key=len)


def _cells(found: Refused, at: int) -> Iterator[str]:
    token, said = found.tokens[at], found.says[at]
    part = " key" if at == found.key else " in" if found.key < at < found.end else ""
    soft = " pk-soft" if token.verdict in (LATE, OFF) else ""
    word = "" if said is None else plain(said, f"pk-said{soft}")
    verdict, mark = VERDICTS[token.verdict], MARKS[token.verdict]
    yield f'<span role="rowheader" class="at">{token.position}</span>'
    yield f'<span role="cell" class="says{part}">{word}</span>'
    yield f'<span role="cell" class="mark {token.verdict}" aria-label="{verdict}">{mark}</span>'
    yield f'<span role="cell">{chip(token, breaks=False)}</span>'


def _window(found: Column) -> str:
    """The columns around the phrase, its own one marked."""
    low = max(0, found.at - AROUND)
    rows = []
    for number, row in enumerate((*found.rows, ())):
        texts = row[low : found.at + AROUND + 1] if row else ("",) * (found.at - low) + (found.last,)
        cells = "".join(
            f'<td class="{("key" if number == 0 else "in") if low + place == found.at else ""}">'
            f"{plain(text, 'pk-said pk-soft') if text else ''}</td>"
            for place, text in enumerate(texts)
        )
        rows.append(f'<tr><th scope="row">{f"level {number}" if row else "picked"}</th>{cells}</tr>')
    return f'<table class="levels">{"".join(rows)}</table>'
