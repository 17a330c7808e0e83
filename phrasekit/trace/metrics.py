"""The numbers of a run, derived from its records.

Counts are fields, and rates are properties of the counts, so that several runs can be measured as
one without averaging averages. A rate whose denominator is zero is None. "Bonus" is the target's
own token where the walk stopped; every definition below says whether it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from phrasekit.trace.rates import counts_and_rates, rate
from phrasekit.trace.records import Iteration, PoolRecord, Trace
from phrasekit.trace.rounds import measure_rounds
from phrasekit.trace.summary import summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Counts of one run, or of several taken together, and the rates that follow.

    "Drafted" always means the base draft (the trunk); phrases and copies proposed beside or behind
    it are suffixes. A verdict counts even where a stop or limit cut the text before it.

    Attributes:
        iterations: target forwards; every iteration is exactly one, the one reading the prompt too.
        emitted: tokens committed: accepted tokens and bonuses after the cut; the prompt excluded.
        emitted_by_origin: `emitted` by who proposed the token; "target" is the bonus.
        drafting: iterations that drafted at least one token.
        drafted: tokens drafted, Σ g; bonus and suffixes excluded.
        accepted: drafted tokens accepted, Σ A; bonus and suffixes excluded.
        matches: Σ #Match: drafted tokens equal to the verdict there, before the mistake or after.
        rejections: drafts with a first mistake (A < g); a fully accepted draft observes none.
        drafted_by_position: per draft position i, iterations that drafted a token there.
        tested_by_position: per i, iterations with a token at i and everything before it accepted.
        accepted_by_position: per i, iterations in which the token at i was accepted (A > i).
        suffix_rounds: iterations with a suffix behind the draft and the whole draft accepted.
        suffix_accepted: Σ Â of the best suffix in each of the `suffix_rounds`; bonus excluded.
        dropped: proposed tokens refused before the forward.
        draft_forwards: forwards of the model that drafts for the target.
        written: tokens those delivered: the trunk's, or in parallel rounds what was drafted beside them.
        rounds: iterations in which the draft model worked beside the target; `measure_rounds` says more.
        kept: tokens written in those and verified in the next.
        overlap_ms: time in which both lanes of the rounds worked.
        inner_forwards: forwards of every model below the target; more than `draft_forwards` only
            in a cascade.
        target_lookups: pool lookups on the target side.
        target_hits: those that returned at least one phrase.
        draft_lookups: pool lookups on the draft side, all levels.
        draft_hits: those that returned at least one phrase.
        pool_inserted: new phrases, both sides; refreshing a known phrase is not counted.
        pool_evicted: phrases that had to go, both sides.
        pool_size: phrases in the (largest) pool at the end.
        decode_forwards: target forwards after the first, which also reads the prompt.
        decode_rows: rows fed to the target by those.
        decode_emitted: tokens emitted by those, bonus included.
        decode_ms: wall time of those iterations.
        total_ms: wall time of all iterations, the prompt's included.
        target_ms: of it, inside target forwards.
        draft_ms: of it, inside forwards of every model below the target.
        phase_ms: wall time by phase of the target's loop; drafting is inside "propose".
    """

    iterations: int
    emitted: int
    emitted_by_origin: Mapping[str, int]
    drafting: int
    drafted: int
    accepted: int
    matches: int
    rejections: int
    drafted_by_position: tuple[int, ...]
    tested_by_position: tuple[int, ...]
    accepted_by_position: tuple[int, ...]
    suffix_rounds: int
    suffix_accepted: int
    dropped: int
    draft_forwards: int
    written: int
    rounds: int
    kept: int
    overlap_ms: float
    inner_forwards: int
    target_lookups: int
    target_hits: int
    draft_lookups: int
    draft_hits: int
    pool_inserted: int
    pool_evicted: int
    pool_size: int
    decode_forwards: int
    decode_rows: int
    decode_emitted: int
    decode_ms: float
    total_ms: float
    target_ms: float
    draft_ms: float
    phase_ms: Mapping[str, float]

    @property
    def block_efficiency(self) -> float | None:
        """η: emitted tokens per target forward, bonus included."""
        return rate(self.emitted, self.iterations)

    @property
    def mean_accepted(self) -> float | None:
        """Mean A over the iterations that drafted; bonus and suffixes excluded."""
        return rate(self.accepted, self.drafting)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted drafted tokens per drafted token; bonus excluded, untested tokens included."""
        return rate(self.accepted, self.drafted)

    @property
    def acceptance_estimate(self) -> float | None:
        """Chance p that a tested token is accepted: Σ A / (Σ A + observed rejections).

        The maximum-likelihood estimate for a constant hazard, full acceptance right-censored.
        """
        return rate(self.accepted, self.accepted + self.rejections)

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """Unconditional: of the iterations that drafted position i, the share with A > i."""
        pairs = zip(self.accepted_by_position, self.drafted_by_position, strict=True)
        return tuple(accepted / drafted for accepted, drafted in pairs)

    @property
    def hazard_by_position(self) -> tuple[float | None, ...]:
        """Conditional: rejections observed at i per time i was tested; None where never tested.

        A draft accepted whole says nothing about the positions after its end (right-censored).
        """
        pairs = zip(self.accepted_by_position, self.tested_by_position, strict=True)
        return tuple(rate(tested - accepted, tested) for accepted, tested in pairs)

    @property
    def mean_matches(self) -> float | None:
        """Mean #Match over the iterations that drafted."""
        return rate(self.matches, self.drafting)

    @property
    def misplaced(self) -> float | None:
        """Mean #Match − A over the iterations that drafted: right, but after the first mistake."""
        return rate(self.matches - self.accepted, self.drafting)

    @property
    def mean_suffix_accepted(self) -> float | None:
        """Mean Â of the best suffix, over iterations with suffixes and the whole draft accepted."""
        return rate(self.suffix_accepted, self.suffix_rounds)

    @property
    def tokens_per_draft_forward(self) -> float | None:
        """c: tokens written per forward of the model that drafts for the target."""
        return rate(self.written, self.draft_forwards)

    @property
    def draft_forwards_per_token(self) -> float | None:
        """Forwards of the drafting model per emitted token, bonus included."""
        return rate(self.draft_forwards, self.emitted)

    @property
    def lookups(self) -> int:
        """Pool lookups of both sides."""
        return self.target_lookups + self.draft_lookups

    @property
    def hits(self) -> int:
        """Pool hits of both sides."""
        return self.target_hits + self.draft_hits

    @property
    def hit_rate(self) -> float | None:
        """Hits per lookup, both sides."""
        return rate(self.hits, self.lookups)

    @property
    def target_hit_rate(self) -> float | None:
        """Hits per lookup on the target side."""
        return rate(self.target_hits, self.target_lookups)

    @property
    def draft_hit_rate(self) -> float | None:
        """Hits per lookup on the draft side."""
        return rate(self.draft_hits, self.draft_lookups)

    @property
    def pool_growth(self) -> int:
        """Phrases gained over the run: inserted less evicted, both sides."""
        return self.pool_inserted - self.pool_evicted

    @property
    def rows_per_target_forward(self) -> float | None:
        """Mean rows fed to the target, the first forward left out as it also reads the prompt."""
        return rate(self.decode_rows, self.decode_forwards)

    @property
    def overhead_share(self) -> float | None:
        """Share of `total_ms` outside all model forwards; 0 where forwards overlap in time."""
        spent = rate(self.target_ms + self.draft_ms, self.total_ms)
        return None if spent is None else max(0.0, 1.0 - spent)

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens, bonus included, per second of all iterations, the prompt's included."""
        return rate(1000.0 * self.emitted, self.total_ms)

    @property
    def decode_tokens_per_second(self) -> float | None:
        """The same over decode time: without the first iteration, which reads the prompt."""
        return rate(1000.0 * self.decode_emitted, self.decode_ms)

    def as_dict(self) -> dict[str, object]:
        """Every count and every rate by name, as plain numbers, tuples and dicts."""
        return counts_and_rates(self)

    def __str__(self) -> str:
        """The numbers worth a line."""
        return "\n".join(summary(self))


