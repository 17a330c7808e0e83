"""`phrasekit tune`: the fastest setting for a pair on this device, and whether it pays at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.live import Live

from phrasekit.bench.models import threads
from phrasekit.bench.options import CLOCK, OUTPUT, split
from phrasekit.bench.outputs import FILE
from phrasekit.cli.interrupt import interruptible
from phrasekit.cli.program import FAILED, INTERRUPTED
from phrasekit.cli.prompts import Prompt, conversations, read_lines
from phrasekit.cli.request import Request, request_options
from phrasekit.cli.terminal import err, out, say
from phrasekit.cli.tuneview import costs_table, held_out_table, live_view, maps, trials_table

if TYPE_CHECKING:
    from pathlib import Path

    from phrasekit.lm import Pair
    from phrasekit.tune import Plan, Tuning
    from phrasekit.tune.strategy import Value

FORMS = ("python", "yaml", "command", "transformers", "vllm")
MAX_NEW_TOKENS = 40


@click.command(context_settings={"default_map": {"max_new_tokens": MAX_NEW_TOKENS}})
@click.option(
    "--method",
    "methods",
    multiple=True,
    default=("ouroboros",),
    show_default=True,
    help="A name that `phrasekit methods` lists; may be repeated.",
)
@click.option(
    "--strategy",
    type=click.Choice(("algorithm1", "grid")),
    default="algorithm1",
    show_default=True,
    help="One knob after the other as in the paper (γ, W, β), or every combination.",
)
@click.option(
    "--grid",
    multiple=True,
    metavar="NAME=V1,V2",
    help="Values of a knob to try; may be repeated.  [algorithm1: the method's usual ones]",
)
@click.option(
    "--prompts",
    "file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help='JSON Lines, each {"prompt": …} or a string; half of them are held out.  [16 that are bundled]',
)
@click.option("--family", metavar="NAME", help="Take prompts of `phrasekit bench --list` instead.")
@click.option("--count", type=click.IntRange(2), default=16, show_default=True, help="Prompts of a family.")
@click.option("--chat", is_flag=True, help="Put prompts through the model's chat template.")
@click.option("--repeats", type=click.IntRange(1), default=2, show_default=True, help="Of every trial.")
@click.option(
    "--final-repeats", type=click.IntRange(1), default=3, show_default=True, help="Of the held-out prompts."
)
@click.option(
    "--split-seed", type=int, default=0, show_default=True, help="Deals prompts into the two halves."
)
@click.option(
    "--study",
    type=FILE,
    help="Optuna journal to keep trials in; a search that was killed goes on from it.",
)
@click.option("--budget", type=float, metavar="SECONDS", help="Begin no trial that would take longer.")
@click.option("--fresh-pool", is_flag=True, help="An empty phrase pool for every prompt.")
@CLOCK
@threads(None)
@click.option(
    "--export",
    "forms",
    multiple=True,
    type=click.Choice((*FORMS, "all")),
    default=("command",),
    show_default=True,
    help="Forms to show the setting in; may be repeated.",
)
@OUTPUT
@request_options
def tune(
    request: Request,
    methods: Sequence[str],
    strategy: str,
    grid: Sequence[str],
    file: str | None,
    family: str | None,
    count: int,
    chat: bool,
    study: Path | None,
    forms: Sequence[str],
    json_file: Path | None,
    split_seed: int,
    **measuring: Any,
) -> None:
    """Search the fastest setting on this device, then say whether speculation pays.

    A knob given by its own option is fixed, all others are searched. Trials run on one half of the
    prompts, plain decoding and the trial taking turns; the verdict is measured on the other half. A trial
    whose tokens differ from plain decoding is a failure, and the exit status is then 1.
    """
    names = list(dict.fromkeys(name for one in methods for name in split(one) or ()))
    request.check(names)
    request.refuse("tune", "stop", "probabilities")
    axes = _axes(names, grid, strategy, request.changes)
    texts = _prompts(file, family, count, chat=chat)
    from phrasekit.tune import Tuning, encode_prompts, report_of
    from phrasekit.tune.study import check_optuna
    from phrasekit.tune.tuning import Options

    check_optuna()
    options = Options(
        max_new_tokens=request.settings["max_new_tokens"],
        seed=split_seed,
        sampling=_sampling(request),
        schedule=request.settings["schedule"],
        **measuring,
    )
    pair = request.load(names)
    with interruptible() as stopped:
        tuning = Tuning(
            pair,
            encode_prompts(pair, texts),
            plans=[_plan(name, pair, strategy, axes[name], request.changes) for name in names],
            options=options,
            study=study,
            store=request.store,
            stopped=stopped,
        )
        _follow(tuning)
        interrupted = stopped()
    _show(tuning, request, FORMS if "all" in forms else forms)
    if json_file is not None:
        from phrasekit.bench.files import write_json

        write_json(report_of(tuning).as_dict(), json_file)
    differing = any(trial.identical is False for trial in tuning.trials)
    differing = differing or any(one.failure for one in tuning.held_out)
    click.get_current_context().exit(INTERRUPTED if interrupted else FAILED if differing else 0)


def _axes(
    methods: Sequence[str], grid: Sequence[str], strategy: str, fixed: Mapping[str, Any]
) -> dict[str, dict[str, list[Value]]]:
    """By method, values to try by knob, checked before a model loads.

    Of several methods each gets the knobs it has a use for.
    """
    from phrasekit.bench.options import read_grid
    from phrasekit.tune.axes import check_axes, uses

    axes: dict[str, list[Any]] = dict(read_grid(grid))
    if strategy == "grid" and not axes:
        raise ValueError("a grid needs knobs with values, but got none; write --grid gamma=1,2,4")
    shared = [name for name in axes if any(uses(method, name) for method in methods)]
    found = {}
    for method in methods:
        found[method] = {
            name: values for name, values in axes.items() if name not in shared or uses(method, name)
        }
        check_axes(method, found[method], fixed=fixed, usual=strategy == "algorithm1")
    return found


def _prompts(file: str | None, family: str | None, count: int, *, chat: bool) -> list[Prompt]:
    if file is not None and family is not None:
        raise ValueError("there must be one source of prompts, but got two; choose --prompts or --family")
    if family is not None:
        from phrasekit.bench.prompts import load_prompts

        found: list[Prompt] = [prompt.text for prompt in load_prompts(family, count=count)]
    elif file is not None:
        found = list(read_lines(file))
    else:
        from phrasekit.tune import bundled

        found = list(bundled())
    return conversations(found, chat=chat)


def _sampling(request: Request) -> dict[str, Any]:
    """What differs from greedy defaults."""
    return {
        name: value for name, value in request.given.items() if name not in ("max_new_tokens", "schedule")
    }


def _plan(
    name: str, pair: Pair, strategy: str, axes: Mapping[str, list[Value]], fixed: Mapping[str, Any]
) -> Plan:
    from phrasekit.tune import plan_algorithm1, plan_grid

    if strategy == "grid":
        return plan_grid(name, pair, axes, fixed=fixed)
    return plan_algorithm1(name, pair, axes=axes, fixed=fixed)


def _follow(tuning: Tuning) -> None:
    console = err()
    if not console.is_terminal:
        for _ in tuning:
            pass
        return
    # a display that redraws by itself would take part in the times
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for progress in tuning:
            live.update(live_view(tuning, progress), refresh=True)


def _show(tuning: Tuning, request: Request, forms: Sequence[str]) -> None:
    console = out()
    if tuning.costs is not None:
        console.print(costs_table(tuning.costs))
    console.print(trials_table(tuning.trials, tuning.best))
    for drawn in maps(tuning):
        console.print(drawn)
    if tuning.held_out:
        console.print(held_out_table(tuning.held_out))
    verdict = tuning.verdict
    if verdict is None:
        return
    say(console, verdict.sentence)
    if verdict.prediction is not None:
        say(console, verdict.prediction.sentence)
    if not verdict.speculate:
        return
    from phrasekit.tune import Setting, exports

    models = request.models
    setting = Setting(
        method=verdict.method,
        knobs=verdict.knobs,
        target=models.target,
        draft=models.draft,
        device=models.device,
        dtype=models.dtype,
        sampling=_sampling(request),
    )
    for form in exports(setting):
        if form.name in forms:
            console.print()
            say(console, f"As {form.name}:" + (f" {form.note}" if form.note else ""))
            for line in form.text.splitlines():
                console.print(f"    {line}", soft_wrap=True)
