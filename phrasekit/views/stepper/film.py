"""The draft model's forwards of one iteration, left to right in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phrasekit.trace.records import DRAFT, LETTERS, TARGET, Iteration
from phrasekit.trace.rounds import agreed
from phrasekit.views.stepper.phrases import LISTED, PhraseBook
from phrasekit.views.stepper.records import ForwardInfo, GuessInfo, RoundInfo
from phrasekit.views.stepper.tokens import TokenTable
from phrasekit.views.stepper.words import beside_sentence, fate_words, forward_sentence, schedule_words


def film(iteration: Iteration, tokens: TokenTable, book: PhraseBook) -> tuple[ForwardInfo, ...]:
    """Every forward of the model that drafts for the target.

    Args:
        iteration: of the target decoder.
        tokens: numbers of tokens.
        book: numbers of phrases.

    Returns:
        One record a forward, in order.
    """
    return tuple(_forwards(iteration, tokens, book))


def round_info(iteration: Iteration) -> RoundInfo | None:
    """The two lanes of a parallel round, on a clock that starts with the iteration."""
    lanes = iteration.round
    if not lanes.schedule:
        return None
    start = begins(iteration)
    return RoundInfo(
        told=schedule_words(lanes.schedule),
        drafted=len(lanes.drafted),
        kept=lanes.kept,
        right=agreed(iteration),
        start=round(lanes.draft.start_ms - start, 2) if iteration.draft else 0.0,
        ms=round(lanes.draft.ms, 2),
        target_start=round(lanes.target.start_ms - start, 2),
        target_ms=round(lanes.target.ms, 2),
        overlap=round(lanes.overlap_ms, 2) if iteration.draft else 0.0,
        fate=fate_words(iteration),
        said=beside_sentence(iteration),
    )


def _forwards(iteration: Iteration, tokens: TokenTable, book: PhraseBook) -> Iterator[ForwardInfo]:
    shift = _shift(iteration)
    first = 0
    for number, inner in enumerate(iteration.draft, start=1):
        found = [phrase.id for phrase in inner.pool.inserted]
        yield ForwardInfo(
            key=tokens.number(inner.root),
            rows=inner.forward.rows,
            start=round(max(0.0, inner.forward.start_ms - shift), 2),
            ms=round(inner.forward.ms, 2),
            first=first,
            wrote=tokens.numbers(inner.emitted),
            kinds="".join(LETTERS[DRAFT if kind == TARGET else kind] for kind in inner.kinds),
            guesses=tuple(_guesses(inner, tokens, book))[:LISTED],
            guessed=len(_tried(inner)),
            window=tuple(map(tokens.numbers, inner.window)),
            found=tuple(book.number(phrase) for phrase in found[:LISTED]),
            founds=len(found),
            said=forward_sentence(inner, number, len(iteration.draft)),
        )
        first += len(inner.emitted)


def begins(iteration: Iteration) -> float:
    """When an iteration began, on its decoder's clock; in a parallel round, when the first lane did."""
    own = iteration.forward.start_ms - iteration.phases.get("propose", 0.0)
    lanes = iteration.round
    return min(own, lanes.draft.start_ms) if lanes.schedule and iteration.draft else own


def _shift(iteration: Iteration) -> float:
    """When the iteration began, on the draft decoder's clock.

    Every decoder counts from its own start. Where the two clocks disagree the forwards are moved to
    end when the proposing does.
    """
    start = begins(iteration)
    if iteration.round.schedule or not iteration.draft:
        return start
    first, last = iteration.draft[0].forward, iteration.draft[-1].forward
    end = last.start_ms + last.ms
    room = iteration.phases.get("propose", 0.0)
    fits = first.start_ms >= start and end <= start + room
    return start if fits else end - max(room, end - first.start_ms)


def _tried(inner: Iteration) -> list[tuple[str, int, tuple[int, ...]]]:
    """Kind, phrase id and nodes of every proposal put before the draft model."""
    tree = inner.tree
    copied = [(tree.kinds[tree.trunk[0]], -1, tree.trunk)] if tree.trunk else []
    return copied + [(branch.kind, branch.phrase, branch.nodes) for branch in tree.branches]


def _guesses(inner: Iteration, tokens: TokenTable, book: PhraseBook) -> Iterator[GuessInfo]:
    tree, path = inner.tree, inner.path[: len(inner.emitted)]
    proposals = _tried(inner)
    winner = next((at for at, (*_, nodes) in enumerate(proposals) if path and path[-1] in nodes), -1)
    for at, (kind, phrase, nodes) in enumerate(proposals):
        yield GuessInfo(
            tokens=tokens.numbers(tree.tokens[node] for node in nodes),
            kind=LETTERS[kind],
            phrase=book.number(phrase),
            fits=_fits(inner, nodes),
            taken=at == winner,
        )


def _fits(inner: Iteration, nodes: Sequence[int]) -> int:
    tree = inner.tree
    for count, node in enumerate(nodes):
        if inner.picks[tree.parents[node] + 1] != tree.tokens[node]:
            return count
    return len(nodes)