def measure(*traces: Trace) -> Metrics:
    """Derive the numbers of one run, or of several counted together.

    Args:
        *traces: the runs; none at all, or runs without iterations, give zero counts.

    Returns:
        Counts over all iterations of all runs; `pool_size` is that of the last one.
    """
    iterations = [iteration for trace in traces for iteration in trace.iterations]
    beside = measure_rounds(*traces)
    inner = [below for iteration in iterations for below in _below(iteration)]
    decoding = [iteration for iteration in iterations if iteration.index > 0]
    suffixes = [best for iteration in iterations if (best := _best_suffix(iteration)) is not None]
    drafts = [iteration.drafted for iteration in iterations]
    kept = [iteration.accepted for iteration in iterations]
    tested = [min(g, a + 1) for g, a in zip(drafts, kept, strict=True)]
    deepest = max(drafts, default=0)
    origins = Counter(kind for iteration in iterations for kind in iteration.kinds)
    pools = [iteration.pool for iteration in iterations + inner]
    return Metrics(
        iterations=len(iterations),
        emitted=_emitted(iterations),
        emitted_by_origin=dict(origins),
        drafting=sum(g > 0 for g in drafts),
        drafted=sum(drafts),
        accepted=sum(kept),
        matches=sum(iteration.matches for iteration in iterations),
        rejections=sum(a < g for g, a in zip(drafts, kept, strict=True)),
        drafted_by_position=_reaching(drafts, deepest),
        tested_by_position=_reaching(tested, deepest),
        accepted_by_position=_reaching(kept, deepest),
        suffix_rounds=len(suffixes),
        suffix_accepted=sum(suffixes),
        dropped=sum(iteration.tree.dropped for iteration in iterations + inner),
        draft_forwards=sum(len(iteration.draft) for iteration in iterations),
        written=beside.drafted + sum(one.drafted for one in iterations if not one.round.schedule),
        rounds=beside.rounds,
        kept=beside.kept,
        overlap_ms=beside.overlap_ms,
        inner_forwards=len(inner),
        target_lookups=sum(iteration.pool.lookups for iteration in iterations),
        target_hits=sum(iteration.pool.hits for iteration in iterations),
        draft_lookups=sum(iteration.pool.lookups for iteration in inner),
        draft_hits=sum(iteration.pool.hits for iteration in inner),
        pool_inserted=sum(len(pool.inserted) for pool in pools),
        pool_evicted=sum(len(pool.evicted) for pool in pools),
        pool_size=_last_size(iterations),
        decode_forwards=len(decoding),
        decode_rows=sum(iteration.forward.rows for iteration in decoding),
        decode_emitted=_emitted(decoding),
        decode_ms=float(sum(iteration.ms for iteration in decoding)),
        total_ms=float(sum(iteration.ms for iteration in iterations)),
        target_ms=_forward_ms(iterations),
        draft_ms=_forward_ms(inner),
        phase_ms=_phase_ms(iterations),
    )


