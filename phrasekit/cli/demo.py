"""`phrasekit demo`: watch one run on the embedded pair, then race it against plain decoding."""

from __future__ import annotations

from collections.abc import Mapping
from time import sleep
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from phrasekit import __version__
from phrasekit.cli.figures import ENDINGS, side_by_side, verdict
from phrasekit.cli.interrupt import interruptible
from phrasekit.cli.program import INTERRUPTED
from phrasekit.cli.race import PLAIN, Lap, Race, how_measured, standings
from phrasekit.cli.request import Request, method_option
from phrasekit.cli.terminal import out, say, working
from phrasekit.cli.tokens import legend, story, strip
from phrasekit.trace import Iteration, sentence
from phrasekit.trace.summary import counted

if TYPE_CHECKING:
    from phrasekit.api import Decoding
    from phrasekit.lm import LanguageModel, Pair

PROMPT = '''\
def parse_args(self, args=None, namespace=None):
    """Parse the command line and return the options."""
'''


@click.command()
@method_option
@click.option("--max-new-tokens", type=int, default=96, show_default=True, help="Tokens to generate at most.")
@click.option(
    "--delay", type=click.FloatRange(min=0), default=0.0, help="Seconds to wait after an iteration."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Timed rounds.")
def demo(method: str, max_new_tokens: int, delay: float, repeats: int) -> None:
    """Decode a bundled prompt step by step, then set plain decoding and the method side by side."""
    request = Request(settings={"max_new_tokens": max_new_tokens})
    pair = request.load([method])
    console = out()
    with interruptible() as stopped:
        decoding = request.decoding(pair, method, PROMPT)
        _introduce(console, pair, method)
        for iteration in decoding.follow(stopped):
            _show(console, iteration, decoding.trace.texts)
            sleep(delay)
        _conclude(console, decoding)
        if not stopped():
            methods = list(dict.fromkeys((PLAIN, method)))
            race = Race(request=request, prompts=[PROMPT], methods=methods, repeats=repeats, fresh_pool=True)
            with working("Measuring") as update:
                laps = race.run(pair, stopped, lambda said: update(f"Measuring, {said}"))
            _compare(console, laps, pair)
    click.get_current_context().exit(INTERRUPTED if stopped() else 0)


def _introduce(console: Console, pair: Pair, method: str) -> None:
    draft = f", {_size(pair.draft)} draft" if pair.draft else ""
    say(
        console,
        f"phrasekit {__version__}: {method} on the embedded pair ({_size(pair.target)} target{draft})",
    )
    console.print()
    say(console, Text(PROMPT.rstrip(), style="dim"), indent=2)
    console.print()
    say(console, legend(), hanging=8)
    console.print()


def _show(console: Console, iteration: Iteration, texts: Mapping[int, str]) -> None:
    """The sentence, and below it the tokens that came out."""
    say(console, sentence(iteration), hanging=4)
    say(console, strip(zip(iteration.kinds, iteration.emitted, strict=True), texts), indent=4)


def _conclude(console: Console, decoding: Decoding) -> None:
    trace = decoding.trace
    console.print()
    say(console, f"The text, {counted(len(trace.tokens), 'token')}, {ENDINGS[trace.finish_reason]}:")
    console.print()
    say(console, story(trace), indent=2)


def _compare(console: Console, laps: dict[str, list[Lap]], pair: Pair) -> None:
    results = list(standings(laps))
    if not results:
        return
    console.print()
    console.print(side_by_side(results))
    console.print()
    for line in verdict(results):
        say(console, Text(line, style="bold"))
    say(console, how_measured(laps, pair, fresh_pool=True))


def _size(model: LanguageModel) -> str:
    return f"{sum(weights.numel() for weights in model.model.parameters()) / 1e6:.1f} M"
