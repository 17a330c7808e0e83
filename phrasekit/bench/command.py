"""`phrasekit bench`: the benchmark, and beside it `agreement` and `sweep`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from phrasekit.bench.models import MODELS, Models, with_models
from phrasekit.bench.options import (
    FAMILY,
    KNOBS,
    OUTPUT,
    STORE,
    WORK,
    check_families,
    open_store,
    options,
    read_grid,
    read_knobs,
    read_suite,
    split,
)
from phrasekit.bench.outputs import FILE

if TYPE_CHECKING:
    from pathlib import Path

    from phrasekit.bench.report import Report
    from phrasekit.bench.runner import Progress
    from phrasekit.lm import Pair

INTERRUPTED = 130
FAILED = 1


@click.group("bench", invoke_without_command=True)
@options(MODELS, WORK)
@click.option("--methods", metavar="NAMES", help="Comma list, or all for the ablations too.  [all but those]")
@click.option("--peers", metavar="NAMES", help="Comma list, or none.  [all that can run here]")
@click.option(
    "--inference-mode/--no-inference-mode",
    "inference",
    default=True,
    show_default=True,
    help="Run peers inside torch.inference_mode on a CPU, which makes them faster.",
)
@KNOBS
@options(STORE)
@click.option("--spec-bench", type=FILE, help="Write Spec-Bench answers, one file each.")
@OUTPUT
@click.option("--list", "listed", is_flag=True, help="Say which families, methods and peers there are.")
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Measure every method against plain decoding and against its peers.

    For each prompt every contender runs once, taking turns who begins; all of that is repeated, and the
    table gives medians over the repeats with their quartiles. Phrase pools live across the prompts of a
    repeat and start empty in the next. A peer that has several settings races at the one that is fastest
    on a few prompts beforehand.

    A peer is named whole (assisted) or at one setting (assisted-4). Ctrl-C ends the run and shows what
    is finished; the exit status is then 130, and 1 where a method's tokens differ from the reference.
    """
    if ctx.invoked_subcommand is None:
        _bench(ctx, **given)
        return
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            name = ctx.invoked_subcommand
            raise click.UsageError(
                f"options of {name} go behind it, but {parameter.opts[-1]} stands before it"
            )


bench = command


@with_models
def _bench(
    ctx: click.Context,
    *,
    models: Models,
    methods: str | None,
    peers: str | None,
    inference: bool,
    knobs: Sequence[str],
    fresh_pool: bool,
    store_file: str | None,
    allow_seen: bool,
    schedule: str,
    json_file: Path | None,
    spec_bench: Path | None,
    listed: bool,
    **given: Any,
) -> None:
    from phrasekit.bench.table import draw_report, terminal

    if listed:
        _list()
        return
    from phrasekit.bench.entrants import Entrants, check_seen
    from phrasekit.methods import runnable

    suite = read_suite(given)
    check_families(suite.families)
    entrants = Entrants(
        methods=runnable(None) if methods == "all" else split(methods) or (),
        peers=() if peers == "none" else split(peers),
        knobs=read_knobs(knobs),
        fresh_pool=fresh_pool,
        inference=inference,
        schedule=schedule,
    )
    store = open_store(store_file)
    entrants.check(models, store)
    pair = models.load()
    tasks = (task for family in suite.families for task in suite.tasks(pair, family)[0])
    seen = check_seen(store, tasks, file=store_file, allowed=allow_seen)
    contenders = entrants.contenders(pair, max_new_tokens=suite.max_new_tokens, store=store)
    settings = asdict(suite) | asdict(entrants) | {"store": store_file, "store_saw": seen}
    with bar(suite.generations(contenders)) as progress:
        report = suite.run(pair, contenders, settings=settings, progress=progress)
    terminal().print(draw_report(report))
    _write(report, pair, json_file, spec_bench)
    ctx.exit(_status(report))


