"""Hypothesis strategies for the whole test suite."""

from __future__ import annotations

from hypothesis import strategies as st

from phrasekit.decode import Knobs, TokenTree
from phrasekit.decode.knobs import REPAIRS
from phrasekit.trace import Branch, ForwardRecord, Iteration, PhraseRecord, PoolRecord, Trace, TreeRecord
from phrasekit.trace.records import DRAFT, FINISH_REASONS, LOOKUP, PHRASE, SUFFIX, TARGET, WINDOW

token_ids = st.integers(0, 9)  # a small alphabet, so that n-grams and siblings repeat
counts = st.integers(0, 50)
times = st.floats(0, 1e6)
origins = st.sampled_from([DRAFT, PHRASE, SUFFIX, LOOKUP])

plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
plain_mappings = st.dictionaries(st.text(), plain_values, max_size=3)

hostile_texts = st.text(
    st.sampled_from(
        "a \t\n\r\x00\x07\x08\x1b\x7f\x85\x9b\u200b\u2028\u202e\u2066\u2069\ufeff\ud800\u0301漢«»¦[]"
    )
    | st.characters()
)


def ancestry(node: int, parents: tuple[int, ...]) -> tuple[int, ...]:
    """Nodes from the root's child down to `node`."""
    chain: list[int] = []
    while node >= 0:
        chain.append(node)
        node = parents[node]
    return tuple(reversed(chain))


@st.composite
def root_paths(draw, parents: tuple[int, ...]) -> tuple[int, ...]:
    """A path from the root down to any node; empty for the root itself."""
    return ancestry(draw(st.integers(-1, len(parents) - 1)), parents)


@st.composite
def trees(draw, max_size: int = 6) -> TreeRecord:
    """Any token tree: chains, stars, siblings with the same token, empty ones."""
    size = draw(st.integers(0, max_size))
    parents = tuple(draw(st.integers(-1, node - 1)) for node in range(size))
    paths = draw(st.lists(root_paths(parents), max_size=3))
    branches = [
        Branch(draw(origins), draw(st.integers(-1, 9)), path[draw(st.integers(0, 2)) :]) for path in paths
    ]
    return TreeRecord(
        tokens=tuple(draw(token_ids) for _ in parents),
        parents=parents,
        kinds=tuple(draw(origins) for _ in parents),
        phrases=tuple(draw(st.integers(-1, 9)) for _ in parents),
        trunk=draw(root_paths(parents)),
        branches=tuple(branches),
        dropped=draw(counts),
    )


phrases = st.builds(
    PhraseRecord,
    id=counts,
    tokens=st.lists(token_ids, min_size=1, max_size=4).map(tuple),
    source=st.text(max_size=5),
)
phrase_tuples = st.lists(phrases, max_size=2).map(tuple)


@st.composite
def pools(draw) -> PoolRecord:
    """What a pool did in one iteration."""
    lookups = draw(counts)
    return PoolRecord(
        lookups=lookups,
        hits=draw(st.integers(0, lookups)),
        retrieved=draw(phrase_tuples),
        inserted=draw(phrase_tuples),
        evicted=draw(st.lists(counts, max_size=2).map(tuple)),
        size=draw(counts),
    )


@st.composite
def forwards(draw) -> ForwardRecord:
    """One forward."""
    rows = draw(counts)
    return ForwardRecord(
        rows=rows,
        picked=draw(st.integers(0, rows)),
        cached=draw(counts),
        start_ms=draw(times),
        ms=draw(times),
    )


@st.composite
def iterations(draw, *, index: int, position: int, root: int, levels: int = 1) -> Iteration:
    """A sound iteration with up to `levels` levels of draft decoders below."""
    tree = draw(trees())
    path = draw(root_paths(tree.parents))
    picks = [draw(token_ids) for _ in range(len(tree.tokens) + 1)]
    for node in path:
        picks[tree.parents[node] + 1] = tree.tokens[node]
    walked = (*(tree.tokens[node] for node in path), picks[(path[-1] if path else -1) + 1])
    kept = draw(st.integers(1, len(walked)))
    below = [
        draw(iterations(index=draw(counts), position=draw(counts), root=draw(token_ids), levels=levels - 1))
        for _ in range(draw(st.integers(0, 2)) if levels else 0)
    ]
    return Iteration(
        index=index,
        position=position,
        root=root,
        tree=tree,
        picks=tuple(picks),
        path=path,
        emitted=walked[:kept],
        kinds=(*(tree.kinds[node] for node in path), TARGET)[:kept],
        forward=draw(forwards()),
        draft=tuple(below),
        pool=draw(pools()),
        phases=draw(
            st.dictionaries(st.sampled_from(["propose", "forward", "walk", "commit", "learn"]), times)
        ),
        knobs=draw(plain_mappings),
        window=draw(st.lists(st.lists(token_ids, max_size=3).map(tuple), max_size=2).map(tuple)),
        note=draw(st.text(max_size=10)),
    )


@st.composite
def traces(draw, max_iterations: int = 2) -> Trace:
    """A sound run, with or without iterations."""
    prompt = draw(st.lists(token_ids, min_size=1, max_size=4).map(tuple))
    committed, made = list(prompt), []
    for index in range(draw(st.integers(0, max_iterations))):
        made.append(draw(iterations(index=index, position=len(committed), root=committed[-1])))
        committed += made[-1].emitted
    return Trace(
        method=draw(st.text(max_size=10)),
        prompt=prompt,
        iterations=tuple(made),
        finish_reason=draw(st.sampled_from(FINISH_REASONS)),
        settings=draw(plain_mappings),
        texts=draw(st.dictionaries(token_ids, st.text(max_size=5), max_size=5)),
    )


# --- the engine -----------------------------------------------------------------------------------


@st.composite
def parent_arrays(draw, max_size: int = 12) -> tuple[int, ...]:
    """Parents before children, −1 for the root: chains, stars, everything between, nothing at all."""
    return tuple(draw(st.integers(-1, node - 1)) for node in range(draw(st.integers(0, max_size))))


@st.composite
def grown_trees(draw, vocabulary: int = 5, max_size: int = 12) -> TokenTree:
    """A tree as proposers grow it: siblings, duplicates, window rows, refused tokens."""
    ends = frozenset(draw(st.sets(st.integers(0, vocabulary - 1), max_size=2)))
    tree = TokenTree(vocabulary=vocabulary, limit=draw(st.integers(0, 6)), ends=ends)
    for _ in range(draw(st.integers(0, max_size))):
        parent = draw(st.integers(-1, len(tree) - 1))
        token = draw(st.integers(-1, vocabulary))  # one too low and one too high among them
        if draw(st.integers(0, 5)) == 0 and 0 <= token < vocabulary:
            tree.add_window(parent, token, silent=draw(st.booleans()))
        elif parent < 0 or tree.kinds[parent] != WINDOW:
            tree.add(parent, token, draw(origins))
    return tree


knob_settings = st.builds(
    Knobs,
    gamma=st.sampled_from([0, 1, 3, 7]),
    window=st.sampled_from([0, 1, 3, 5]),
    level=st.integers(2, 6),
    guesses=st.sampled_from([0, 1, 4]),
    suffixes=st.sampled_from([0, 1, 4]),
    beta=st.integers(2, 7),
    cut_to_gamma=st.booleans(),
    harvest_discarded=st.booleans(),
    repair=st.sampled_from(REPAIRS),
    harvest_committed=st.booleans(),
    lookup=st.sampled_from([0, 1, 5]),
    lookup_ngram=st.integers(1, 3),
)
