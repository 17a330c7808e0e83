"""`phrasekit check`: is decoding exact on this pair?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from phrasekit.bench.options import OUTPUT, split
from phrasekit.cli.prompts import Prompt, prompt_options
from phrasekit.cli.request import SETTINGS, Request, request_options
from phrasekit.cli.terminal import out, say, working
from phrasekit.trace.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from phrasekit.check import Report
    from phrasekit.lm import Pair

NOT_EXACT = 1  # exit status, for CI
_UNUSED = (*(name for name in SETTINGS if name not in ("max_new_tokens", "schedule")), "stop")
SHOWN = 20  # divergences in the table; --json has all
PROMPT = 'class Queue:\n    """First in, first out."""\n\n    def __init__(self, items=()):\n'


@click.command()
@prompt_options(default=PROMPT)
@click.option("--methods", help="Names that `phrasekit methods` lists, with commas.  [all the pair can run]")
@OUTPUT
@request_options
def check(
    request: Request,
    prompts: list[Prompt],
    many: bool,  # noqa: ARG001 (one report for all)
    methods: str | None,
    json_file: Path | None,
) -> None:
    """Compare every method with plain greedy decoding, token by token.

    Where tokens differ, the difference must be a tie that rounding flips: within twice the error that
    the model's own one-token and block forwards show. The exit status is 0 where that holds, else 1.
    """
    names = split(methods)
    request.refuse("check, which compares greedy runs up to the token limit,", *_UNUSED)
    if names == ():
        raise ValueError("--methods must name at least one, but got none; leave it out for all")
    pair = request.load(names or ())
    from phrasekit.bench.files import write_json
    from phrasekit.check import check as run_check

    with working("Checking") as update:
        report = run_check(
            pair,
            [pair.encode_chat(prompt) if _is_chat(prompt) else prompt for prompt in prompts],  # type: ignore[arg-type, misc]
            methods=names,
            max_new_tokens=request.settings["max_new_tokens"],
            changes=request.changes,
            store=request.store,
            schedule=request.settings["schedule"],
            progress=lambda method, index: update(f"Checking {method}, prompt {index + 1}"),
        )
    if json_file is not None:
        write_json(report.as_dict(), json_file)
    _show(report, pair)
    click.get_current_context().exit(0 if report.exact else NOT_EXACT)


def _is_chat(prompt: Prompt) -> bool:
    return isinstance(prompt, list) and bool(prompt) and isinstance(prompt[0], dict)


def _show(report: Report, pair: Pair) -> None:
    console = out()
    if report.divergences:
        table = Table(box=box.SIMPLE_HEAD)
        for heading in ("method", "prompt", "token", "emitted", "instead of", "margin", "tie"):
            table.add_column(heading, justify="right" if heading in ("prompt", "token", "margin") else "left")
        for place in report.divergences[:SHOWN]:
            table.add_row(
                place.method,
                str(place.prompt + 1),
                str(place.position + 1),
                _token(pair, place.emitted),
                _token(pair, place.other),
                f"{place.margin:.3g}",
                "yes" if place.explained else "NO",
            )
        console.print(table)
        if len(report.divergences) > SHOWN:
            say(console, f"and {len(report.divergences) - SHOWN} more; --json has all")
    say(console, f"{report.target} on {report.device}: {report.verdict}")


def _token(pair: Pair, token: int) -> Text:
    return Text(str(token) if pair.tokenizer is None else visible(pair.tokenizer.decode([token])))
