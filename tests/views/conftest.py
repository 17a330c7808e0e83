"""The run made by hand of the trace tests, and runs that show what it lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit.trace import Branch, ForwardRecord, Iteration, PhraseRecord, PoolRecord, Trace, TreeRecord
from tests.trace.conftest import (  # noqa: F401  (fixtures)
    chain,
    drafting,
    lengthened,
    misplaced,
    partial,
    story,
    vanilla,
)

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "<b>bold</b><br>",
    "$x^2$ %{x} {{y}}",
    "&lt;&amp;",
    "\u202eevil\u2066",
    "\ud800\x00\x1b[31m",
    "`' --> <!--",
)


def plain_step(index: int, position: int, root: int, token: int, ms: float, **changes: object) -> Iteration:
    """One token of the target's own, in a forward of one row."""
    made = Iteration(
        index=index,
        position=position,
        root=root,
        tree=TreeRecord(),
        picks=(token,),
        path=(),
        emitted=(token,),
        kinds=("target",),
        forward=ForwardRecord(1, 1, position - 1, 0.0, ms),
        phases={"forward": ms},
    )
    return replace(made, **changes)


@pytest.fixture
def plain(story) -> Trace:  # noqa: F811
    """Plain decoding of the story's text, 3 ms a token; the first forward reads the prompt in 9."""
    steps = []
    root = story.prompt[-1]
    for place, token in enumerate(story.tokens):
        steps.append(plain_step(place, 2 + place, root, token, 9.0 if place == 0 else 3.0))
        root = token
    return replace(story, method="vanilla", iterations=tuple(steps))


@pytest.fixture
def harvested(misplaced) -> Trace:  # noqa: F811
    """A rejected tail becomes phrase 8; the next iteration offers it as a suffix and keeps it whole."""
    first = replace(
        misplaced,
        index=0,
        position=2,
        root=9,
        draft=(),
        window=(),
        pool=PoolRecord(
            inserted=(PhraseRecord(8, (70, 41, 42), "discarded"), PhraseRecord(9, (9, 70), "committed")),
            size=2,
        ),
    )
    second = Iteration(
        index=1,
        position=3,
        root=70,
        tree=TreeRecord(
            tokens=(41, 42),
            parents=(-1, 0),
            kinds=("suffix", "suffix"),
            phrases=(8, 8),
            branches=(Branch("suffix", 8, (0, 1)),),
        ),
        picks=(41, 42, 6),
        path=(0, 1),
        emitted=(41, 42, 6),
        kinds=("suffix", "suffix", "target"),
        forward=ForwardRecord(3, 3, 3, 0.0, 1.0),
        pool=PoolRecord(lookups=1, hits=1, retrieved=(PhraseRecord(8, (70, 41, 42), "discarded"),), size=2),
    )
    return Trace("ouroboros", (7, 9), (first, second), "length", texts={70: "a", 41: "b", 42: "c"})


@pytest.fixture
def ahead() -> Trace:
    """A lookahead window of W = 2 and N = 3, full in both forwards; its first n-gram is used in the third."""
    window = TreeRecord(tokens=(11, 21, 22), parents=(-1, -1, 0), kinds=("window",) * 3, phrases=(-1,) * 3)
    first = Iteration(
        index=0,
        position=2,
        root=9,
        tree=window,
        picks=(5, -1, 31, 32),
        path=(),
        emitted=(5,),
        kinds=("target",),
        forward=ForwardRecord(4, 3, 1, 0.0, 1.0),
        pool=PoolRecord(inserted=(PhraseRecord(1, (9, 21, 31), "window"),), size=1),
        knobs={"level": 3, "window": 2},
        window=((11,), (21, 22)),
    )
    second = replace(
        first,
        index=1,
        position=3,
        root=5,
        tree=replace(window, tokens=(22, 31, 32)),
        picks=(9, -1, 41, 42),
        emitted=(9,),
        pool=PoolRecord(size=1),
        window=((22,), (31, 32)),
    )
    third = Iteration(
        index=2,
        position=4,
        root=9,
        tree=TreeRecord(
            tokens=(21, 31),
            parents=(-1, 0),
            kinds=("suffix", "suffix"),
            phrases=(1, 1),
            branches=(Branch("suffix", 1, (0, 1)),),
        ),
        picks=(21, 31, 6),
        path=(0, 1),
        emitted=(21, 31, 6),
        kinds=("suffix", "suffix", "target"),
        forward=ForwardRecord(3, 3, 3, 0.0, 1.0),
        pool=PoolRecord(lookups=1, hits=1, retrieved=(PhraseRecord(1, (9, 21, 31), "window"),), size=1),
    )
    return Trace("lookahead", (7, 9), (first, second, third), "length")


@pytest.fixture
def hostile(story) -> Trace:  # noqa: F811
    """The story with names and texts that would break a page, a figure or a terminal."""
    known = {*story.prompt, *story.tokens}
    known |= {token for one in story.iterations for token in (*one.tree.tokens, *one.picks) if token >= 0}
    known |= {
        token
        for one in story.iterations
        for phrase in (*one.pool.inserted, *one.pool.retrieved)
        for token in phrase.tokens
    }
    texts = {token: HOSTILE[place % len(HOSTILE)] for place, token in enumerate(sorted(known))}
    iterations = tuple(
        replace(
            one,
            note=HOSTILE[0],
            pool=replace(
                one.pool, inserted=tuple(replace(phrase, source=HOSTILE[1]) for phrase in one.pool.inserted)
            ),
        )
        for one in story.iterations
    )
    return replace(story, method=HOSTILE[3], texts=texts, iterations=iterations)
