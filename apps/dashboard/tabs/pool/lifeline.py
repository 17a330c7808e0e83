"""A phrase's life as a line over the iterations of its run: born, looked up, used, gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from phrasekit.trace.records import SUFFIX
from phrasekit.views.phrases import Life

NAMED = 4  # iterations that a label names
WIDTH, LETTER, PITCH = 350, 6.4, 15  # pixels: the narrowest line with labels, of a letter, between labels
HIGHEST = 8  # kept tokens of the tallest bar

Label = tuple[float, str]


def lifeline(life: Life, last: int) -> str:
    """The line as markup, small: diamond born, tick looked up, bar kept, ring thrown away, cross gone.

    Args:
        life: to draw.
        last: iterations of the run.
    """
    return f'<span class="lf" role="img" aria-label="{in_words(life)}">{"".join(_marks(life, last))}</span>'


def labelled(life: Life, last: int) -> str:
    """The same line, large, with words below its marks."""
    rows: list[float] = []  # right ends of the labels so far, a row each
    told = []
    for at, words in sorted(_labels(life, last)):
        wide = LETTER * len(words) + 8
        left = min(max(0.0, at * WIDTH / 100 - wide / 2), WIDTH - wide)
        row = next((row for row, end in enumerate(rows) if end <= left), len(rows))
        rows[row : row + 1] = [left + wide]
        place = f"clamp(0px,calc({at:.1f}% - {wide / 2:.0f}px),calc(100% - {wide:.0f}px))"
        told.append(f'<em style="left:{place};width:{wide:.0f}px;top:{34 + row * PITCH}px">{words}</em>')
    height = 38 + len(rows) * PITCH
    return (
        f'<div class="lf large" style="height:{height}px" role="img" aria-label="{in_words(life)}">'
        f"{''.join(_marks(life, last))}{''.join(told)}</div>"
    )


def in_words(life: Life) -> str:
    """The same in words of ours; iterations count from 1."""
    return "; ".join(words for _, words in _labels(life, 1)) or "nothing of it was recorded"


def _marks(life: Life, last: int) -> Iterator[str]:
    """Marks from back to front."""
    born = _place(life.born, last) if life.born >= 0 else 0.0
    end = _place(life.evicted, last) if life.evicted >= 0 else 100.0
    yield f'<i class="on" style="left:{born:.1f}%;right:{100 - end:.1f}%"></i>'
    used = {use.iteration for use in life.uses}
    for at in sorted(set(life.tries) - used):
        yield f'<i class="tick" style="left:{_place(at, last):.1f}%"></i>'
    if life.born >= 0:
        yield f'<i class="born" style="left:{born:.1f}%"></i>'
    won = Counter[tuple[int, bool]]()
    for use in life.uses:
        won[use.iteration, use.kind == SUFFIX] += use.kept
    for (at, suffix), kept in sorted(won.items()):
        tall = min(HIGHEST, kept) / HIGHEST
        behind = " behind" * suffix
        yield (
            f'<i class="bar{behind}" style="left:{_place(at, last):.1f}%;--tall:{tall:.2f}"></i>'
            if kept
            else f'<i class="lost" style="left:{_place(at, last):.1f}%"></i>'
        )
    if life.evicted >= 0:
        yield f'<i class="gone" style="left:{end:.1f}%"></i>'


def _labels(life: Life, last: int) -> Iterator[Label]:
    wins = {use.iteration for use in life.wins}
    lost = {use.iteration for use in life.uses} - wins
    if life.born >= 0:
        yield _place(life.born, last), f"born {life.born + 1}"
    for words, places in (
        ("looked up", set(life.tries) - wins - lost),
        ("used", wins),
        ("thrown away", lost),
    ):
        if places:
            middle = (_place(min(places), last) + _place(max(places), last)) / 2
            yield middle, f"{words} {numbers(places)}"
    if life.evicted >= 0:
        yield _place(life.evicted, last), f"gone {life.evicted + 1}"


def numbers(places: Iterable[int]) -> str:
    """Iterations in words, from 1; of many the first ones and a count."""
    every = sorted(set(places))
    left = len(every) - NAMED
    named = ", ".join(str(at + 1) for at in every[:NAMED])
    return f"{named} and {left} more" if left > 0 else named


def _place(iteration: int, last: int) -> float:
    """Percent of the line."""
    return min(100.0, 100 * (iteration + 0.5) / max(1, last))
