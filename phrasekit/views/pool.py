"""The phrase pool over a run: how it grew, whether lookups hit, and which phrases saved tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from phrasekit.trace.records import Iteration, Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import token_text, visible
from phrasekit.views.link import run_key
from phrasekit.views.phrases import Life, held_after, levels, lives, pools
from phrasekit.views.table import Table
from phrasekit.views.tokens import compact, quoted, source_name

OLDER = ""  # phrases whose entry the trace does not tell: from before the run, or not recorded
ORDER = (OLDER, "window", "committed", "discarded", "suffix")
USED, UNFIT, MISS = "used", "unfit", "miss"  # a phrase fitted; some came, none fitted; none came
RECENT = 12  # lookups in the rolling hit rate


@dataclass(frozen=True, slots=True)
class Growth:
    """The pool after an iteration.

    Attributes:
        iteration: 0-based number.
        sizes: phrases held, by source; "" those whose entry the trace does not tell.
        inserted: new phrases in this iteration.
        evicted: phrases that had to go in it.
    """

    iteration: int
    sizes: Mapping[str, int]
    inserted: int
    evicted: int

    @property
    def size(self) -> int:
        """Phrases held."""
        return sum(self.sizes.values())


@dataclass(frozen=True, slots=True)
class Lookup:
    """Lookups of one forward.

    Attributes:
        iteration: 0-based number of the target's iteration.
        place: when within the iteration, from 0 to 1.
        side: "draft" or "target".
        outcome: "used", "unfit" or "miss".
        recent: share of the last lookups that returned a phrase.
    """

    iteration: int
    place: float
    side: str
    outcome: str
    recent: float


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase with its texts.

    Attributes:
        life: what became of it.
        key: text of its key token.
        followers: texts of the rest.
    """

    life: Life
    key: str
    followers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """The pool of a run.

    Attributes:
        growth: an entry per iteration.
        lookups: an entry per forward that asked the pool.
        top: phrases that saved tokens, the best first.
        sources: phrases of the run by source, and of them those that saved a token.
        saved: emitted tokens that came out of the pool.
        emitted: emitted tokens.
        winners: phrases that saved a token, shown or not.
        key: of the run, for links to its stepper; "" for none.
    """

    growth: tuple[Growth, ...]
    lookups: tuple[Lookup, ...]
    top: tuple[Phrase, ...]
    sources: Mapping[str, tuple[int, int]]
    saved: int
    emitted: int
    winners: int
    key: str = ""

    @property
    def sources_seen(self) -> tuple[str, ...]:
        """Sources in the order they are stacked."""
        seen = dict.fromkeys(source for step in self.growth for source, size in step.sizes.items() if size)
        return (*(source for source in ORDER if source in seen), *(s for s in seen if s not in ORDER))

    @property
    def evicted(self) -> int:
        """Phrases that had to go."""
        return sum(step.evicted for step in self.growth)

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        if not self.lookups and not any(step.size for step in self.growth):
            return "This run used no phrase pool."
        new = sum(step.inserted for step in self.growth)
        return (
            f"In {counted(len(self.growth), 'iteration')} the pool took in {counted(new, 'phrase')} and "
            f"lost {self.evicted}; {counted(self.winners, 'phrase')} put {self.saved} of the {self.emitted} "
            "tokens into the text."
        )

    def table(self) -> Table:
        """A row per phrase that saved tokens."""
        names = (
            "phrase",
            "after",
            "then",
            "source",
            "born",
            "tried",
            "used",
            "tokens kept",
            "where",
            "evicted",
        )
        return Table(names, tuple(_phrase_row(phrase) for phrase in self.top))

    def text(self) -> str:
        """Sources, lookups, then the best phrases."""
        outcomes = Counter(lookup.outcome for lookup in self.lookups)
        lines = [self.sentence]
        for source, (total, won) in self.sources.items():
            name = visible(source_name(source), spaces=False, keep=40)
            lines.append(f"{name}: {counted(total, 'phrase')}, {won} saved tokens")
        if self.lookups:
            lines.append(
                f"lookups: {outcomes[USED]} fitted, {outcomes[UNFIT]} tried and none fitted, "
                f"{outcomes[MISS]} found nothing"
            )
        return "\n".join(lines + [str(self.table())] * bool(self.top))


def pool_info(trace: Trace, *, top: int = 12) -> PoolInfo:
    """Follow the pool through a run.

    Args:
        trace: the run.
        top: phrases to list at most.

    Raises:
        ValueError: `top` is negative.
    """
    if top < 0:
        raise ValueError(f"top must be 0 or more, but got {top}")
    every = lives(trace)
    winners = sorted((life for life in every if life.kept), key=lambda life: (-life.kept, life.id))
    return PoolInfo(
        growth=tuple(_growth(trace, {life.id: life for life in every})),
        lookups=tuple(_lookups(trace.iterations)),
        top=tuple(_phrase(life, trace.texts) for life in winners[:top]),
        sources=_sources(every),
        saved=sum(life.kept for life in winners),
        emitted=len(trace.tokens),
        winners=len(winners),
        key=run_key(trace),
    )


def _growth(trace: Trace, every: Mapping[int, Life]) -> Iterator[Growth]:
    """What of a pool's size the entries in the trace do not explain was there before, or is not recorded."""
    held: Counter[str] = Counter()
    older = 0
    for iteration in trace.iterations:
        records = list(pools(iteration))
        held.update(record.source for pool in records for record in pool.inserted)
        gone = [every[number] for pool in records for number in pool.evicted]
        held.subtract(life.source for life in gone if life.born >= 0)
        older = max(0, held_after(iteration, sum(held.values()) + older) - sum(held.values()))
        yield Growth(
            iteration=iteration.index,
            sizes={OLDER: older} | {source: count for source, count in held.items() if count > 0},
            inserted=sum(len(pool.inserted) for pool in records),
            evicted=len(gone),
        )


def _lookups(iterations: Sequence[Iteration]) -> Iterator[Lookup]:
    recent: list[bool] = []
    for iteration in iterations:
        asked = [level for level in levels(iteration) if level.pool.lookups]
        for place, level in enumerate(asked):
            recent = [*recent, level.pool.hits > 0][-RECENT:]
            side = "target" if level is iteration else "draft"
            yield Lookup(
                iteration.index, place / len(asked), side, _outcome(level), sum(recent) / len(recent)
            )


def _outcome(level: Iteration) -> str:
    """Whether the forward that asked took a token off a phrase."""
    if not level.pool.hits:
        return MISS
    taken = any(level.tree.phrases[node] >= 0 and node not in level.tree.trunk for node in level.path)
    return USED if taken else UNFIT


def _sources(every: Sequence[Life]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for life in every:
        source = life.source if life.born >= 0 else OLDER
        total, won = found.get(source, (0, 0))
        found[source] = (total + 1, won + bool(life.kept))
    return dict(sorted(found.items(), key=lambda entry: -entry[1][0]))


def _phrase(life: Life, texts: Mapping[int, str]) -> Phrase:
    shown = [token_text(token, texts) for token in life.tokens] or [f"phrase {life.id}"]
    return Phrase(life, shown[0], tuple(shown[1:]))


def _phrase_row(phrase: Phrase) -> tuple[str | int | None, ...]:
    life = phrase.life
    return (
        life.id,
        compact(phrase.key),
        quoted(phrase.followers),
        source_name(life.source),
        None if life.born < 0 else life.born + 1,
        len(life.tries),
        len(life.wins),
        life.kept,
        ", ".join(f"iteration {use.iteration + 1} at {use.position}" for use in life.wins),
        None if life.evicted < 0 else life.evicted + 1,
    )
