"""Runs made by hand for the stepper, small enough to check on paper, and one as large as it must stay quick with."""

from __future__ import annotations

import random
from dataclasses import replace
from math import log

from phrasekit.trace import Branch, ForwardRecord, Iteration, PhraseRecord, PoolRecord, Trace, TreeRecord
from phrasekit.trace.records import LaneRecord, RoundRecord

HOSTILE = {
    "closing tag": "</script><script>window.hacked = 1</script>",
    "image": "<img src=x onerror='window.hacked = 1'>",
    "attribute": '" onmouseover="window.hacked = 1" x=\'',
    "comment": "<!--",
    "entity": "&lt;b&gt;&amp;",
    "right to left": "abc\u202edcba\u2066\u200f",
    "separators": "a\u2028b\u2029c",
    "surrogate": "x\ud800y\udfffz",
    "controls": "\x00\x1b[31mred\x07\r",
    "arabic": "مرحبا",
    "template": "${window.hacked = 1} `",
    "empty": "",
    "long": "long" * 2500,
}


def drafting(index: int, position: int, root: int, **changes: object) -> Iteration:
    """One forward of the draft model that writes one token of its own."""
    plain = Iteration(
        index=index,
        position=position,
        root=root,
        tree=TreeRecord(),
        picks=(0,),
        path=(),
        emitted=(0,),
        kinds=("target",),
        forward=ForwardRecord(rows=1, picked=1, cached=position - 1, start_ms=0.0, ms=1.0),
    )
    return replace(plain, **changes)


def story() -> Trace:
    """Two iterations: a draft that breaks in the middle, and one that a suffix lengthens."""
    phrase = PhraseRecord(3, (20, 21, 22), "committed")
    broken = Iteration(
        index=0,
        position=2,
        root=11,
        tree=TreeRecord(
            tokens=(20, 21, 22, 23, 30),
            parents=(-1, 0, 1, 2, 3),
            kinds=("draft", "phrase", "phrase", "draft", "suffix"),
            phrases=(-1, 3, 3, -1, 4),
            trunk=(0, 1, 2, 3),
            branches=(Branch("suffix", 4, (4,)),),
        ),
        picks=(20, 21, 50, 23, 31, 51),
        path=(0, 1),
        emitted=(20, 21, 50),
        kinds=("draft", "phrase", "target"),
        forward=ForwardRecord(rows=6, picked=6, cached=1, start_ms=5.0, ms=4.0),
        draft=(
            drafting(0, 2, 11, picks=(20,), emitted=(20,), forward=ForwardRecord(1, 1, 1, 1.0, 1.5)),
            drafting(
                1,
                3,
                20,
                tree=TreeRecord(
                    tokens=(21, 22, 29),
                    parents=(-1, 0, 0),
                    kinds=("phrase",) * 3,
                    phrases=(3, 3, 5),
                    branches=(Branch("phrase", 3, (0, 1)), Branch("phrase", 5, (0, 2))),
                ),
                picks=(21, 22, 23, 0),
                path=(0, 1),
                emitted=(21, 22, 23),
                kinds=("phrase", "phrase", "target"),
                forward=ForwardRecord(4, 4, 2, 2.5, 2.0),
                pool=PoolRecord(2, 1, (phrase, PhraseRecord(5, (20, 21, 29), "window")), size=4),
                window=((7,), (8, 9)),
            ),
        ),
        pool=PoolRecord(
            lookups=1,
            hits=1,
            retrieved=(PhraseRecord(4, (23, 30), "window"),),
            inserted=(PhraseRecord(6, (50, 60), "committed"), PhraseRecord(7, (21, 50), "discarded")),
            evicted=(5, 99),
            size=6,
        ),
        phases={"propose": 5.0, "forward": 4.0, "learn": 1.0},
        knobs={"gamma": 4, "suffixes": 3, "beta": 2, "window": 2, "level": 3, "guesses": 2, "lookup": 10},
    )
    lengthened = Iteration(
        index=1,
        position=5,
        root=50,
        tree=TreeRecord(
            tokens=(60, 30, 31, 32, 33),
            parents=(-1, 0, 1, 1, -1),
            kinds=("draft", "suffix", "suffix", "suffix", "lookup"),
            phrases=(-1, 6, 6, 8, -1),
            trunk=(0,),
            branches=(
                Branch("suffix", 6, (1, 2)),
                Branch("suffix", 8, (1, 3)),
                Branch("suffix", 9, (1,)),
                Branch("lookup", -1, (4,)),
            ),
        ),
        picks=(60, 30, 32, 70, 71, 72),
        path=(0, 1, 3),
        emitted=(60, 30, 32, 71),
        kinds=("draft", "suffix", "suffix", "target"),
        forward=ForwardRecord(rows=6, picked=6, cached=4, start_ms=12.0, ms=3.0),
        draft=(drafting(2, 5, 50, picks=(60,), emitted=(60,), forward=ForwardRecord(1, 1, 4, 11.0, 1.0)),),
        pool=PoolRecord(lookups=1, hits=1, size=6),
        phases={"propose": 2.0, "forward": 3.0},
        knobs={"gamma": 4},
    )
    texts = {
        10: "def",
        11: " f",
        20: "(",
        21: "x",
        22: " y",
        50: "):\n    ",
        60: "return",
        30: " x",
        71: "<end>",
    }
    return Trace(
        "ouroboros", (10, 11), (broken, lengthened), "eos", {"target": "target", "device": "cpu"}, texts
    )


