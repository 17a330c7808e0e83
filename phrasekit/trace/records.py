"""What happened, iteration by iteration: frozen records of ints, floats, strings and tuples.

No tensors, no model references: a trace can be kept, sent and replayed without torch. Everything
that can be derived (A, #Match, Â, hit rate, c, η) is a property here or a function in
`phrasekit.trace.metrics`; only facts are stored.

Node indices: a tree of n nodes has nodes 0 … n−1 in topological order, and parent −1 is the root,
the last committed token. `picks` has n + 1 entries: `picks[0]` is the model's own next token after
the root, `picks[i + 1]` the one after node i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phrasekit.trace.metrics import Metrics

SCHEMA_VERSION = 1

# Who proposed a node. DRAFT: the draft model's own pick; PHRASE: a pool phrase the draft model
# confirmed while drafting; SUFFIX: a pool phrase behind the draft, or a guess verified directly;
# LOOKUP: copied from the context; WINDOW: a lookahead window row, never emitted.
DRAFT, PHRASE, SUFFIX, LOOKUP, WINDOW = "draft", "phrase", "suffix", "lookup", "window"

# RETRIEVED: found in a datastore or the context, and where a draft model drafts, confirmed by it;
# REJECTED: the same, found among drafts that were thrown away; GUIDE: retrieved by the target.
RETRIEVED, REJECTED, GUIDE = "retrieved", "rejected", "guide"

# TARGET marks an emitted token that nobody proposed: the model's own pick where the walk stopped.
TARGET = "target"
KINDS = (DRAFT, PHRASE, SUFFIX, LOOKUP, WINDOW, RETRIEVED, REJECTED, GUIDE, TARGET)

# The letter of each where colour cannot be: terminals, files, and pages read without it.
LETTERS = {
    DRAFT: "d",
    PHRASE: "p",
    SUFFIX: "s",
    LOOKUP: "c",
    WINDOW: "w",
    RETRIEVED: "r",
    REJECTED: "j",
    GUIDE: "g",
    TARGET: "t",
}

# Where retrieved tokens come from.
CONTEXT, STORE, CACHE = "context", "store", "rejected"
SOURCES = ("", CONTEXT, STORE, CACHE)

# When the lanes of a parallel round run: one after the other, on two threads, on two CUDA streams.
SERIAL, THREADS, STREAMS = "serial", "threads", "streams"
SCHEDULES = ("", SERIAL, THREADS, STREAMS)

SPARSE = {"sparse": True}  # a field that files leave out where it holds its default

FINISH_REASONS = ("", "eos", "stop", "length", "context", "cancelled")


@dataclass(frozen=True, slots=True)
class PhraseRecord:
    """One pool phrase: `tokens[0]` is the key, the rest its followers."""

    id: int
    tokens: tuple[int, ...]
    source: str


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """What the phrase pool did in one iteration.

    Attributes:
        lookups: keys asked for.
        hits: lookups that returned at least one phrase.
        retrieved: the phrases returned, in the order they were proposed.
        inserted: new phrases with their source; a phrase already known is refreshed, not listed.
        evicted: ids of the phrases that had to go.
        size: phrases in the pool afterwards.
    """

    lookups: int = 0
    hits: int = 0
    retrieved: tuple[PhraseRecord, ...] = ()
    inserted: tuple[PhraseRecord, ...] = ()
    evicted: tuple[int, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """One proposed sequence as a path of nodes; paths that share a prefix share nodes.

    Attributes:
        kind: origin of the sequence.
        phrase: pool phrase id, or −1.
        nodes: node indices from the first to the last.
    """

    kind: str
    phrase: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """A token tree as parallel arrays.

    Attributes:
        tokens: token id of every node.
        parents: parent node of every node, −1 for the root.
        kinds: origin of every node.
        phrases: pool phrase behind every node, or −1.
        trunk: nodes of the base draft d₁ … d_g, in order.
        branches: every phrase or copy proposed beside or behind the trunk.
        dropped: proposed tokens refused (outside the vocabulary, deeper than the limit).
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    phrases: tuple[int, ...] = ()
    trunk: tuple[int, ...] = ()
    branches: tuple[Branch, ...] = ()
    dropped: int = 0

    def depth(self, node: int) -> int:
        """Distance from the root; the root's children have depth 1."""
        steps = 0
        while node >= 0:
            node, steps = self.parents[node], steps + 1
        return steps


@dataclass(frozen=True, slots=True)
class ForwardRecord:
    """One forward: rows fed, rows that needed a pick, rows in the cache before, milliseconds."""

    rows: int
    picked: int
    cached: int
    start_ms: float
    ms: float


