"""The life of every pool phrase in a run: where it came from, where it was tried, what it brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from phrasekit.trace.records import Iteration, PhraseRecord, PoolRecord, Trace


@dataclass(frozen=True, slots=True)
class Use:
    """A phrase that was proposed to the target in an iteration.

    Attributes:
        iteration: 0-based number.
        position: of its first token.
        nodes: its tokens in the tree that the target verified.
        kept: how many of them, from the first on, entered the text.
        kind: what its tokens were there, one of `phrasekit.trace.records.KINDS`: PHRASE in the draft,
            SUFFIX behind it.
    """

    iteration: int
    position: int
    nodes: tuple[int, ...]
    kept: int
    kind: str

    @property
    def proposed(self) -> int:
        """How many of its tokens the target verified."""
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class Life:
    """What became of one phrase.

    Attributes:
        id: its number in the pool.
        tokens: key and followers; empty where the trace tells only the number.
        source: what made it; "" where the trace does not tell.
        born: 0-based iteration in which it entered the pool, −1 where the trace does not tell: it was there
            before the run, or what put it there was not recorded.
        tries: iterations in which a lookup returned it, on either side, one entry per lookup.
        uses: where it was proposed to the target.
        evicted: iteration in which it had to go, −1 for none.
    """

    id: int
    tokens: tuple[int, ...]
    source: str
    born: int
    tries: tuple[int, ...]
    uses: tuple[Use, ...]
    evicted: int

    @property
    def kept(self) -> int:
        """Tokens that entered the text out of it: what it saved."""
        return sum(use.kept for use in self.uses)

    @property
    def wins(self) -> tuple[Use, ...]:
        """Uses that brought at least one token."""
        return tuple(use for use in self.uses if use.kept)


@dataclass(slots=True)
class _Story:
    tokens: tuple[int, ...] = ()
    source: str = ""
    born: int = -1
    tries: list[int] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    evicted: int = -1


def levels(iteration: Iteration) -> Iterator[Iteration]:
    """An iteration and those of the decoders below it, in the order they ran."""
    for inner in iteration.draft:
        yield from levels(inner)
    yield iteration


def pools(iteration: Iteration) -> Iterator[PoolRecord]:
    """What the pool did in an iteration, on all sides."""
    return (level.pool for level in levels(iteration))


def held_after(iteration: Iteration, before: int) -> int:
    """Phrases held after an iteration: what the last pool record says, or `before` where none does."""
    return next((pool.size for pool in reversed(list(pools(iteration))) if pool.size), before)


def lives(trace: Trace) -> tuple[Life, ...]:
    """Every phrase that the run names, by number.

    Pools of different decoders are told apart by nothing in a trace, so a run is taken to have one.
    """
    stories: dict[int, _Story] = {}
    for iteration in trace.iterations:
        for pool in pools(iteration):
            _read_pool(stories, pool, iteration.index)
        for phrase, use in _uses(iteration):
            stories.setdefault(phrase, _Story()).uses.append(use)
    return tuple(
        Life(
            number,
            story.tokens,
            story.source,
            story.born,
            tuple(story.tries),
            tuple(story.uses),
            story.evicted,
        )
        for number, story in sorted(stories.items())
    )


def _read_pool(stories: dict[int, _Story], pool: PoolRecord, at: int) -> None:
    for record in pool.retrieved:
        _named(stories, record).tries.append(at)
    for record in pool.inserted:
        _named(stories, record).born = at
    for number in pool.evicted:
        stories.setdefault(number, _Story()).evicted = at


def _named(stories: dict[int, _Story], record: PhraseRecord) -> _Story:
    story = stories.setdefault(record.id, _Story())
    story.tokens = story.tokens or record.tokens
    story.source = story.source or record.source
    return story


def _uses(iteration: Iteration) -> Iterator[tuple[int, Use]]:
    """Phrases in the tree that the target verified: in the draft, then as branches."""
    tree = iteration.tree
    kept = set(iteration.path[: len(iteration.emitted)])
    for phrase, nodes in _runs(tree.phrases, tree.trunk):
        yield phrase, _use(iteration, nodes, kept, tree.kinds[nodes[0]])
    last = iteration.path[-1] if iteration.path else -1
    taken = False
    for branch in tree.branches:
        if branch.phrase < 0 or not branch.nodes:
            continue
        wins = not taken and last in branch.nodes
        taken = taken or wins
        yield branch.phrase, _use(iteration, branch.nodes, kept if wins else set(), branch.kind)


def _use(iteration: Iteration, nodes: tuple[int, ...], kept: set[int], kind: str) -> Use:
    tree = iteration.tree
    won = sum(node in kept and tree.phrases[node] >= 0 for node in nodes)
    return Use(iteration.index, iteration.position + tree.depth(nodes[0]) - 1, nodes, won, kind)


def _runs(phrases: tuple[int, ...], trunk: Iterable[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Neighbouring draft tokens off one phrase."""
    run: list[int] = []
    for node in trunk:
        if run and phrases[run[-1]] != phrases[node]:
            yield from _named_run(phrases, run)
            run = []
        run.append(node)
    yield from _named_run(phrases, run)


def _named_run(phrases: tuple[int, ...], run: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    if run and phrases[run[0]] >= 0:
        yield phrases[run[0]], tuple(run)
