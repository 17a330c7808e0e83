"""Everything about one iteration on a terminal: sentence, tree, what came out, what the pool did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from phrasekit.cli.comb import comb
from phrasekit.cli.knobs import describe
from phrasekit.cli.terminal import say
from phrasekit.cli.tokens import strip
from phrasekit.trace import Iteration, PhraseRecord, sentence
from phrasekit.trace.records import DRAFT, PHRASE, SERIAL, TARGET, PoolRecord
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import visible

PHRASES_SHOWN = 6
INDENT = 2


def show_iteration(console: Console, iteration: Iteration, texts: Mapping[int, str]) -> None:
    """Show one iteration of the target decoder."""
    console.print()
    console.print(Rule(Text(describe(iteration.knobs), style="dim"), align="left", style="dim"))
    say(console, sentence(iteration), hanging=2 * INDENT)
    # forwards of a parallel round ran beside the target's: what they wrote is not in its tree
    lane = {"": "draft", SERIAL: "after"}.get(iteration.round.schedule, "beside")
    for number, inner in enumerate(iteration.draft, start=1):
        say(console, _draft_line(f"{lane} {number}", inner, texts), indent=INDENT, hanging=2 * INDENT)
    console.print()
    for line in comb(iteration, texts, console.width - INDENT):
        say(console, line, indent=INDENT)
    console.print()
    emitted = strip(zip(iteration.kinds, iteration.emitted, strict=True), texts)
    say(console, Text.assemble("out   ", emitted), indent=INDENT, hanging=6)
    for line in _pool_lines(iteration, texts):
        say(console, line, indent=INDENT, hanging=6)


def _draft_line(label: str, inner: Iteration, texts: Mapping[int, str]) -> Text:
    """What one draft forward delivered, and what it tried."""
    kinds = [DRAFT if kind == TARGET else kind for kind in inner.kinds]  # its own picks are the draft
    guesses = len(inner.tree.branches)
    facts = [f"tried {counted(guesses, 'guess', 'guesses')}"] if guesses else []
    facts.append(counted(inner.forward.rows, "row"))
    delivered = strip(zip(kinds, inner.emitted, strict=True), texts)
    return Text.assemble(f"{label}  ", delivered, (f"  {', '.join(facts)}", "dim"))


def _pool_lines(iteration: Iteration, texts: Mapping[int, str]) -> Iterator[Text]:
    """Lookups by side, then what was learned."""
    sides = {"target": [iteration.pool], "draft": [inner.pool for inner in iteration.draft]}
    asked = [_lookups(side, pools) for side, pools in sides.items() if any(pool.lookups for pool in pools)]
    new = [phrase for pools in sides.values() for pool in pools for phrase in pool.inserted]
    evicted = sum(len(pool.evicted) for pools in sides.values() for pool in pools)
    if not (asked or new or evicted):
        return
    sources = Counter(phrase.source for phrase in new)
    learned = ", ".join(f"{count} {visible(source, keep=20)}" for source, count in sources.items())
    facts = [*asked, f"{len(new)} new{f' ({learned})' if learned else ''}"]
    if evicted:
        facts.append(f"{evicted} evicted")
    size = max(pool.size for pools in sides.values() for pool in pools)
    yield Text(f"pool  {', '.join(facts)}, {counted(size, 'phrase')} held")
    for phrase in new[:PHRASES_SHOWN]:
        yield _phrase(phrase, texts)
    if len(new) > PHRASES_SHOWN:
        yield Text(f"      and {len(new) - PHRASES_SHOWN} more", style="dim")


def _lookups(side: str, pools: list[PoolRecord]) -> str:
    hits, lookups = sum(pool.hits for pool in pools), sum(pool.lookups for pool in pools)
    return f"{side} lookups {hits} of {lookups} hit"


def _phrase(phrase: PhraseRecord, texts: Mapping[int, str]) -> Text:
    tokens = strip([(PHRASE, token) for token in phrase.tokens], texts)
    return Text.assemble("      ", tokens, f" {visible(phrase.source, keep=20)}")
