"""What every view says about a token: who proposed it, what the target said of it, how it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import exp

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
    Iteration,
    Trace,
)
from phrasekit.trace.visible import token_text, visible

# What the target said of a proposed token; OWN is the target's own, which nobody proposed.
KEPT, OWN, MISTAKE, LATE, OFF, ASIDE = "kept", "own", "mistake", "late", "off", "aside"
MARKS = {KEPT: "✓", OWN: "", MISTAKE: "✗", LATE: "=", OFF: "≠", ASIDE: ""}
VERDICTS = {
    KEPT: "kept",
    OWN: "the target's own",
    MISTAKE: "first mistake",
    LATE: "right, but after the mistake",
    OFF: "wrong after the mistake",
    ASIDE: "a window row, never emitted",
}
ORIGINS = {
    DRAFT: "draft model",
    PHRASE: "phrase while drafting",
    SUFFIX: "phrase as a suffix",
    LOOKUP: "copied from the context",
    RETRIEVED: "retrieved while drafting",
    REJECTED: "retrieved from rejected drafts",
    GUIDE: "retrieved for the target",
    TARGET: "target's own",
    WINDOW: "lookahead window",
}
SOURCES = {
    "window": "lookahead window",
    "committed": "committed text",
    "discarded": "rejected tail",
    "suffix": "repaired suffix",
    "": "from before, or not recorded",
}
RESERVED = "«»¦"
LONGEST = 24  # columns of a token in a picture


@dataclass(frozen=True, slots=True)
class Token:
    """One token as a view shows it.

    Attributes:
        id: token id.
        text: as it reads, not made safe for anything; `#id` where the trace does not know it.
        kind: who proposed it, one of `phrasekit.trace.records.KINDS`.
        verdict: what the target said, one of `VERDICTS`.
        position: its place in the whole sequence, prompt included.
        phrase: pool phrase behind it, or −1.
        probability: of an emitted token by the model itself, before temperature and processors; None where it
            was not recorded.
    """

    id: int
    text: str
    kind: str
    verdict: str
    position: int
    phrase: int = -1
    probability: float | None = None


def verdict_of(iteration: Iteration, node: int) -> str:
    """What the target said of a proposed node."""
    tree = iteration.tree
    parent = tree.parents[node]
    if tree.kinds[node] == WINDOW:
        return ASIDE
    if node in iteration.path:
        return KEPT
    if iteration.picks[parent + 1] == tree.tokens[node]:
        return LATE
    return MISTAKE if parent < 0 or parent in iteration.path else OFF


def node_token(iteration: Iteration, node: int, texts: Mapping[int, str]) -> Token:
    """A node of an iteration's tree."""
    tree = iteration.tree
    return Token(
        id=tree.tokens[node],
        text=token_text(tree.tokens[node], texts),
        kind=tree.kinds[node],
        verdict=verdict_of(iteration, node),
        position=iteration.position + tree.depth(node) - 1,
        phrase=tree.phrases[node],
    )


def emitted_tokens(iteration: Iteration, texts: Mapping[int, str]) -> tuple[Token, ...]:
    """What an iteration added to the text."""
    found = []
    for place, (token, kind) in enumerate(zip(iteration.emitted, iteration.kinds, strict=True)):
        own = place >= len(iteration.path)
        found.append(
            Token(
                id=token,
                text=token_text(token, texts),
                kind=kind,
                verdict=OWN if own else KEPT,
                position=iteration.position + place,
                phrase=-1 if own else iteration.tree.phrases[iteration.path[place]],
                probability=exp(iteration.logprobs[place]) if iteration.logprobs else None,
            )
        )
    return tuple(found)


def chosen(trace: Trace, number: int | None, default: Callable[[Iteration], float]) -> Iteration:
    """The iteration of that number, counted from 1; without one, the one that `default` rates highest.

    Raises:
        ValueError: there is none of that number, or none at all.
    """
    iterations = trace.iterations
    if not iterations:
        raise ValueError("the trace must have an iteration to show, but got none")
    if number is None:
        return max(iterations, key=default)
    if not 1 <= number <= len(iterations):
        raise ValueError(f"iteration must be from 1 to {len(iterations)}, but got {number}")
    return iterations[number - 1]


def likelihood(probability: float) -> str:
    """A probability with two digits; what is too small for them is said to be so."""
    return f"{probability:.2f}" if probability >= 0.01 else "<0.01"


def source_name(source: str) -> str:
    """What made a phrase, in words."""
    return SOURCES.get(source, source)


def strip(tokens: Iterable[Token]) -> str:
    """Tokens as text: a letter for who proposed them, a mark for the verdict, `d«a¦b» t«c»`."""
    groups = []
    for (kind, verdict), run in groupby(tokens, key=lambda token: (token.kind, token.verdict)):
        mark = "" if verdict in (KEPT, OWN) else MARKS[verdict]
        shown = "¦".join(visible(token.text, keep=LONGEST, reserved=RESERVED) for token in run)
        groups.append(f"{LETTERS.get(kind, '?')}{mark}«{shown}»")
    return " ".join(groups)


def quoted(texts: Iterable[str]) -> str:
    """Token texts as one quotation."""
    return f"«{''.join(visible(text, keep=LONGEST, reserved=RESERVED) for text in texts)}»"


def compact(text: str) -> str:
    """Text on one line with long runs of spaces counted, `⏎·×7`, as tokens of code need it."""
    shown = visible(text, keep=LONGEST)
    run = len(shown) - len(shown.rstrip("·"))
    if run >= 4:
        return f"{shown.rstrip('·')}·×{run}"
    return shown
