"""`phrasekit step`: one iteration at a time, knobs changed in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from phrasekit.bench.outputs import FILE
from phrasekit.cli.comb import MARKS
from phrasekit.cli.figures import ENDINGS, metrics_table
from phrasekit.cli.interrupt import interruptible
from phrasekit.cli.iteration import show_iteration
from phrasekit.cli.knobs import read_changes
from phrasekit.cli.program import INTERRUPTED
from phrasekit.cli.prompts import Prompt, prompt_options
from phrasekit.cli.request import Request, method_option, request_options
from phrasekit.cli.terminal import one_line, out, say, typed_by_hand
from phrasekit.cli.tokens import legend, story
from phrasekit.trace import save_trace

if TYPE_CHECKING:
    from pathlib import Path

    from phrasekit.api import Decoding

NEXT, RUN, QUIT = "", "r", "q"
KEYS = "Enter next iteration · r run to the end · q quit · gamma=5 change a knob · ? help"


@click.command()
@prompt_options(several=False)
@method_option
@request_options
@click.option("--trace", type=FILE, help="Record the run in this file (JSON Lines).")
def step(request: Request, prompts: list[Prompt], method: str, trace: Path | None) -> None:
    """Decode PROMPT one iteration at a time and show everything about each.

    Enter goes on, r runs to the end, q quits, gamma=5 changes a knob before the next iteration. Where
    standard input is no terminal, every iteration is shown.
    """
    pair = request.load([method])
    decoding = request.decoding(pair, method, prompts[0])
    walk = _Walk(decoding, out())
    try:
        status = walk.run()
    finally:
        decoding.cancel()
        if trace is not None:
            save_trace(decoding.trace, trace)
    walk.conclude()
    click.get_current_context().exit(status)


class _Walk:
    """A run, and the person who goes through it."""

    def __init__(self, decoding: Decoding, console: Console) -> None:
        self._decoding, self._console = decoding, console
        self._asks = typed_by_hand()

    def run(self) -> int:
        """Go on as told; return the exit status."""
        say(self._console, legend(), hanging=8)
        say(self._console, f"marks:  {MARKS}", hanging=8)
        if self._asks:
            say(self._console, f"keys:   {KEYS}", hanging=8)
        while not self._decoding.finished:
            answer = self._ask() if self._asks else RUN
            if answer == QUIT:
                break
            if self._advance(to_the_end=answer == RUN):
                return INTERRUPTED
        return 0

    def conclude(self) -> None:
        """The text and the numbers of what was made."""
        trace = self._decoding.trace
        if not trace.iterations:
            return
        self._console.print()
        say(self._console, story(trace), indent=2)
        say(self._console, f"\nThe run {ENDINGS[trace.finish_reason]}.\n")
        self._console.print(metrics_table(trace.metrics()))

    def _advance(self, *, to_the_end: bool) -> bool:
        """One iteration or all that are left; whether Ctrl-C was pressed."""
        with interruptible() as stopped:
            while not self._decoding.finished:
                iteration = self._decoding.step()
                show_iteration(self._console, iteration, self._decoding.trace.texts)
                if stopped() or not to_the_end:
                    break
            return stopped()

    def _ask(self) -> str:
        """What to do next; knobs are changed on the way."""
        while True:
            try:
                answer = input("> ").strip()
            except EOFError:
                return QUIT
            if answer in (NEXT, RUN, QUIT):
                return answer
            if answer == "?":
                self._help()
            else:
                self._change(answer)

    def _change(self, answer: str) -> None:
        try:
            changes = read_changes(answer)
            self._decoding.knobs = self._decoding.knobs.but(**changes)
        except (ValueError, TypeError) as error:
            click.echo(f"Error: {one_line(error)}", err=True)
        else:
            given = ", ".join(f"{name}={value}" for name, value in changes.items())
            say(self._console, f"from the next iteration: {given}")

    def _help(self) -> None:
        say(self._console, KEYS)
        knobs = self._decoding.knobs.as_dict()
        say(
            self._console,
            f"knobs: {'  '.join(f'{name}={value}' for name, value in knobs.items())}",
            hanging=7,
        )