def _reaching(lengths: Sequence[int], deepest: int) -> tuple[int, ...]:
    """For every position, how many of the lengths go beyond it."""
    return tuple(sum(length > position for length in lengths) for position in range(deepest))


def _below(iteration: Iteration) -> Iterator[Iteration]:
    """Iterations of every decoder below this one."""
    for inner in iteration.draft:
        yield from _below(inner)
        yield inner


def _emitted(iterations: Iterable[Iteration]) -> int:
    return sum(len(iteration.emitted) for iteration in iterations)


def _forward_ms(iterations: Iterable[Iteration]) -> float:
    return float(sum(iteration.forward.ms for iteration in iterations))


def _phase_ms(iterations: Iterable[Iteration]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for iteration in iterations:
        for phase, ms in iteration.phases.items():
            totals[phase] = totals.get(phase, 0.0) + ms
    return totals


def _best_suffix(iteration: Iteration) -> int | None:
    """Largest Â among the branches behind the draft; None without one or if the draft broke."""
    if iteration.accepted < iteration.drafted:
        return None
    tree = iteration.tree
    end = tree.trunk[-1] if tree.trunk else -1
    lengths = zip(tree.branches, iteration.suffix_accepted, strict=True)
    behind = [length for branch, length in lengths if branch.nodes and tree.parents[branch.nodes[0]] == end]
    return max(behind, default=None)


def _last_size(iterations: Sequence[Iteration]) -> int:
    """Size of the largest pool in the last iteration that reported one."""
    for iteration in reversed(iterations):
        pools: list[PoolRecord] = [iteration.pool, *(inner.pool for inner in _below(iteration))]
        if size := max(pool.size for pool in pools):
            return size
    return 0
