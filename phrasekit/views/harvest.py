"""What was rejected, what became a phrase, and where the phrase was used later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from phrasekit.trace.records import Iteration, Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import token_text, visible
from phrasekit.views.birth import repaired
from phrasekit.views.link import run_key
from phrasekit.views.phrases import Life, lives
from phrasekit.views.table import Table
from phrasekit.views.tokens import LATE, Token, compact, node_token, quoted, source_name, strip

REJECTED = ("discarded", "suffix")  # sources that live on what the target refused
MOST = 12  # iterations in one picture
LISTED = 8  # phrases of one iteration


@dataclass(frozen=True, slots=True)
class Grown:
    """A phrase that an iteration brought.

    Attributes:
        life: what became of it.
        texts: key and followers.
        was: the suffix it was repaired from, with the target's verdicts; empty for other sources.
    """

    life: Life
    texts: tuple[str, ...]
    was: tuple[Token, ...] = ()

    @property
    def fate(self) -> str:
        """Where it was used, in words; iterations count from 1."""
        wins = self.life.wins
        if not wins:
            return (
                f"looked up {counted(len(self.life.tries), 'time')}, never kept"
                if self.life.tries
                else "not asked for"
            )
        return ", ".join(f"used in {use.iteration + 1}, {use.kept} of {use.proposed} kept" for use in wins)


@dataclass(frozen=True, slots=True)
class Harvest:
    """One iteration's harvest.

    Attributes:
        iteration: 0-based number.
        draft: the draft with the target's verdicts.
        says: texts of the target's own tokens at those positions, None where it gave none.
        phrases: what came of what was refused, then phrases of other sources that saved tokens later.
        others: new phrases by source that are not listed.
    """

    iteration: int
    draft: tuple[Token, ...]
    says: tuple[str | None, ...]
    phrases: tuple[Grown, ...]
    others: Mapping[str, int]

    @property
    def late(self) -> int:
        """Draft tokens that were right, but after the first mistake."""
        return sum(token.verdict == LATE for token in self.draft)


@dataclass(frozen=True, slots=True)
class HarvestInfo:
    """The harvest of a run.

    Attributes:
        harvests: iterations that turned refused tokens into phrases, or brought a phrase used later.
        left_out: such iterations not shown.
        grown: phrases from rejected tails and repaired suffixes over the run.
        used: of them, those that put tokens into the text.
        kept: how many tokens those were.
        late: draft tokens of the run that were right, but after the first mistake.
        key: of the run, for links to its stepper; "" for none.
    """

    harvests: tuple[Harvest, ...]
    left_out: int
    grown: int
    used: int
    kept: int
    late: int
    key: str = ""

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        late = (
            f"{counted(self.late, 'drafted token')} {'was' if self.late == 1 else 'were'} right, but after "
            "the first mistake"
        )
        if not self.grown:
            return f"{late}; rejected tails and repaired suffixes became no phrases."
        told = f"{late}; rejected tails and repaired suffixes became {counted(self.grown, 'phrase')}"
        if not self.used:
            return f"{told}, none of them used later."
        return f"{told}, {self.used} of them used later for {counted(self.kept, 'token')}."

    def table(self) -> Table:
        """A row per phrase."""
        rows = tuple(
            (
                harvest.iteration + 1,
                strip(harvest.draft),
                source_name(grown.life.source),
                compact(grown.texts[0]),
                quoted(grown.texts[1:]),
                grown.life.kept,
                grown.fate,
            )
            for harvest in self.harvests
            for grown in harvest.phrases
        )
        return Table(("iteration", "draft", "source", "after", "then", "tokens kept", "later"), rows)

    def text(self) -> str:
        """The draft of every iteration, what the target says, what grew of it."""
        lines = [self.sentence]
        for harvest in self.harvests:
            lines.append(f"{harvest.iteration + 1:>4}  draft {strip(harvest.draft) or 'none'}")
            if harvest.draft:
                lines.append(f"      target says {quoted(text or '' for text in harvest.says)}")
            lines += [f"      {_told(grown)}" for grown in harvest.phrases]
            lines += [f"      {line}" for line in others(harvest)]
        return "\n".join([*lines, *more(self)])


def harvest_info(trace: Trace, *, most: int = MOST) -> HarvestInfo:
    """Follow what the target refused.

    Args:
        trace: the run.
        most: iterations to show.

    Raises:
        ValueError: `most` is negative.
    """
    if most < 0:
        raise ValueError(f"most must be 0 or more, but got {most}")
    born: dict[int, list[Life]] = {}
    for life in lives(trace):
        if life.born >= 0:
            born.setdefault(life.born, []).append(life)
    found = [
        _harvest(iteration, born.get(iteration.index, []), trace.texts) for iteration in trace.iterations
    ]
    telling = [harvest for harvest in found if harvest.phrases]
    grown = [life for group in born.values() for life in group if life.source in REJECTED]
    return HarvestInfo(
        harvests=tuple(telling[:most]),
        left_out=max(0, len(telling) - most),
        grown=len(grown),
        used=sum(bool(life.kept) for life in grown),
        kept=sum(life.kept for life in grown),
        late=sum(harvest.late for harvest in found),
        key=run_key(trace),
    )


def _harvest(iteration: Iteration, born: Iterable[Life], texts: Mapping[int, str]) -> Harvest:
    tree = iteration.tree
    phrases = [life for life in born if life.source in REJECTED or life.kept]
    phrases.sort(key=lambda life: (life.source not in REJECTED, -life.kept, life.id))
    listed = {life.id for life in phrases[:LISTED]}
    verdicts = [iteration.picks[tree.parents[node] + 1] for node in tree.trunk]
    return Harvest(
        iteration=iteration.index,
        draft=tuple(node_token(iteration, node, texts) for node in tree.trunk),
        says=tuple(None if token < 0 else token_text(token, texts) for token in verdicts),
        phrases=tuple(_grown(iteration, life, texts) for life in phrases[:LISTED]),
        others=dict(Counter(life.source for life in born if life.id not in listed)),
    )


def _told(grown: Grown) -> str:
    source = visible(source_name(grown.life.source), spaces=False, keep=40)
    was = f"{strip(grown.was)} became " if grown.was else ""
    return f"{source}: {compact(grown.texts[0])} → {was}{quoted(grown.texts[1:])}: {grown.fate}"


def _grown(iteration: Iteration, life: Life, texts: Mapping[int, str]) -> Grown:
    told = tuple(token_text(token, texts) for token in life.tokens)
    was = repaired(iteration, life.tokens) if life.source == REJECTED[1] else ()
    return Grown(life, told, tuple(node_token(iteration, node, texts) for node in was))


def others(harvest: Harvest) -> Iterator[str]:
    """New phrases that are not listed, in words."""
    if harvest.others:
        told = [
            f"{count} from {visible(source_name(source), spaces=False, keep=40)}"
            for source, count in harvest.others.items()
        ]
        yield f"and {', '.join(told)}, not used"


def more(info: HarvestInfo) -> Iterator[str]:
    """What is not shown, in words."""
    if info.left_out:
        yield f"{counted(info.left_out, 'more iteration')} not shown"
