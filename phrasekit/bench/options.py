"""Options of `phrasekit bench` and its subcommands, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from phrasekit.bench.models import Command
from phrasekit.bench.outputs import FILE

if TYPE_CHECKING:
    from phrasekit.bench.suite import Suite
    from phrasekit.propose import Store

SWITCH = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}

_DEFAULT = "[code; bundled where HumanEval is not here]"


def _family(ctx: click.Context, parameter: click.Parameter, given: str | None) -> str:  # noqa: ARG001
    from phrasekit.bench.prompts import default_family

    return given or default_family()


FAMILY = click.option("--family", metavar="NAME", callback=_family, help=f"Kind of prompts.  {_DEFAULT}")
CLOCK = click.option(
    "--clock",
    type=click.Choice(("wall", "cpu")),
    default="wall",
    show_default=True,
    help="Processor time, with --threads 1, tells something on a busy machine.",
)
WORK = (
    click.option(
        "--family",
        "families",
        multiple=True,
        metavar="NAME",
        help=f"Kind of prompts; may be repeated; all takes every public set.  {_DEFAULT}",
    ),
    click.option("--prompts", type=click.IntRange(1), default=20, show_default=True, help="Per family."),
    click.option(
        "--offset", type=click.IntRange(0), default=0, show_default=True, help="Prompts to pass over."
    ),
    click.option("--chat", is_flag=True, help="Put prompts through the model's chat template."),
    click.option("--max-new-tokens", type=click.IntRange(1), default=128, show_default=True, help="Limit."),
    click.option(
        "--repeats", type=click.IntRange(1), default=3, show_default=True, help="Times all is done."
    ),
    click.option(
        "--warmup", type=click.IntRange(0), default=1, show_default=True, help="Prompts that do not count."
    ),
    click.option(
        "--heat",
        type=click.IntRange(0),
        default=6,
        show_default=True,
        help="Prompts on which a peer's fastest setting is found beforehand; 0 races all settings.",
    ),
    click.option("--fresh-pool", is_flag=True, help="An empty phrase pool for every prompt."),
    CLOCK,
)
STORE = (
    click.option("--store", "store_file", type=click.Path(dir_okay=False), help="Texts to retrieve from."),
    click.option(
        "--allow-seen", is_flag=True, help="Also measure prompts that the store was built from; it is marked."
    ),
    click.option(
        "--schedule",
        type=click.Choice(("serial", "threads", "streams")),
        default="serial",
        show_default=True,
        help="When draft and target of a parallel method run.",
    ),
)
OUTPUT = click.option("--json", "json_file", type=FILE, help="Write everything to this file.")
KNOBS = click.option(
    "--knobs",
    "-k",
    multiple=True,
    metavar="[METHOD:]NAME=VALUE",
    help="Change a tuned knob, for all methods or one; may be repeated.",
)


def options(*groups: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """All options of these groups, in order."""

    def decorate(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def read_knobs(changes: Sequence[str]) -> dict[str, dict[str, object]]:
    """Read `gamma=5` and `ouroboros:gamma=5`; the key "" holds for every method.

    Raises:
        ValueError: something is not of that form.
    """
    found: dict[str, dict[str, object]] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        method, _, knob = name.rpartition(":")
        if not (equals and knob and value):
            raise ValueError(
                f"a change of knobs must look like gamma=5 or ouroboros:gamma=5, but got {change!r}"
            )
        found.setdefault(method.strip(), {}).update([read_change(knob, value)])
    return found


def read_grid(axes: Sequence[str]) -> dict[str, list[object]]:
    """Read `gamma=3,4,5`.

    Raises:
        ValueError: something is not of that form.
    """
    found: dict[str, list[object]] = {}
    for axis in axes:
        name, _, values = axis.partition("=")
        parts = split(values) or ()
        if not name or not parts:
            raise ValueError(f"a grid must look like gamma=3,4,5, but got {axis!r}")
        for part in parts:
            knob, value = read_change(name, part)
            found.setdefault(knob, []).append(value)
    return found


def read_change(name: str, text: str) -> tuple[str, object]:
    """One knob with a number, a switch, or the text itself: `Knobs` says what is wrong with it."""
    from phrasekit.decode.knobs import FLAGS

    knob, text = name.strip().replace("-", "_"), text.strip()
    if knob in FLAGS:
        return knob, SWITCH.get(text.lower(), text)
    try:
        return knob, int(text)
    except ValueError:
        return knob, text


def split(names: str | None) -> tuple[str, ...] | None:
    """The names of a comma list."""
    return None if names is None else tuple(name.strip() for name in names.split(",") if name.strip())


def read_suite(given: Mapping[str, Any], **changes: Any) -> Suite:
    """The suite that the options of `WORK` describe."""
    from phrasekit.bench.prompts import PUBLIC, default_family
    from phrasekit.bench.suite import Suite

    named = [name for entry in given["families"] for name in split(entry) or ()] or [default_family()]
    families = tuple(dict.fromkeys(one for name in named for one in (PUBLIC if name == "all" else (name,))))
    names = ("prompts", "offset", "repeats", "warmup", "heat", "max_new_tokens", "chat", "clock")
    return Suite(families=families, **{name: given[name] for name in names}, **changes)


def check_families(families: Sequence[str]) -> None:
    """Find missing files and unknown names before a model loads."""
    from phrasekit.bench.prompts import load_prompts

    for family in families:
        load_prompts(family, count=1)


def open_store(file: str | None) -> Store | None:
    """The store of --store, read before a model loads.

    Raises:
        StoreFormatError: it cannot be read.
    """
    from phrasekit.propose import load_store

    return None if file is None else load_store(file, fingerprint=None)