def likely() -> Trace:
    """The story, recorded with probabilities: 1, ½, ⅒, and in the second iteration 1/100 behind them."""
    trace = story()
    logprobs = tuple(map(log, (1, 0.5, 0.1, 0.01)))
    return replace(
        trace,
        iterations=tuple(replace(one, logprobs=logprobs[: len(one.emitted)]) for one in trace.iterations),
    )


def rounds() -> Trace:
    """Three rounds of two lanes: a start, one whose draft carries on behind a guide, one that loses its draft."""
    begun = Iteration(
        index=0,
        position=2,
        root=11,
        tree=TreeRecord(),
        picks=(20,),
        path=(),
        emitted=(20,),
        kinds=("target",),
        forward=ForwardRecord(rows=2, picked=1, cached=0, start_ms=1.0, ms=4.0),
        draft=(
            drafting(0, 2, 11, picks=(20,), emitted=(20,), forward=ForwardRecord(2, 1, 0, 0.5, 1.0)),
            drafting(
                1,
                3,
                20,
                tree=TreeRecord(
                    (21, 22), (-1, 0), ("rejected",) * 2, (-1, -1), (), (Branch("rejected", -1, (0, 1)),)
                ),
                picks=(21, 29, 0),
                path=(0,),
                emitted=(21, 29),
                kinds=("rejected", "target"),
                forward=ForwardRecord(3, 3, 2, 1.5, 1.0),
            ),
        ),
        phases={"propose": 0.5, "forward": 4.0, "wait": 0.0, "learn": 0.5},
        round=RoundRecord(
            "threads",
            (20, 21, 29),
            ("draft", "rejected", "draft"),
            2,
            LaneRecord(0.5, 4.5),
            LaneRecord(0.5, 2.0),
        ),
    )
    guided = Iteration(
        index=1,
        position=3,
        root=20,
        tree=TreeRecord(
            (21, 29, 30, 31),
            (-1, 0, 1, 2),
            ("rejected", "draft", "guide", "guide"),
            (-1,) * 4,
            (0, 1),
            (Branch("guide", -1, (2, 3)),),
        ),
        picks=(21, 29, 30, 40, 41),
        path=(0, 1, 2),
        emitted=(21, 29, 30, 40),
        kinds=("rejected", "draft", "guide", "target"),
        forward=ForwardRecord(rows=5, picked=5, cached=2, start_ms=6.0, ms=6.0),
        draft=(
            drafting(
                2,
                5,
                29,
                tree=TreeRecord(
                    (30, 40), (-1, 0), ("retrieved",) * 2, (-1, -1), (), (Branch("retrieved", -1, (0, 1)),)
                ),
                picks=(30, 40, 41),
                path=(0, 1),
                emitted=(30, 40, 41),
                kinds=("retrieved", "retrieved", "target"),
                forward=ForwardRecord(3, 3, 3, 8.0, 6.0),
            ),
        ),
        phases={"propose": 1.0, "forward": 6.0, "wait": 3.0, "learn": 0.0},
        round=RoundRecord(
            "threads",
            (30, 40, 41),
            ("retrieved", "retrieved", "draft"),
            1,
            LaneRecord(5.0, 7.0),
            LaneRecord(8.0, 6.0),
        ),
    )
    lost = Iteration(
        index=2,
        position=7,
        root=40,
        tree=TreeRecord((41,), (-1,), ("draft",), (-1,), (0,)),
        picks=(50, 51),
        path=(),
        emitted=(50,),
        kinds=("target",),
        forward=ForwardRecord(rows=2, picked=2, cached=6, start_ms=16.0, ms=2.0),
        draft=(drafting(3, 8, 41, picks=(60,), emitted=(60,), forward=ForwardRecord(1, 1, 7, 19.0, 1.0)),),
        phases={"propose": 1.0, "forward": 2.0, "wait": 2.0},
        round=RoundRecord("threads", (60,), ("draft",), 0, LaneRecord(15.0, 3.0), LaneRecord(19.0, 1.0)),
    )
    texts = {
        10: "def",
        11: " f",
        20: "(",
        21: "x",
        29: ",",
        30: " y",
        40: ")",
        50: ":",
        41: ";",
        60: "return",
    }
    return Trace("double", (10, 11), (begun, guided, lost), "length", {"device": "cpu"}, texts)