@dataclass(frozen=True, slots=True)
class RetrievalRecord:
    """One query of an iteration.

    Attributes:
        source: "context", "store" or "rejected", where the longest match was; "" for a miss or no query.
        asked: queries made, 0 or 1.
        matched: tokens of context that matched.
        offered: tokens found behind them.
        ms: time the query took.
    """

    source: str = ""
    asked: int = 0
    matched: int = 0
    offered: int = 0
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class LaneRecord:
    """When a lane of a parallel round worked, in milliseconds on the run's clock."""

    start_ms: float = 0.0
    ms: float = 0.0

    @property
    def end_ms(self) -> float:
        """When it was done."""
        return self.start_ms + self.ms


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """What the draft model did while the target verified.

    Attributes:
        schedule: "serial", "threads" or "streams"; "" for an iteration of any other method.
        drafted: tokens that continue the tree's trunk, in order.
        kinds: their origins.
        kept: how many of them, from the end, the next iteration verifies; 0 where the target disagreed.
        target: when the target's lane worked: retrieval and forward.
        draft: when the draft's lane worked.
    """

    schedule: str = ""
    drafted: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    kept: int = 0
    target: LaneRecord = LaneRecord()
    draft: LaneRecord = LaneRecord()

    @property
    def overlap_ms(self) -> float:
        """Time in which both lanes worked."""
        first_end = min(self.target.end_ms, self.draft.end_ms)
        return max(0.0, first_end - max(self.target.start_ms, self.draft.start_ms))


@dataclass(frozen=True)
class Iteration:
    """One propose → forward → walk → commit → learn round of one decoder.

    Attributes:
        index: 0-based number within its decoder.
        position: tokens committed before this iteration; the root is token `position − 1`.
        root: id of the last committed token.
        tree: what was proposed.
        picks: the model's own token after the root and after every node; −1 where none was needed.
        path: accepted nodes, root to leaf.
        emitted: tokens committed: those on the path, then the bonus, cut at a stop or limit.
        kinds: origin of every emitted token; "target" marks the model's own pick.
        forward: the verifying forward.
        draft: the draft decoder's own iterations that made the trunk; in a parallel round those that ran
            beside the forward, whose tokens are in `round.drafted`.
        pool: pool activity of this decoder in this iteration (the draft's is in `draft`).
        phases: milliseconds by phase: propose, forward, walk, commit, learn.
        knobs: knobs in force.
        window: the lookahead window, one tuple of token ids per level, before this iteration.
        note: anything unusual, in words.
        retrieval: the query that this decoder made.
        round: the draft's side of a parallel round.
        logprobs: log-probability of every emitted token by the model itself, before temperature and
            processors; () where it was not asked for.
    """

    index: int
    position: int
    root: int
    tree: TreeRecord
    picks: tuple[int, ...]
    path: tuple[int, ...]
    emitted: tuple[int, ...]
    kinds: tuple[str, ...]
    forward: ForwardRecord
    draft: tuple[Iteration, ...] = ()
    pool: PoolRecord = PoolRecord()
    phases: Mapping[str, float] = field(default_factory=dict)
    knobs: Mapping[str, object] = field(default_factory=dict)
    window: tuple[tuple[int, ...], ...] = ()
    note: str = ""
    retrieval: RetrievalRecord = field(default=RetrievalRecord(), metadata=SPARSE)
    round: RoundRecord = field(default=RoundRecord(), metadata=SPARSE)
    logprobs: tuple[float, ...] = field(default=(), metadata=SPARSE)

    @property
    def ms(self) -> float:
        """Wall time of the iteration."""
        return sum(self.phases.values())

    @cached_property
    def trunk_hits(self) -> tuple[bool, ...]:
        """For every draft position i whether dᵢ = vᵢ, the target's verdict there."""
        tree = self.tree
        return tuple(self.picks[tree.parents[node] + 1] == tree.tokens[node] for node in tree.trunk)

    @property
    def drafted(self) -> int:
        """Length g of the base draft."""
        return len(self.tree.trunk)

    @property
    def accepted(self) -> int:
        """A: length of the accepted prefix of the base draft."""
        hits = self.trunk_hits
        return hits.index(False) if False in hits else len(hits)

    @property
    def matches(self) -> int:
        """#Match (Eq. 10): draft positions that equal the verdict there, accepted or not."""
        return sum(self.trunk_hits)

    @cached_property
    def suffix_accepted(self) -> tuple[int, ...]:
        """Â of every branch: how many of its tokens, from its first on, equal the verdicts."""
        return tuple(self._leading_hits(branch.nodes) for branch in self.tree.branches)

    def _leading_hits(self, nodes: tuple[int, ...]) -> int:
        tree = self.tree
        for count, node in enumerate(nodes):
            if self.picks[tree.parents[node] + 1] != tree.tokens[node]:
                return count
        return len(nodes)

    def __str__(self) -> str:
        """One sentence about the iteration."""
        from phrasekit.trace.text import sentence

        return sentence(self)


@dataclass(frozen=True)
class Trace:
    """One run: what was asked, every iteration, why it ended.

    Attributes:
        method: name of the recipe.
        prompt: prompt token ids.
        iterations: the target decoder's iterations.
        finish_reason: "eos", "stop", "length", "context", "cancelled", or "" while running.
        settings: sampling, limits and models, as plain values (tuples, no lists).
        texts: what the token ids that occur look like, for readers without the tokenizer.
    """

    method: str
    prompt: tuple[int, ...]
    iterations: tuple[Iteration, ...] = ()
    finish_reason: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Generated token ids, in order."""
        return tuple(token for iteration in self.iterations for token in iteration.emitted)

    def metrics(self) -> Metrics:
        """Every derived number; see `phrasekit.trace.metrics.Metrics`."""
        from phrasekit.trace.metrics import measure

        return measure(self)

    def __str__(self) -> str:
        """The trace as text for a terminal."""
        from phrasekit.trace.text import render

        return render(self)
