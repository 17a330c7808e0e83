"""`phrasekit trace`: recorded runs, with neither torch nor transformers."""

from __future__ import annotations

import json

import click

from phrasekit.cli.figures import ENDINGS, metrics_table
from phrasekit.cli.iteration import show_iteration
from phrasekit.cli.terminal import one_line, out, say
from phrasekit.trace import Trace, load_trace, render

_FILE = click.argument("file", type=click.Path())


@click.group()
def trace() -> None:
    """Read a recorded run; no model is needed."""


@trace.command()
@_FILE
@click.option("--iteration", type=int, help="Only this one, with its tree; they count from 1.")
@click.option("--color/--no-color", default=None, help="Colours, whatever the output is.")
def show(file: str, iteration: int | None, color: bool | None) -> None:
    """Show what happened in FILE, iteration by iteration."""
    run = load_trace(file)
    console = out()
    if iteration is not None:
        if not 1 <= iteration <= len(run.iterations):
            raise ValueError(f"iteration must be from 1 to {len(run.iterations)}, but got {iteration}")
        show_iteration(console, run.iterations[iteration - 1], run.texts)
        return
    colored = console.color_system is not None and not console.no_color if color is None else color
    click.echo(render(run, color=colored, width=console.width), color=colored)


@trace.command()
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Every count and rate as one JSON object.")
def summary(file: str, as_json: bool) -> None:
    """Show the numbers of the run in FILE."""
    run = load_trace(file)
    if as_json:
        click.echo(json.dumps(_numbers(run), indent=2))
        return
    console = out()
    say(console, f"{one_line(run.method)}, {ENDINGS[run.finish_reason]}\n")
    console.print(metrics_table(run.metrics()))


def _numbers(run: Trace) -> dict[str, object]:
    return {
        "method": run.method,
        "finish_reason": run.finish_reason,
        "settings": dict(run.settings),
        "metrics": run.metrics().as_dict(),
    }