def plain_of(trace: Trace, ms: float = 2.0) -> Trace:
    """The same text, one token a forward."""
    iterations, context = [], list(trace.prompt)
    for index, token in enumerate(trace.tokens):
        iterations.append(
            drafting(
                index,
                len(context),
                context[-1],
                picks=(token,),
                emitted=(token,),
                phases={"forward": ms},
            )
        )
        context.append(token)
    return Trace("vanilla", trace.prompt, tuple(iterations), trace.finish_reason)


def hostile() -> Trace:
    """The story, with everything that could break out of a page in texts, names, notes and settings."""
    trace = story()
    texts = dict(zip((20, 21, 22, 23, 30, 31, 32, 33, 50, 60, 71, 10, 11), HOSTILE.values(), strict=True))
    first = replace(trace.iterations[0], note=HOSTILE["image"], knobs={"gamma": HOSTILE["closing tag"]})
    evil = PhraseRecord(40, (20, 21), HOSTILE["image"])
    first = replace(first, pool=replace(first.pool, inserted=(*first.pool.inserted, evil)))
    settings = {
        "target": HOSTILE["image"],
        "draft": HOSTILE["closing tag"],
        "device": HOSTILE["right to left"],
    }
    return Trace(HOSTILE["attribute"], trace.prompt, (first, trace.iterations[1]), "eos", settings, texts)


def large(iterations: int = 400, suffixes: int = 4, length: int = 13, drafted: int = 8) -> Trace:
    """A long run: every iteration has a tree of `drafted + suffixes × length` nodes and four draft forwards."""
    rng = random.Random(0)
    words = [
        "the",
        " of",
        " return",
        "(",
        ")",
        ":\n    ",
        " self",
        ".name",
        " =",
        " 1",
        "\n",
        ' """',
        "def",
        " x",
        ",",
    ]
    texts = {token: rng.choice(words) if token % 3 else f" tok{token}" for token in range(500)}
    prompt = tuple(rng.randrange(500) for _ in range(100))
    context, records, phrase, clock = list(prompt), [], 0, 0.0
    for index in range(iterations):
        record = _large_step(
            rng, index, len(context), context[-1], (suffixes, length, drafted), phrase, clock
        )
        phrase, clock = phrase + suffixes + 4, clock + record.ms
        records.append(record)
        context.extend(record.emitted)
    return Trace("ouroboros", prompt, tuple(records), "length", {"device": "cpu"}, texts)


