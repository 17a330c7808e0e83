"""Tokens drawn by who proposed them: a letter and brackets always, colour where there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.text import Text

from phrasekit.cli.terminal import readable
from phrasekit.trace.records import (
    DRAFT,
    GUIDE,
    LETTERS,
    LOOKUP,
    PHRASE,
    REJECTED,
    RETRIEVED,
    SUFFIX,
    TARGET,
    WINDOW,
    Trace,
)
from phrasekit.trace.visible import token_text, visible

# The letters of `phrasekit.trace.render`, and the hues of every view: sky, green, orange, blue.
# What is found has one hue; letters tell where.
STYLES = {
    DRAFT: "color(74)",
    PHRASE: "color(36)",
    SUFFIX: "color(172)",
    LOOKUP: "color(175)",
    WINDOW: "dim",
    RETRIEVED: "color(175)",
    REJECTED: "italic color(175)",
    GUIDE: "underline color(175)",
    TARGET: "bold color(32)",
}
MEANINGS = {
    DRAFT: "draft",
    PHRASE: "pool phrase in the draft",
    SUFFIX: "pool phrase behind it",
    LOOKUP: "copied",
    RETRIEVED: "retrieved while drafting",
    REJECTED: "retrieved from rejected drafts",
    GUIDE: "retrieved for the target",
    TARGET: "target",
}
RESERVED = "«»¦"
LONGEST = 40  # columns of one token

Tokens = Iterable[tuple[str, int]]  # who proposed it, token id


def strip(tokens: Tokens, texts: Mapping[int, str]) -> Text:
    """Tokens side by side, neighbours of one origin in one pair of brackets: `d«a¦b» t«c»`."""
    groups = []
    for kind, run in groupby(tokens, key=lambda token: token[0]):
        shown = "¦".join(
            visible(token_text(token, texts), keep=LONGEST, reserved=RESERVED) for _, token in run
        )
        groups.append(Text(f"{LETTERS.get(kind, '?')}«{shown}»", style=STYLES.get(kind, "")))
    return Text(" ").join(groups)


def legend() -> Text:
    """What the letters and colours mean."""
    entries = [Text(f"{LETTERS[kind]} {meaning}", style=STYLES[kind]) for kind, meaning in MEANINGS.items()]
    return Text.assemble("tokens: ", Text(" · ").join(entries))


def story(trace: Trace) -> Text:
    """The whole text, prompt dim, every generated token in the colour of who proposed it."""
    told = Text("".join(_lines(trace.prompt, trace.texts)), style="dim")
    for iteration in trace.iterations:
        for kind, token in zip(iteration.kinds, iteration.emitted, strict=True):
            told.append(readable(token_text(token, trace.texts)), style=STYLES.get(kind, ""))
    return told


def _lines(tokens: Sequence[int], texts: Mapping[int, str]) -> Iterable[str]:
    return (readable(token_text(token, texts)) for token in tokens)
