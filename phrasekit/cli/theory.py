"""`phrasekit theory`: what the closed forms promise for a pair, from its measured costs and acceptance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from phrasekit.bench.models import MODELS, Models, with_models
from phrasekit.bench.options import options
from phrasekit.cli.terminal import working
from phrasekit.theory import (
    Acceptance,
    best_gamma,
    effective_draft_length,
    ouroboros_speedup,
    parallel_ceiling,
    pearl_speedup,
    speculative_speedup,
)

if TYPE_CHECKING:
    from phrasekit.lm import Pair

GAMMAS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
CONTEXT = 128  # cached rows at which forwards are timed
MOST = 32  # longest draft considered


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """What was measured, or given.

    Attributes:
        t_draft: milliseconds of a draft forward of one row.
        t_target: of a target forward of one row.
        acceptance: α, chance that a drafted token is accepted.
        c: tokens drafted per draft forward with phrases.
        beta: tokens a pool suffix adds.
        matched: AMT, retrieved tokens per draft forward that the draft model agrees with.
    """

    t_draft: float
    t_target: float
    acceptance: float
    c: float
    beta: int
    matched: float


@click.command()
@options(MODELS)
@click.option(
    "--prompts", type=click.IntRange(1), default=4, show_default=True, help="Prompts for the acceptance."
)
@click.option("--max-new-tokens", type=click.IntRange(8), default=96, show_default=True, help="Of each.")
@with_models
def theory(models: Models, prompts: int, max_new_tokens: int) -> None:
    """Measure a pair, and say what drafting can gain by the equations of the two papers.

    Eq. 5 and Eq. 6 (Ouroboros) for drafting and verifying in turn, the ceiling C and its lifting by
    retrieval (DOUBLE) for doing both at once. All of it counts forwards only and takes a target forward
    to cost the same for every number of rows; `phrasekit bench` says what is left of it in practice.
    """
    models.need_draft("theory")
    with working("Starting"):
        from phrasekit.tune import bundled

        texts = bundled()
    if prompts > len(texts):
        raise ValueError(
            f"--prompts must be at most {len(texts)}, which are bundled, but got {prompts}; take fewer"
        )
    with working("Loading"):
        pair = models.load()
    with working("Measuring"):
        ground = measure_ground(pair, texts[:prompts], max_new_tokens=max_new_tokens)
    for line in report(ground):
        click.echo(line)


def measure_ground(pair: Pair, texts: Sequence[str], *, max_new_tokens: int) -> Ground:
    """Time forwards of one row, and decode some prompts with three methods."""
    from phrasekit.api import generate
    from phrasekit.methods import tuned
    from phrasekit.pool import PhrasePool
    from phrasekit.trace import measure, measure_rounds
    from phrasekit.tune import measure_costs

    costs = measure_costs(pair, rows=(1,), contexts=(CONTEXT,))
    pool, traces = PhrasePool(), {}
    for method in ("speculative", "ouroboros", "double"):
        traces[method] = [
            generate(pair, text, method=method, pool=pool, max_new_tokens=max_new_tokens).trace
            for text in texts
        ]
    accepted = measure(*traces["speculative"]).acceptance_estimate
    knobs = tuned("ouroboros", pair, {})
    return Ground(
        t_draft=costs.ms("draft", 1, CONTEXT),
        t_target=costs.ms("target", 1, CONTEXT),
        acceptance=accepted or 0.0,
        c=measure(*traces["ouroboros"]).tokens_per_draft_forward or 1.0,
        beta=knobs.beta - 1 if knobs.suffixes else 0,
        matched=measure_rounds(*traces["double"]).sides["draft"].amt or 0.0,
    )


def report(ground: Ground) -> Iterator[str]:
    """The measured numbers, a table over γ, and what they mean."""
    costs = {"t_draft": ground.t_draft, "t_target": ground.t_target}
    acceptance = Acceptance(beyond=ground.acceptance)
    ceiling = parallel_ceiling(**costs)
    lifted = effective_draft_length(matched=ground.matched, **costs)
    yield (
        f"measured: t_S {ground.t_draft:.2f} ms, t_T {ground.t_target:.2f} ms a forward of one row; "
        f"α {ground.acceptance:.3f}; c {ground.c:.2f}; AMT {ground.matched:.2f}"
    )
    yield f"ceiling C = t_T / t_S = {ceiling:.2f}; with retrieval C · (1 + AMT) = {lifted:.2f}"
    yield ""
    yield "speed-ups over plain decoding, by forwards alone"
    yield f"{'γ':>3}  {'Eq. 5':>7}  {'Eq. 6':>7}  {'PEARL':>7}"
    for gamma in GAMMAS:
        values = (
            speculative_speedup(acceptance, gamma, **costs),
            ouroboros_speedup(acceptance, gamma, ground.beta, c=ground.c, **costs),
            pearl_speedup(ground.acceptance, gamma, **costs),
        )
        yield f"{gamma:>3}  " + "  ".join(f"{value:7.2f}" for value in values)
    yield ""
    yield from _meaning(acceptance, ground, ceiling)


def _meaning(acceptance: Acceptance, ground: Ground, ceiling: float) -> Iterator[str]:
    costs = {"t_draft": ground.t_draft, "t_target": ground.t_target}
    gamma = best_gamma(acceptance, MOST, t_draft=ground.t_draft, t_target=ground.t_target)
    if gamma == 0:
        yield "Drafting token by token does not pay for this pair: no γ beats plain decoding by Eq. 5."
    else:
        gain = speculative_speedup(acceptance, gamma, **costs)
        yield f"In turn, drafting token by token is best at γ = {gamma}: at most {gain:.2f} × plain decoding."
    best = max(range(1, MOST + 1), key=lambda one: pearl_speedup(ground.acceptance, one, **costs))
    beside = pearl_speedup(ground.acceptance, best, **costs)
    yield (
        f"At the same time it is best at γ = {best}: at most {beside:.2f} ×, and {ceiling:.2f} × with a "
        "perfect draft; that needs a device for each model."
    )