def _large_step(
    rng: random.Random,
    index: int,
    position: int,
    root: int,
    sizes: tuple[int, int, int],
    phrase: int,
    clock: float,
) -> Iteration:
    suffixes, length, drafted = sizes
    kept = drafted if index % 2 else rng.randrange(drafted)
    trunk = [rng.randrange(500) for _ in range(drafted)]
    tokens, parents = list(trunk), list(range(-1, drafted - 1))
    phrases = [-1] * drafted
    branches = []
    for number in range(suffixes):
        nodes = tuple(range(len(tokens), len(tokens) + length))
        # first tokens differ, so that rows share nothing
        tokens += [500 - 1 - number, *(rng.randrange(480) for _ in range(length - 1))]
        parents += [drafted - 1, *nodes[:-1]]
        phrases += [phrase + number] * length
        branches.append(Branch("suffix", phrase + number, nodes))
    picks = [0] * (len(tokens) + 1)
    for node, parent in enumerate(parents):
        picks[parent + 1] = tokens[node] if node < drafted else picks[parent + 1]
    if kept < drafted:
        picks[kept] = (trunk[kept] + 1) % 480
    path = tuple(range(kept))
    if kept == drafted:
        win = branches[rng.randrange(suffixes)].nodes[: rng.randrange(1, length)]
        for node in win:
            picks[parents[node] + 1] = tokens[node]
        picks[win[-1] + 1] = 481
        path += win
    else:
        picks[drafted] = 482
    emitted = (*(tokens[node] for node in path), picks[path[-1] + 1 if path else 0])
    kinds = (*("draft" if node < drafted else "suffix" for node in path), "target")
    inserted = tuple(
        PhraseRecord(phrase + suffixes + n, tuple(rng.randrange(500) for _ in range(5)), source)
        for n, source in enumerate(("committed", "committed", "discarded", "window"))
    )
    draft = tuple(
        drafting(
            index * 4 + n,
            position + 2 * n,
            trunk[2 * n - 1] if n else root,
            picks=(trunk[2 * n], trunk[2 * n + 1]),
            tree=TreeRecord(
                (trunk[2 * n],), (-1,), ("phrase",), (phrase,), (), (Branch("phrase", phrase, (0,)),)
            ),
            path=(0,),
            emitted=(trunk[2 * n], trunk[2 * n + 1]),
            kinds=("phrase", "target"),
            forward=ForwardRecord(20, 12, position, clock + 2 * n, 2.0),
            window=tuple(tuple(rng.randrange(500) for _ in range(5)) for _ in range(4)),
        )
        for n in range(4)
    )
    return Iteration(
        index=index,
        position=position,
        root=root,
        tree=TreeRecord(
            tuple(tokens),
            tuple(parents),
            ("draft",) * drafted + ("suffix",) * (suffixes * length),
            tuple(phrases),
            tuple(range(drafted)),
            tuple(branches),
        ),
        picks=tuple(picks),
        path=path,
        emitted=emitted,
        kinds=kinds,
        forward=ForwardRecord(1 + len(tokens), 1 + len(tokens), position - 1, clock + 8.0, 20.0),
        draft=draft,
        pool=PoolRecord(1, 1, (), inserted, (), 4 * index + 4),
        phases={"propose": 8.0, "forward": 20.0, "learn": 0.5},
        knobs={"gamma": 8, "suffixes": suffixes, "beta": length + 1},
    )
