"""`phrasekit trace`: recorded runs, with neither torch nor transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from phrasekit.bench.outputs import FILE
from phrasekit.cli.figures import ENDINGS, metrics_table
from phrasekit.cli.iteration import show_iteration
from phrasekit.cli.terminal import one_line, out, say
from phrasekit.trace import Trace, load_trace, render
from phrasekit.trace.summary import counted
from phrasekit.trace.whole import write_whole

_FILE = click.argument("file", type=click.Path())
_OUT = click.argument("output", metavar="OUT", type=FILE)


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


# known here so that `--help` imports no view; `tests/cli` compares it with `phrasekit.views.EVERY_FORMAT`
_FORMATS = """\b
Formats:
  html        one page with the stepper, needs no network     .html
  parquet     a row per forward, for DuckDB, Polars, pandas   .parquet
  perfetto    a timeline for ui.perfetto.dev                  .perfetto.json
  vllm        acceptance as vLLM reports it                   .vllm.json
  spec-bench  an answer file of Spec-Bench                    .spec-bench.jsonl
  jsonl       phrasekit's own                                 .jsonl"""


@trace.command(epilog=_FORMATS)
@_FILE
@_OUT
@click.option("--format", "kind", default="", help="Its name; without it the end of OUT's name decides.")
def convert(file: str, output: Path, kind: str) -> None:
    """Write FILE as OUT in another format."""
    from phrasekit.views import convert as convert_trace

    name = convert_trace(load_trace(file), output, kind)
    click.echo(f"{one_line(str(output))}: {name}, {output.stat().st_size:,} bytes")


@trace.command()
@_OUT
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path())
def gallery(output: Path, files: tuple[str, ...]) -> None:
    """Write steppers of FILEs as one HTML page, OUT; without FILEs the recorded runs that ship."""
    from phrasekit.cli.gallery import gallery_page

    runs = _read(files) if files else _shipped()
    write_whole(output, gallery_page(runs).encode("utf-8"))
    click.echo(f"{one_line(str(output))}: {counted(len(runs), 'run')}, {output.stat().st_size:,} bytes")


def _read(files: tuple[str, ...]) -> Mapping[str, Trace]:
    """By the names of the files, without their folders where that tells them apart."""
    apart = len({Path(name).name for name in files}) == len(set(files))
    return {Path(name).name if apart else name: load_trace(name) for name in files}


def _shipped() -> Mapping[str, Trace]:
    from phrasekit import demo

    return {name: demo.load_recorded(name) for name in demo.traces()}


def _numbers(run: Trace) -> dict[str, object]:
    return {
        "method": run.method,
        "finish_reason": run.finish_reason,
        "settings": dict(run.settings),
        "metrics": run.metrics().as_dict(),
    }
