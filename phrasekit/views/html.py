"""HTML that stands alone: token chips, frames and their style, without a script or a network."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from pathlib import Path

from phrasekit.views.escape import escape
from phrasekit.views.theme import DARK, FOUND, LIGHT, MONO, ROLES, SANS, Theme, hue
from phrasekit.views.tokens import KEPT, ORIGINS, OWN, VERDICTS, Token, likelihood

THEME_NAMES = ("auto", "light", "dark")
KEEP = 200  # columns of one token
_PARTS = re.compile(r"\n| +|[^\n ]+")


@dataclass(frozen=True, slots=True)
class Html:
    """A drawing as markup; its style comes with `fragment`."""

    markup: str

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return fragment(self.markup)


def fragment(markup: str, theme: str = "auto") -> str:
    """Markup with the style it needs, to stand in a page of somebody else.

    Raises:
        ValueError: an unknown theme.
    """
    if theme not in THEME_NAMES:
        raise ValueError(
            f"theme must be {', '.join(THEME_NAMES[:-1])} or {THEME_NAMES[-1]}, but got {theme!r}"
        )
    chosen = "" if theme == "auto" else f' data-pk-theme="{theme}"'
    return f'<div class="pk-view"{chosen}><style>{style()}</style>{markup}</div>'


def page(markup: str, title: str, theme: str = "auto") -> str:
    """A whole document."""
    background = {"light": LIGHT.page, "dark": DARK.page}.get(theme, "")
    body = f' style="background:{background}"' if background else ""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title></head><body{body}>{markup}</body></html>"
    )


def lead(sentence: str) -> str:
    """The sentence above a drawing."""
    return f'<p class="pk-lead">{escape(sentence)}</p>'


def details(summary: str, markup: str) -> str:
    """Something folded away."""
    return f'<details class="pk-more"><summary>{escape(summary)}</summary>{markup}</details>'


def chip(token: Token, extra: str = "", *, breaks: bool = True) -> str:
    """One token: hue says who proposed it, line and fill what the target said.

    Args:
        token: to show; spaces in it appear as faint marks that are not copied.
        extra: more classes.
        breaks: whether a line break in it breaks the line.
    """
    likely = "" if token.probability is None else f' style="--p:{100 * token.probability:.0f}%"'
    attributes = f'class="pk-t {ROLES[token.kind]} {token.verdict} {extra}"{likely} title="{_facts(token)}"'
    shown, line = [], ""
    for part in _PARTS.findall(token.text) or [""]:
        if part == "\n":
            line += '<i class="pk-w" data-w="⏎"></i>'
            if breaks:
                shown.append(f"<span {attributes}>{line}</span><br>")
                line, attributes = "", attributes.replace(" pk-first", "")
        else:
            line += _spaces(len(part)) if part.startswith(" ") else escape(part, keep=KEEP)
    return "".join(shown) + (f"<span {attributes}>{line}</span>" if line or not shown else "")


def chips(tokens: Iterable[Token], *, breaks: bool = False) -> str:
    """Tokens side by side; neighbours of one phrase, or found as one, join into a ribbon."""
    shown: list[str] = []
    before: int | str = -1
    for token in tokens:
        joins = token.phrase >= 0 and token.phrase == before
        found = ROLES[token.kind] in FOUND
        joins = joins or (found and before == token.kind)
        first = "pk-first" if (found or token.phrase >= 0) and not joins else ""
        shown.append(chip(token, "pk-cont" if joins else first, breaks=breaks))
        before = token.kind if found else token.phrase
    return "".join(shown)


def plain(text: str, cls: str = "pk-key") -> str:
    """A token that stands for itself: a key, a word the target says."""
    marked = "".join(
        '<i class="pk-w" data-w="⏎"></i>'
        if part == "\n"
        else _spaces(len(part))
        if part.startswith(" ")
        else escape(part, keep=KEEP)
        for part in _PARTS.findall(text)
    )
    return f'<span class="{cls}">{marked or "&nbsp;"}</span>'


def ribbon(texts: Iterable[str], verdict: str = KEPT) -> str:
    """A phrase that stands for itself: what follows its key, underlined where it was kept."""
    joints = chain(["pk-first"], repeat("pk-cont"))
    return "".join(
        f'<span class="pk-t phrase {joint} {verdict}">{plain(text, "pk-in")}</span>'
        for joint, text in zip(joints, texts, strict=False)
    )


def _spaces(count: int) -> str:
    if count < 3:
        return '<i class="pk-w" data-w="·"> </i>' * count
    return f'<i class="pk-w" data-w="·{_subscript(count)}">{" " * count}</i>'


def _subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _facts(token: Token) -> str:
    said = VERDICTS[token.verdict]
    who = said if token.verdict == OWN else f"{ORIGINS[token.kind]}, {said}"
    likely = "" if token.probability is None else f"; p = {likelihood(token.probability)}"
    return escape(f"{token.text!r}: {who}; position {token.position}, id {token.id}{likely}", keep=KEEP)


@cache
def style() -> str:
    """The style sheet, every rule below `.pk-view`."""
    sheet = (Path(__file__).parent / "chips.css").read_text("utf-8")
    return "".join((*_variables(), *_roles(), *(line.strip() for line in sheet.splitlines())))


def _variables() -> Iterable[str]:
    """Colours by theme; "auto" follows the notebook, else the system."""
    light, dark = _declared(LIGHT), _declared(DARK)
    yield f".pk-view{{{light};color-scheme:light;--sans:{SANS};--mono:{MONO}}}"
    system = ".pk-view:not([data-pk-theme])"
    yield f"@media (prefers-color-scheme:dark){{{system}{{{dark};color-scheme:dark}}}}"
    for name, declared in (("light", light), ("dark", dark)):
        lab = f'[data-jp-theme-light="{"true" if name == "light" else "false"}"] {system}'
        own = f'.pk-view[data-pk-theme="{name}"]'
        yield f"{lab},body.vscode-{name} {system},{own}{{{declared};color-scheme:{name}}}"


def _declared(theme: Theme) -> str:
    return ";".join(f"{name}:{value}" for name, value in theme.variables().items())


def _roles() -> Iterable[str]:
    """Fill and lines of chips by who proposed them."""
    for role in dict.fromkeys(ROLES.values()):
        if role == "target":
            continue
        name = hue(role)
        yield f".pk-view .pk-t.{role}{{background:var(--{name}-tint);--hue:var(--{name}-edge)}}"
        yield f".pk-view .pk-t.{role}.{KEPT}{{box-shadow:inset 0 -3px 0 var(--{name}-edge)}}"
        yield f".pk-view .pk-c.{role}{{background:var(--{name}-mark)}}"
    for role in dict.fromkeys(ROLES.values()):
        yield f".pk-view:has(.pk-f-{role}:not(:checked)) .pk-text .pk-t.{role}{{opacity:.22}}"
