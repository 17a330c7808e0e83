"""Numbers of parallel runs: how far drafts carry, what retrieval finds, where the time goes.

DOUBLE (arXiv 2601.05524) reports mean accepted tokens, average matched tokens per retrieval and a
breakdown of latency; here they are counted from the trace, the same way for every schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from phrasekit.trace.rates import counts_and_rates, rate
from phrasekit.trace.records import (
    CACHE,
    CONTEXT,
    GUIDE,
    REJECTED,
    RETRIEVED,
    SERIAL,
    STORE,
    Iteration,
    Trace,
)

SIDES = ("draft", "target")
_RETRIEVED_KINDS = (RETRIEVED, REJECTED, GUIDE)


@dataclass(frozen=True, slots=True)
class SideMetrics:
    """Retrieval of one side.

    Attributes:
        queries: made.
        hits: that found something, by source.
        offered: tokens found.
        matched: tokens of those that the side's model agreed with, one after the other.
        ms: time spent.
    """

    queries: int
    hits: Mapping[str, int]
    offered: int
    matched: int
    ms: float

    @property
    def hit_rate(self) -> float | None:
        """Queries that found something."""
        return rate(sum(self.hits.values()), self.queries)

    @property
    def amt(self) -> float | None:
        """AMT: matched tokens per query, a miss counted as none."""
        return rate(self.matched, self.queries)


@dataclass(frozen=True, slots=True)
class RoundMetrics:
    """What is counted in parallel runs; the rest is derived.

    Attributes:
        rounds: target forwards.
        emitted: tokens, every one verified.
        breaks: rounds in which the target refused a drafted token and no guide went on from there; a run's
            last round is not counted.
        drafted: tokens the draft's lane wrote.
        kept: of them, how many the next round verified.
        draft_forwards: forwards of the draft model.
        sides: retrieval of "draft" and "target".
        target_ms: time inside target forwards.
        draft_ms: time inside draft forwards.
        commit_ms: time in cache commits.
        wait_ms: time the target's lane waited for the draft's.
        overlap_ms: time in which both lanes worked.
        total_ms: wall time of all rounds.
        modelled_ms: wall time if the draft's lane ran wholly beside the target's; see `measure_rounds`.
    """

    rounds: int
    emitted: int
    breaks: int
    drafted: int
    kept: int
    draft_forwards: int
    sides: Mapping[str, SideMetrics]
    target_ms: float
    draft_ms: float
    commit_ms: float
    wait_ms: float
    overlap_ms: float
    total_ms: float
    modelled_ms: float

    @property
    def tokens_per_forward(self) -> float | None:
        """η: tokens per target forward."""
        return rate(self.emitted, self.rounds)

    @property
    def mean_accepted(self) -> float | None:
        """MAT: tokens from one break of the draft to the next, the target's own among them."""
        return rate(self.emitted, self.breaks + 1) if self.rounds else None

    @property
    def tokens_per_draft_forward(self) -> float | None:
        """Drafted tokens per draft forward: 1 for PEARL, 1 + AMT for iterative retrieval."""
        return rate(self.drafted, self.draft_forwards)

    @property
    def retrieval_share(self) -> float | None:
        """Share of the time in which something was looked for."""
        return rate(sum(side.ms for side in self.sides.values()), self.total_ms)

    @property
    def overlap_share(self) -> float | None:
        """Share of the time in which both lanes worked."""
        return rate(self.overlap_ms, self.total_ms)

    @property
    def shares(self) -> dict[str, float]:
        """Where the wall time goes. What overlaps counts twice, so that they may add up to more than 1."""
        parts = {
            "target forwards": self.target_ms,
            "draft forwards": self.draft_ms,
            "retrieval": sum(side.ms for side in self.sides.values()),
            "KV cache": self.commit_ms,
            "waiting": self.wait_ms,
        }
        return {name: ms / self.total_ms for name, ms in parts.items()} if self.total_ms else {}

    @property
    def modelled_gain(self) -> float | None:
        """How many times as fast the same rounds would be with perfect overlap. Modelled, not measured."""
        return rate(self.total_ms, self.modelled_ms)

    def as_dict(self) -> dict[str, object]:
        """Every count and every rate by name."""
        return counts_and_rates(self)


