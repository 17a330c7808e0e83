"""What became of every pool phrase over a run: where from, where tried, what was kept of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from phrasekit.trace.records import Iteration, PhraseRecord
from phrasekit.trace.visible import visible
from phrasekit.views.phrases import held_after, levels
from phrasekit.views.stepper.records import GroupInfo, PhraseInfo, PoolInfo
from phrasekit.views.stepper.tokens import TokenTable

LISTED = 24  # phrases of one source and iteration, guesses of one forward
NAMED = 2  # iterations named in a fate

# Source, title, note; in the order of the list.
_SOURCES = {
    "discarded": (
        "From the rejected tail",
        "Runs of the draft that were right, but after the first mistake.",
    ),
    "suffix": ("From suffixes not used", "Pool phrases with the target's correction in place."),
    "committed": ("From the committed text", "Every start inside the tokens kept."),
    "window": ("From the lookahead window", "Read off its columns."),
}
_ORIGINS = {
    "discarded": "the rejected tail",
    "suffix": "a corrected suffix",
    "committed": "the committed text",
    "window": "the lookahead window",
}


class PhraseBook:
    """Every phrase of a run, by number.

    Args:
        iterations: of the target decoder.
        tokens: numbers of tokens.
    """

    def __init__(self, iterations: Sequence[Iteration], tokens: TokenTable) -> None:
        self._tokens = tokens
        self._numbers: dict[int, int] = {}
        self._records: list[PhraseRecord] = []
        self._born: dict[int, int] = {}
        self._gone: dict[int, int] = {}
        self._uses: dict[int, dict[int, int]] = {}
        self._sources: dict[str, int] = {}
        for at, iteration in enumerate(iterations):
            self._read(at, iteration)

    def number(self, phrase: int) -> int:
        """Number of a phrase id, −1 where the trace does not tell the phrase."""
        return self._numbers.get(phrase, -1)

    def infos(self) -> tuple[PhraseInfo, ...]:
        """All of them, by number."""
        return tuple(self._info(record) for record in self._records)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where phrases come from, in words; `infos` numbers them."""
        return tuple(self._sources)

    def pool(self, iteration: Iteration, before: int) -> PoolInfo:
        """What the pool did in one iteration that began with `before` phrases held."""
        pools = [record.pool for record in levels(iteration)]
        draft = pools[:-1]
        gone = [phrase for pool in pools for phrase in pool.evicted]
        known = [self._numbers[phrase] for phrase in gone if phrase in self._numbers]
        return PoolInfo(
            before=before,
            after=held_after(iteration, 0),
            lookups=iteration.pool.lookups,
            hits=iteration.pool.hits,
            draft_lookups=sum(pool.lookups for pool in draft),
            draft_hits=sum(pool.hits for pool in draft),
            groups=tuple(self._groups([phrase for pool in pools for phrase in pool.inserted])),
            evicted=tuple(known[:LISTED]),
            evictions=len(gone),
        )

    def _read(self, at: int, iteration: Iteration) -> None:
        for level in levels(iteration):
            for record in (*level.pool.retrieved, *level.pool.inserted):
                if record.id not in self._numbers:
                    self._numbers[record.id] = len(self._records)
                    self._records.append(record)
            for record in level.pool.inserted:
                self._born.setdefault(record.id, at)
            for phrase in level.pool.evicted:
                self._gone[phrase] = at
            for branch in level.tree.branches:
                self._use(branch.phrase, at, 0)
        kept = set(iteration.path[: len(iteration.emitted)])
        trunk = set(iteration.tree.trunk)
        for node in iteration.tree.trunk:
            self._use(iteration.tree.phrases[node], at, int(node in kept))
        for branch in iteration.tree.branches:
            self._use(branch.phrase, at, len(kept.intersection(branch.nodes) - trunk))

    def _use(self, phrase: int, at: int, kept: int) -> None:
        if phrase >= 0:
            uses = self._uses.setdefault(phrase, {})
            uses[at] = uses.get(at, 0) + kept

    def _groups(self, phrases: Sequence[PhraseRecord]) -> Iterator[GroupInfo]:
        found: dict[str, list[PhraseRecord]] = {source: [] for source in _SOURCES}
        for phrase in phrases:
            found.setdefault(phrase.source, []).append(phrase)
        for source, records in found.items():
            if records:
                title, note = _SOURCES.get(source, (f"From {_word(source)}", ""))
                yield GroupInfo(
                    source=_word(source),
                    title=title,
                    note=note,
                    phrases=tuple(self._numbers[record.id] for record in records[:LISTED]),
                    total=len(records),
                    used=sum(any(self._uses.get(record.id, {}).values()) for record in records),
                )

    def _info(self, record: PhraseRecord) -> PhraseInfo:
        uses = self._uses.get(record.id, {})
        origin = _ORIGINS.get(record.source, _word(record.source))
        return PhraseInfo(
            tokens=self._tokens.numbers(record.tokens),
            source=self._sources.setdefault(origin, len(self._sources)),
            born=self._born.get(record.id, -1),
            uses=tuple(sorted(uses.items())),
            fate=self._fate(record.id, uses),
        )

    def _fate(self, phrase: int, uses: dict[int, int]) -> str:
        kept = sum(uses.values())
        said = ""
        if uses:
            where = [at for at, count in sorted(uses.items()) if count or not kept]
            more = f" and {len(where) - NAMED} more" if len(where) > NAMED else ""
            named = ", ".join(str(at + 1) for at in where[:NAMED])
            said = f"{'used' if kept else 'tried'} in {named}{more}, {kept} kept"
        gone = f"gone in {self._gone[phrase] + 1}" if phrase in self._gone else ""
        return ", ".join(filter(None, (said, gone)))


def _word(text: str) -> str:
    return visible(text, spaces=False, keep=40)


def sizes(iterations: Iterable[Iteration]) -> Iterator[int]:
    """Phrases held before every iteration, as far as the trace tells; 0 before the first."""
    held = 0
    for iteration in iterations:
        yield held
        held = held_after(iteration, held)
