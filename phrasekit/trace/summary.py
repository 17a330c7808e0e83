"""The numbers of a run in a few lines, each with its definition in short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from phrasekit.trace.rates import number, percent
from phrasekit.trace.visible import visible

if TYPE_CHECKING:
    from phrasekit.trace.metrics import Metrics


def summary(metrics: Metrics) -> Iterator[str]:
    """Say the numbers worth a line; mechanisms that never ran have none.

    Args:
        metrics: of one run or several.

    Yields:
        Lines without line breaks.
    """
    yield (
        f"{counted(metrics.emitted, 'token')} in {counted(metrics.iterations, 'target forward')}: "
        f"{number(metrics.block_efficiency)} a forward (η, bonus included)"
    )
    if metrics.emitted:
        origins = sorted(metrics.emitted_by_origin.items())
        yield f"origins: {', '.join(f'{visible(kind, keep=20)} {count}' for kind, count in origins)}"
    if metrics.drafted:
        yield from _draft_lines(metrics)
    if metrics.rounds:
        yield (
            f"rounds: {metrics.rounds} with the draft model beside the target, {metrics.kept} of "
            f"{counted(metrics.written, 'token')} drafted there went on to be verified"
        )
    if metrics.suffix_rounds:
        behind = "guides" if metrics.rounds else "suffixes"
        yield (
            f"{behind}: best kept {number(metrics.mean_suffix_accepted)} in "
            f"{counted(metrics.suffix_rounds, 'round')} with the whole draft accepted (Â, bonus excluded)"
        )
    if metrics.lookups:
        yield (
            f"pool: {metrics.hits} of {counted(metrics.lookups, 'lookup')} hit "
            f"({percent(metrics.hit_rate)}), {counted(metrics.pool_size, 'phrase')} at the end "
            f"({metrics.pool_growth:+d})"
        )
    if metrics.total_ms:
        yield (
            f"time: {metrics.total_ms:.1f} ms, target {percent(metrics.target_ms / metrics.total_ms)}, "
            f"draft {percent(metrics.draft_ms / metrics.total_ms)}, "
            f"everything else {percent(metrics.overhead_share)}, "
            f"{number(metrics.tokens_per_second)} tokens/s with the prompt{_overlap(metrics)}"
        )


def counted(count: int, noun: str, plural: str = "") -> str:
    """Number and noun, in the plural where due."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _draft_lines(metrics: Metrics) -> Iterator[str]:
    yield (
        f"draft: {metrics.accepted} of {counted(metrics.drafted, 'token')} accepted "
        f"({percent(metrics.acceptance_rate)}), mean A {number(metrics.mean_accepted)} (bonus excluded), "
        f"#Match - A {number(metrics.misplaced)}, p {number(metrics.acceptance_estimate)}"
    )
    if metrics.draft_forwards:
        yield (
            f"draft forwards: {metrics.draft_forwards}, "
            f"{number(metrics.tokens_per_draft_forward)} tokens drafted by each (c), "
            f"{number(metrics.draft_forwards_per_token)} per token out"
        )


def _overlap(metrics: Metrics) -> str:
    """Shares of lanes that overlap add up to more than everything."""
    share = percent(metrics.overlap_ms / metrics.total_ms)
    return f"; both lanes at work for {share} of it" if metrics.overlap_ms else ""