def measure_rounds(*traces: Trace) -> RoundMetrics:
    """Count parallel runs together; iterations of other methods are passed over.

    `modelled_ms` is made of the same rounds: each takes as long as its longer lane and what the host
    does outside the lanes. A round whose draft a serial schedule left out, as nobody would have used it,
    is given the median draft of the others.
    """
    runs = [[one for one in trace.iterations if one.round.schedule] for trace in traces]
    rounds = [one for run in runs for one in run]
    inner = [step for one in rounds for step in one.draft]
    lanes = [one.round.draft.ms for one in rounds if one.draft]
    usual = median(lanes) if lanes else 0.0
    return RoundMetrics(
        rounds=len(rounds),
        emitted=sum(len(one.emitted) for one in rounds),
        breaks=sum(_broke(one) for run in runs for one in run[:-1]),
        drafted=sum(len(one.round.drafted) for one in rounds),
        kept=sum(one.round.kept for one in rounds),
        draft_forwards=len(inner),
        sides={"draft": _side(inner), "target": _side(rounds)},
        target_ms=sum(one.forward.ms for one in rounds),
        draft_ms=sum(step.forward.ms for step in inner),
        commit_ms=sum(one.phases.get("commit", 0.0) for one in (*rounds, *inner)),
        wait_ms=sum(one.phases.get("wait", 0.0) for one in rounds),
        overlap_ms=float(sum(one.round.overlap_ms for one in rounds)),
        total_ms=sum(one.ms for one in rounds),
        modelled_ms=sum(_modelled(one, usual) for one in rounds),
    )


def speed_by_forwards(*traces: Trace, ratio: float) -> float | None:
    """Speed-up over plain decoding of these rounds with perfect overlap, by forwards alone.

    A round takes one target forward, or its draft forwards where those take longer: max(1, forwards / C).
    It depends on what was accepted and on nothing that a clock says, as the analysis of the DOUBLE paper
    does (section 3). A round whose draft a serial schedule left out is given the median of the others.

    Args:
        traces: parallel runs.
        ratio: C = t_T / t_S.

    Returns:
        Tokens per target forward's time; None without rounds.

    Raises:
        ValueError: a ratio that is not above 0.
    """
    if not ratio > 0:
        raise ValueError(f"ratio must be above 0, but got {ratio}")
    rounds = [one for trace in traces for one in trace.iterations if one.round.schedule]
    counts = [len(one.draft) for one in rounds if one.draft]
    usual = median(counts) if counts else 0
    spent = sum(max(1.0, (len(one.draft) or usual) / ratio) for one in rounds)
    return rate(sum(len(one.emitted) for one in rounds), spent)


def agreed(one: Iteration) -> int:
    """How many tokens that the draft's lane wrote, from the first on, this round's text has too."""
    tail, drafted = len(one.tree.trunk), one.round.drafted
    if one.round.kept:
        return len(drafted) - one.round.kept
    # a tail that lost tokens says nothing about those behind them
    if one.accepted < tail or _lost(one):
        return 0
    pairs = list(zip(drafted, one.emitted[tail:], strict=False))
    return next((at for at, (mine, other) in enumerate(pairs) if mine != other), len(pairs))


def _lost(one: Iteration) -> int:
    """Tokens of the tail that the tree refused; what it refused of a guide is not among them."""
    guides = sum(len(branch.nodes) for branch in one.tree.branches if branch.kind == GUIDE)
    return one.tree.dropped - max(0, one.retrieval.offered - guides)


def _broke(one: Iteration) -> bool:
    """Whether a draft ended here, with nothing but the target's own token to go on."""
    if one.round.kept:
        return False
    tail = len(one.tree.trunk)
    mended = one.accepted == tail and len(one.emitted) > tail + 1
    used_up = 0 < agreed(one) == len(one.round.drafted)
    return not (mended or used_up)


def _side(steps: Sequence[Iteration]) -> SideMetrics:
    queries = [step.retrieval for step in steps]
    hits = {source: sum(q.source == source for q in queries) for source in (CONTEXT, STORE, CACHE)}
    return SideMetrics(
        queries=sum(query.asked for query in queries),
        hits=hits,
        offered=sum(query.offered for query in queries),
        matched=sum(_matched(step) for step in steps),
        ms=sum(query.ms for query in queries),
    )


def _matched(step: Iteration) -> int:
    """Accepted nodes that were retrieved in this step; the tail's own, retrieved before, do not count."""
    trunk = set(step.tree.trunk)
    kinds = step.tree.kinds
    return sum(node not in trunk and kinds[node] in _RETRIEVED_KINDS for node in step.path)


def _modelled(one: Iteration, usual: float) -> float:
    beside = one.round.draft.ms if one.draft else usual
    # phases hold the wait for the draft's lane, or the lane itself where it ran by itself
    phase = "draft" if one.round.schedule == SERIAL else "wait"
    alone = one.ms - one.round.target.ms - one.phases.get(phase, 0.0)
    return max(one.round.target.ms, beside) + max(0.0, alone)
