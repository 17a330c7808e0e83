"""`phrasekit compare`: several methods on the same prompts, taking turns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from phrasekit.bench.options import OUTPUT, split
from phrasekit.cli.demo import PROMPT
from phrasekit.cli.figures import SHORT, one_below_another, verdict
from phrasekit.cli.interrupt import interruptible
from phrasekit.cli.program import INTERRUPTED
from phrasekit.cli.prompts import Prompt, prompt_options
from phrasekit.cli.race import PLAIN, Lap, Race, conditions, how_measured, standings
from phrasekit.cli.request import Request, request_options
from phrasekit.cli.terminal import out, say, working

if TYPE_CHECKING:
    from phrasekit.lm import Pair


@click.command()
@prompt_options(default=PROMPT)
@click.option("--methods", help="Names that `phrasekit methods` lists, with commas.  [all but the ablations]")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Timed rounds.")
@click.option("--fresh-pool", is_flag=True, help="An empty phrase pool for every prompt too.")
@OUTPUT
@request_options
def compare(
    request: Request,
    prompts: list[Prompt],
    many: bool,  # noqa: ARG001 (the table is the same)
    methods: str | None,
    repeats: int,
    fresh_pool: bool,
    json_file: Path | None,
) -> None:
    """Run several methods on PROMPT, or on many, and put them in one table.

    Plain decoding (vanilla) always runs too, as the measure. Without a prompt a bundled one is taken.
    Ctrl-C shows the rounds that are over.
    """
    names = _every_method(request) if methods is None else _names(methods)
    pair = request.load(names)
    race = Race(request=request, prompts=prompts, methods=names, repeats=repeats, fresh_pool=fresh_pool)
    with interruptible() as stopped:
        with working("Measuring") as update:
            laps = race.run(pair, stopped, lambda said: update(f"Measuring, {said}"))
        _report(laps, pair, race)
        if json_file is not None:
            _write(json_file, laps, pair, race)
        status = INTERRUPTED if stopped() else 0
    click.get_current_context().exit(status)


def _names(methods: str) -> list[str]:
    return list(dict.fromkeys([PLAIN, *(split(methods) or ())]))


def _every_method(request: Request) -> list[str]:
    """All that models and store allow, without the ablations."""
    with working("Starting"):
        from phrasekit.methods import usual
    return list(usual(drafting=request.models.drafting, store=request.store))


def _report(laps: Mapping[str, list[Lap]], pair: Pair, race: Race) -> None:
    console, results = out(), list(standings(laps))
    if not results:
        say(console, "Stopped before the first round was over: nothing to compare.")
        return
    console.print(one_below_another(results))
    console.print()
    say(console, SHORT)
    console.print()
    for line in verdict(results):
        say(console, line)
    say(console, how_measured(laps, pair, fresh_pool=race.fresh_pool))


def _write(file: Path, laps: Mapping[str, list[Lap]], pair: Pair, race: Race) -> None:
    from phrasekit.bench.files import write_json

    record = {
        "conditions": conditions(pair),
        "prompts": len(race.prompts),
        "rounds": max(map(len, laps.values())),
        "fresh_pool": race.fresh_pool,
        "settings": race.request.settings,
        "knobs_given": race.request.changes,
        "methods": [standing.as_dict() for standing in standings(laps)],
    }
    write_json(record, file)
