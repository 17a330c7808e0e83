"""What became of a phrase later: where the target was offered it, and how much it kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dashboard.tabs.pool.excerpt import excerpt
from dashboard.tabs.pool.lifeline import numbers
from phrasekit.trace import Trace
from phrasekit.trace.records import PHRASE
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import token_text
from phrasekit.views.html import chips, plain
from phrasekit.views.phrases import Life, Use
from phrasekit.views.tokens import node_token

SHOWN = 3  # uses with a piece of text


def uses(trace: Trace, life: Life) -> Iterator[str]:
    """A heading, words and a piece of text per use, as markup; the rest in a sentence."""
    wins = life.wins
    for use in wins[:SHOWN]:
        yield (
            f"<h3>Used in iteration {use.iteration + 1}, {use.kept} of {use.proposed} kept</h3>"
            f"<p>{_how(trace, use)}</p>{excerpt(trace, use.position, use.position + use.kept)}"
        )
    if len(wins) > SHOWN:
        yield f"<p>Also used in {_iterations(use.iteration for use in wins[SHOWN:])}.</p>"
    lost = [use for use in life.uses if not use.kept]
    if lost and not wins:
        yield f"<h3>Used, but thrown away</h3><p>{_lost(lost)}</p>{_refused(trace, lost[0])}"
    elif lost:
        yield f"<p>{_lost(lost)}</p>"
    if not life.uses:
        yield f"<h3>Never used</h3><p>{_unused(life)}</p>"


def _how(trace: Trace, use: Use) -> str:
    kept = "all of them" if use.kept == use.proposed else f"{use.kept} of them"
    kept = "it" if use.proposed == 1 else kept
    offered = counted(use.proposed, "token")
    if use.kind == PHRASE:
        return f"The draft model read {offered} off it, and the target kept {kept}."
    drafted = any(one.tree.trunk for one in trace.iterations if one.index == use.iteration)
    where = "behind the draft" if drafted else "before the target, without a draft"
    return f"It stood {where}: {offered} more for the same target forward, which kept {kept}."


def _lost(lost: list[Use]) -> str:
    where = _iterations(use.iteration for use in lost)
    return f"Put before the target in {where}, which kept none of its tokens there."


def _refused(trace: Trace, use: Use) -> str:
    """What was proposed, with the target's verdicts, behind the token before it."""
    iteration = next(one for one in trace.iterations if one.index == use.iteration)
    parent = iteration.tree.parents[use.nodes[0]]
    key = iteration.root if parent < 0 else iteration.tree.tokens[parent]
    shown = chips(node_token(iteration, node, trace.texts) for node in use.nodes)
    arrow = '<span class="pk-arrow">→</span>'
    return f'<div class="snip">{plain(token_text(key, trace.texts))}{arrow}{shown}</div>'


def _unused(life: Life) -> str:
    if not life.tries:
        return "No lookup returned it."
    return f"Looked up in {_iterations(life.tries)}, but no token of it came before the target."


def _iterations(places: Iterable[int]) -> str:
    every = set(places)
    return f"iteration{'s' * (len(every) > 1)} {numbers(every)}"
