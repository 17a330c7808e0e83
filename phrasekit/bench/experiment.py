"""`phrasekit experiment`: the DOUBLE paper's experiments, a table and a trace each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from phrasekit.bench.command import FAILED, INTERRUPTED, bar
from phrasekit.bench.models import MODELS, Models, with_models
from phrasekit.bench.options import (
    CLOCK,
    FAMILY,
    KNOBS,
    STORE,
    check_families,
    open_store,
    options,
    read_knobs,
)
from phrasekit.bench.outputs import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from phrasekit.bench.experiments import Findings
    from phrasekit.lm import Pair

NAMES = ("ceiling", "ablation", "depth", "rounds", "rejected")  # a test holds them to EXPERIMENTS


@click.command("experiment")
@click.argument("name", type=click.Choice(NAMES))
@options(MODELS)
@FAMILY
@click.option("--prompts", type=click.IntRange(1), default=6, show_default=True, help="How many.")
@click.option("--max-new-tokens", type=click.IntRange(1), default=128, show_default=True, help="Limit.")
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, help="Times all is done.")
@CLOCK
@KNOBS
@options(STORE)
@click.option("--out", type=FOLDER, help="Write table.json and every point's trace here.")
@click.pass_context
@with_models
def command(
    ctx: click.Context,
    *,
    name: str,
    models: Models,
    family: str,
    prompts: int,
    max_new_tokens: int,
    repeats: int,
    clock: str,
    knobs: Sequence[str],
    store_file: str | None,
    allow_seen: bool,
    schedule: str,
    out: Path | None,
) -> None:
    """Run an experiment of the DOUBLE paper on this pair.

    ceiling: PEARL and DOUBLE over γ against C, measured and modelled. ablation: DOUBLE without each of
    its parts. depth: d from 1 to 20. rounds: K warm-up rounds of the datastore, on other prompts than
    those measured. rejected: the cache of thrown-away drafts on and off.

    Every point races plain decoding in alternation; its tokens must be the same.
    """
    from phrasekit.bench.entrants import Entrants, check_seen
    from phrasekit.bench.experiments import EXPERIMENTS, Ground, run_experiment
    from phrasekit.bench.experimenttable import draw_findings
    from phrasekit.bench.prompts import encode, load_prompts
    from phrasekit.bench.table import terminal
    from phrasekit.propose import Corpus

    check_families([family])
    changes = _changes(knobs)
    store = open_store(store_file)
    if isinstance(store, Corpus):
        raise ValueError(f"these methods retrieve from a datastore, but {store_file} is a corpus")
    experiment = EXPERIMENTS[name]
    needed = prompts + 1 + experiment.warms
    found = load_prompts(family, count=needed)
    if experiment.warms and len(found) < needed:
        raise ValueError(
            f"{name} needs {needed} prompts, most of them to warm stores up on, but {family} has "
            f"{len(found)}; take another --family"
        )
    models.need_draft("an experiment")
    Entrants(knobs={"": changes}, schedule=schedule).check(models)
    pair = models.load()
    tasks = list(encode(pair, found, max_new_tokens=max_new_tokens, chat=False))
    counted, warmup, others = tasks[:prompts], tasks[prompts : prompts + 1], tasks[prompts + 1 :]
    check_seen(store, counted, file=store_file, allowed=allow_seen)
    ground = Ground(
        pair=pair,
        tasks=counted,
        others=others,
        max_new_tokens=max_new_tokens,
        knobs=changes,
        store=store,
        schedule=schedule,
    )
    with bar(None) as progress:
        findings = run_experiment(
            experiment, ground, repeats=repeats, warmup=warmup, clock=clock, progress=progress
        )
    terminal().print(draw_findings(findings))
    if out is not None:
        settings = {
            "family": family,
            "prompts": prompts,
            "repeats": repeats,
            "clock": clock,
            "knobs": changes,
        }
        _write(findings, pair, out, settings | {"max_new_tokens": max_new_tokens, "store": store_file})
    wrong = findings.failures or not all(result.identical for result in findings.results)
    ctx.exit(INTERRUPTED if findings.partial else FAILED if wrong else 0)


def _changes(knobs: Sequence[str]) -> dict[str, object]:
    """Changes of knobs that hold at every point.

    Raises:
        ValueError: one for a single method.
    """
    changes = read_knobs(knobs)
    shared = changes.pop("", {})
    if changes:
        raise ValueError(
            f"knobs of an experiment hold for every method, but got some for {', '.join(changes)}; write "
            "gamma=5"
        )
    return shared


def _write(findings: Findings, pair: Pair, folder: Path, settings: dict[str, Any]) -> None:
    """The table as JSON, and a trace of the first prompt for every point."""
    from phrasekit.bench.environment import environment
    from phrasekit.bench.files import write_json
    from phrasekit.trace import save_trace

    folder.mkdir(parents=True, exist_ok=True)
    document = {"environment": environment(pair), "settings": settings, **findings.as_dict()}
    write_json(document, folder / "table.json")
    for result in findings.results:
        name = "".join(letter if letter.isalnum() or letter in "=-" else "_" for letter in result.name)
        save_trace(result.trace, folder / f"{name}.jsonl")
