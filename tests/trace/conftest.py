"""A run made by hand, small enough to check every number on paper."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit.trace import Branch, ForwardRecord, Iteration, PhraseRecord, PoolRecord, Trace, TreeRecord


def chain(tokens: tuple[int, ...], kinds: tuple[str, ...]) -> TreeRecord:
    """A base draft without branches."""
    size = len(tokens)
    return TreeRecord(
        tokens=tokens,
        parents=tuple(range(-1, size - 1)),
        kinds=kinds,
        phrases=(-1,) * size,
        trunk=tuple(range(size)),
    )


def drafting(ms: float, **changes: object) -> Iteration:
    """An iteration of the draft decoder that emits one token of its own."""
    plain = Iteration(
        index=0,
        position=2,
        root=8,
        tree=TreeRecord(),
        picks=(10,),
        path=(),
        emitted=(10,),
        kinds=("target",),
        forward=ForwardRecord(rows=1, picked=1, cached=1, start_ms=0.0, ms=ms),
        phases={"forward": ms},
    )
    return replace(plain, **changes)


@pytest.fixture
def partial() -> Iteration:
    """Drafted 3 in 2 draft forwards; the target kept 2 and corrected the third."""
    return Iteration(
        index=0,
        position=2,
        root=8,
        tree=chain((10, 11, 12), ("draft", "phrase", "draft")),
        picks=(10, 11, 50, 51),
        path=(0, 1),
        emitted=(10, 11, 50),
        kinds=("draft", "phrase", "target"),
        forward=ForwardRecord(rows=5, picked=4, cached=0, start_ms=3.0, ms=4.0),
        draft=(drafting(1.0), drafting(1.0, pool=PoolRecord(lookups=2, hits=1, size=3))),
        phases={"propose": 4.0, "forward": 4.0, "walk": 0.5, "commit": 0.5, "learn": 1.0},
        knobs={"gamma": 3},
    )


@pytest.fixture
def lengthened() -> Iteration:
    """Drafted 2, all kept; then 2 of suffix 2, which shares its first node with suffix 1."""
    return Iteration(
        index=1,
        position=5,
        root=50,
        tree=TreeRecord(
            tokens=(20, 21, 30, 31, 32),
            parents=(-1, 0, 1, 2, 2),
            kinds=("draft", "draft", "suffix", "suffix", "suffix"),
            phrases=(-1, -1, 4, 4, 5),
            trunk=(0, 1),
            branches=(Branch("suffix", 4, (2, 3)), Branch("suffix", 5, (2, 4))),
            dropped=1,
        ),
        picks=(20, 21, 30, 32, 61, 60),
        path=(0, 1, 2, 4),
        emitted=(20, 21, 30, 32, 60),
        kinds=("draft", "draft", "suffix", "suffix", "target"),
        forward=ForwardRecord(rows=6, picked=6, cached=4, start_ms=12.0, ms=2.0),
        draft=(drafting(1.0, index=2, position=5, root=50),),
        pool=PoolRecord(
            lookups=1,
            hits=1,
            retrieved=(PhraseRecord(4, (21, 30, 31), "window"), PhraseRecord(5, (21, 30, 32), "tail")),
            inserted=(PhraseRecord(6, (21, 30), "suffix"), PhraseRecord(7, (30, 32), "suffix")),
            evicted=(1,),
            size=4,
        ),
        phases={"propose": 2.0, "forward": 2.0, "learn": 1.0},
    )


@pytest.fixture
def misplaced() -> Iteration:
    """Drafted 3; the first is wrong, the two after it are right. A cascade: the draft had a draft."""
    below = drafting(0.5, index=3, position=10, root=60, draft=(drafting(0.5),))
    return Iteration(
        index=2,
        position=10,
        root=60,
        tree=chain((40, 41, 42), ("draft", "draft", "draft")),
        picks=(70, 41, 42, 80),
        path=(),
        emitted=(70,),
        kinds=("target",),
        forward=ForwardRecord(rows=4, picked=4, cached=9, start_ms=16.0, ms=1.0),
        draft=(below,),
        phases={"propose": 2.0, "forward": 1.0},
        window=((1, 2), (3,)),
    )


@pytest.fixture
def vanilla() -> Iteration:
    """No draft."""
    return Iteration(
        index=3,
        position=11,
        root=70,
        tree=TreeRecord(),
        picks=(5,),
        path=(),
        emitted=(5,),
        kinds=("target",),
        forward=ForwardRecord(rows=1, picked=1, cached=10, start_ms=19.0, ms=1.0),
        phases={"propose": 0.5, "forward": 1.0, "commit": 0.5},
    )


@pytest.fixture
def story(partial, lengthened, misplaced, vanilla) -> Trace:
    """The four of them as one run."""
    return Trace(
        method="ouroboros",
        prompt=(7, 8),
        iterations=(partial, lengthened, misplaced, vanilla),
        finish_reason="eos",
        settings={"temperature": 0.0, "eos": (5,)},
        texts={7: "def", 8: " f", 10: "(", 11: "x", 12: "y", 50: "):\n", 30: "    return", 5: "<end>"},
    )