@command.command()
@options(MODELS, WORK)
@click.option("--method", default="ouroboros", show_default=True, help="Method to try.")
@click.option(
    "--grid", multiple=True, required=True, metavar="NAME=V1,V2", help="Values of a knob; may be repeated."
)
@KNOBS
@OUTPUT
@click.pass_context
@with_models
def sweep(
    ctx: click.Context,
    *,
    models: Models,
    method: str,
    grid: Sequence[str],
    knobs: Sequence[str],
    fresh_pool: bool,
    json_file: Path | None,
    **given: Any,
) -> None:
    """Try every combination of knob values against plain decoding, alternating.

    phrasekit bench sweep --grid gamma=3,4,5,6 --grid guesses=0,2,4
    """
    from phrasekit.bench.entrants import Entrants
    from phrasekit.bench.sweep import grid_contenders, points
    from phrasekit.bench.table import draw_sweep, terminal

    suite = read_suite(given, recording=False)
    check_families(suite.families)
    values, changes = read_grid(grid), read_knobs(knobs)
    Entrants(methods=[method], knobs=changes).check(models)
    points(values)
    pair = models.load()
    contenders = grid_contenders(
        pair,
        method,
        values,
        knobs={**changes.get("", {}), **changes.get(method, {})},
        max_new_tokens=suite.max_new_tokens,
        fresh_pool=fresh_pool,
    )
    settings = asdict(suite) | {"method": method, "grid": values, "knobs": changes, "fresh_pool": fresh_pool}
    with bar(suite.generations(contenders)) as progress:
        report = suite.run(pair, contenders, settings=settings, progress=progress)
    for family in report.families:
        terminal().print(draw_sweep(family))
    _write(report, pair, json_file, None)
    ctx.exit(_status(report))


@command.command()
@options(MODELS)
@FAMILY
@click.option("--prompts", type=click.IntRange(1), default=40, show_default=True, help="How many.")
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="Prompts to pass over.")
@click.option("--max-new-tokens", type=click.IntRange(1), default=128, show_default=True, help="Limit.")
@click.option("--gamma", type=click.IntRange(1), default=4, show_default=True, help="Draft length γ.")
@click.option("--chat", is_flag=True, help="Put prompts through the model's chat template.")
@OUTPUT
@click.pass_context
@with_models
def agreement(
    ctx: click.Context,
    *,
    models: Models,
    family: str,
    prompts: int,
    offset: int,
    max_new_tokens: int,
    gamma: int,
    chat: bool,
    json_file: Path | None,
) -> None:
    """Say how often draft and target agree, on the target's own greedy output."""
    from phrasekit.bench.agreement import measure_agreement
    from phrasekit.bench.environment import environment
    from phrasekit.bench.files import write_json
    from phrasekit.bench.prompts import encode, load_prompts
    from phrasekit.bench.table import terminal
    from phrasekit.decode import Knobs

    found = load_prompts(family, count=prompts, offset=offset)
    models.need_draft("agreement")
    Knobs(gamma=gamma)
    pair = models.load()
    tasks = encode(pair, found, max_new_tokens=max_new_tokens, chat=chat)
    with bar(len(tasks)) as progress:
        result = measure_agreement(pair, tasks, gamma=gamma, max_new_tokens=max_new_tokens, progress=progress)
    terminal().print(str(result))
    if json_file is not None:
        settings = {"family": family, "prompts": prompts, "offset": offset, "max_new_tokens": max_new_tokens}
        document = {"environment": environment(pair), "settings": settings, **result.as_dict()}
        write_json(document, json_file)
    ctx.exit(INTERRUPTED if result.partial else 0)


@contextmanager
def bar(total: int | None) -> Iterator[Progress]:
    """A bar on standard error, where somebody watches; without an end where nobody knows it."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from phrasekit.bench.table import terminal

    console = terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, disable=not console.is_terminal, transient=True) as shown:
        # a bar that redraws while a contender runs would take part in its time
        shown.live.auto_refresh = False
        task = shown.add_task("", total=total)

        def advance(name: str) -> None:
            shown.update(task, advance=1, description=f"{name[:32]:32}", refresh=True)

        yield advance


def _write(report: Report, pair: Pair, json_file: Path | None, spec_bench: Path | None) -> None:
    from phrasekit.bench.files import write_json, write_spec_bench

    if json_file is not None:
        write_json(report.as_dict(), json_file)
    if spec_bench is not None:
        tokenizer = pair.tokenizer

        def decode(ids: Sequence[int]) -> str:
            return "" if tokenizer is None else str(tokenizer.decode(list(ids), skip_special_tokens=True))

        write_spec_bench(report, spec_bench, decode=decode)


def _status(report: Report) -> int:
    if report.partial:
        return INTERRUPTED
    ours = [one for family in report.families for one in family.standings if one.ours]
    return FAILED if any(one.failure or one.differing for one in ours) else 0


def _list() -> None:
    from phrasekit.bench.peers import PEERS
    from phrasekit.bench.prompts import FAMILIES
    from phrasekit.methods import METHODS

    lines = ["Families"]
    lines += [f"  {name:16}{family.summary}" for name, family in FAMILIES.items()]
    lines += ["Methods"] + [f"  {name:28}{method.summary}" for name, method in METHODS.items()]
    lines += ["Peers"]
    lines += [f"  {name:16}{peer.summary}: {', '.join(peer.variants)}" for name, peer in PEERS.items()]
    click.echo("\n".join(lines))
