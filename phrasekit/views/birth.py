"""Where in a run a phrase was read off: tokens that were refused, the lookahead window, or the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phrasekit.trace.records import SUFFIX, Iteration, Trace
from phrasekit.trace.visible import token_text
from phrasekit.views.phrases import Life, levels
from phrasekit.views.tokens import Token, node_token

Texts = Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """Proposed tokens and what the target says at their positions; the phrase is a stretch of what it says.

    Attributes:
        tokens: with the target's verdicts.
        says: texts of the target's own tokens there, None where it gave none.
        key: place of the phrase's key in `says`; −1 for the token before them.
        end: place behind the phrase's last token.
    """

    tokens: tuple[Token, ...]
    says: tuple[str | None, ...]
    key: int
    end: int


@dataclass(frozen=True, slots=True)
class Column:
    """The lookahead window; the phrase is a column of it, and the token that the model gave below it.

    Attributes:
        rows: texts by level, from the top; the last committed token begins the first one.
        at: place of the phrase in every row.
        last: text below the column.
    """

    rows: tuple[tuple[str, ...], ...]
    at: int
    last: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of prompt and text.

    Attributes:
        start: position of its first token, the key.
        end: position behind its last token.
    """

    start: int
    end: int


def birth_of(trace: Trace, life: Life) -> Refused | Column | Passage | None:
    """What a phrase was read off, or None where the trace does not tell."""
    iteration = next((one for one in trace.iterations if one.index == life.born), None)
    if iteration is None or not life.tokens:
        return None
    level = next((one for one in levels(iteration) if _inserts(one, life.id)), iteration)
    if life.source == "discarded":
        return _tail(level, life.tokens, trace.texts)
    if life.source == "suffix":
        return _repair(level, life.tokens, trace.texts)
    if life.source == "window":
        return _column(level, life.tokens, trace.texts)
    return _passage(trace, iteration, life.tokens) if life.source == "committed" else None


def repaired(iteration: Iteration, tokens: tuple[int, ...]) -> tuple[int, ...]:
    """Nodes of the suffix whose verdicts a phrase is made of; () where there is none."""
    tree, followers = iteration.tree, tokens[1:]
    for branch in (branch for branch in tree.branches if branch.kind == SUFFIX):
        proposed = tuple(tree.tokens[node] for node in branch.nodes)
        if _verdicts(iteration, branch.nodes)[: len(followers)] == followers != proposed[: len(followers)]:
            return branch.nodes
    return ()


def _inserts(level: Iteration, phrase: int) -> bool:
    return any(record.id == phrase for record in level.pool.inserted)


def _tail(iteration: Iteration, tokens: tuple[int, ...], texts: Texts) -> Refused | None:
    """A run of the draft behind its first mistake, and the verdict before it as the key."""
    nodes, size = iteration.tree.trunk, len(tokens)
    said = _verdicts(iteration, nodes)
    drafted = tuple(iteration.tree.tokens[node] for node in nodes)
    for key in range(len(nodes) - size + 1):
        end = key + size
        if said[key:end] == tokens and drafted[key + 1 : end] == tokens[1:] and drafted[key] != tokens[0]:
            return _refused(iteration, nodes, key, end, texts)
    return None


def _repair(iteration: Iteration, tokens: tuple[int, ...], texts: Texts) -> Refused | None:
    """A suffix with the target's words in place, and the draft's last token before it."""
    nodes = repaired(iteration, tokens)
    if not nodes:
        return None
    lead = iteration.tree.trunk[-1:]
    return _refused(iteration, (*lead, *nodes), len(lead) - 1, len(lead) + len(tokens) - 1, texts)


def _refused(iteration: Iteration, nodes: tuple[int, ...], key: int, end: int, texts: Texts) -> Refused:
    said = (None if token < 0 else token_text(token, texts) for token in _verdicts(iteration, nodes))
    return Refused(tuple(node_token(iteration, node, texts) for node in nodes), tuple(said), key, end)


def _verdicts(iteration: Iteration, nodes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(iteration.picks[iteration.tree.parents[node] + 1] for node in nodes)


def _column(iteration: Iteration, tokens: tuple[int, ...], texts: Texts) -> Column | None:
    if not iteration.window:
        return None
    rows = ((iteration.root, *iteration.window[0]), *iteration.window[1:])
    for at, column in enumerate(zip(*rows, strict=False)):
        if column == tokens[:-1]:
            told = tuple(tuple(token_text(token, texts) for token in row) for row in rows)
            return Column(told, at, token_text(tokens[-1], texts))
    return None


def _passage(trace: Trace, iteration: Iteration, tokens: tuple[int, ...]) -> Passage | None:
    """The last place up to the iteration's end, as the phrase was new in it."""
    text = (*trace.prompt, *trace.tokens)[: iteration.position + len(iteration.emitted)]
    for start in range(len(text) - len(tokens), -1, -1):
        if text[start : start + len(tokens)] == tokens:
            return Passage(start, start + len(tokens))
    return None
