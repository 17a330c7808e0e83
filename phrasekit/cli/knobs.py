"""Knobs as options and as `name=value`, known by name here so that `--help` needs no torch.

`tests/cli` holds this table and `phrasekit.Knobs` together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from phrasekit.bench.options import read_change
from phrasekit.trace.visible import visible

Command = TypeVar("Command", bound=Callable[..., Any])

REPAIRS = ("paper", "prefix", "off")

# name → type, meaning
KNOBS: Mapping[str, tuple[Any, str]] = {
    "gamma": (int, "γ: tokens the draft model must deliver per iteration."),
    "window": (int, "W: columns of the lookahead window; 0 switches it off."),
    "level": (int, "N: a pool phrase is a key token and up to N-1 followers."),
    "guesses": (int, "G: pool phrases verified per draft forward."),
    "suffixes": (int, "K: pool phrases appended to the draft; 0 switches lengthening off."),
    "beta": (int, "β: phrase length, draft's last token included: β-1 new tokens per suffix."),
    "cut_to_gamma": (bool, "Drop what the last draft forward delivered beyond γ."),
    "harvest_discarded": (bool, "Make phrases of right tokens in the discarded draft."),
    "repair": (click.Choice(REPAIRS), "What an unused suffix becomes."),
    "harvest_committed": (bool, "Make phrases of the committed text."),
    "lookup": (int, "Tokens copied by prompt lookup."),
    "lookup_ngram": (int, "Longest n-gram that prompt lookup and retrieval match."),
    "depth": (int, "d: tokens retrieved per query."),
    "retrieve": (bool, "Draft by retrieval (double)."),
    "guide": (bool, "Retrieve on the target's side too (double)."),
    "reuse_rejected": (bool, "Retrieve from drafts that were thrown away (double)."),
}
SYMBOLS = {"gamma": "γ", "window": "W", "level": "N", "guesses": "G", "suffixes": "K", "beta": "β"}
LONGEST_VALUE = 12  # columns of a knob's value


def knob_options(command: Command) -> Command:
    """One option for every knob; what is not given stays as the pair is tuned."""
    for name, (kind, meaning) in reversed(list(KNOBS.items())):
        flag = "--" + name.replace("_", "-")
        names = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
        command = click.option(names, name, type=kind, default=None, help=meaning)(command)
    return command


def read_changes(line: str) -> dict[str, Any]:
    """Read `gamma=5 window=0`, with spaces or commas between.

    Raises:
        ValueError: something is not of the form name=value.
    """
    return dict(_read_change(part) for part in line.replace(",", " ").split())


def describe(knobs: Mapping[str, Any]) -> str:
    """Say the main knobs by their symbols."""
    known = ((symbol, str(knobs[name])) for name, symbol in SYMBOLS.items() if name in knobs)
    return "  ".join(f"{symbol} {visible(value, keep=LONGEST_VALUE)}" for symbol, value in known)


def _read_change(part: str) -> tuple[str, Any]:
    name, equals, text = part.partition("=")
    if not (name and equals and text):
        raise ValueError(
            f"a change of knobs must look like gamma=5, but got {part!r}; ? shows what else to type"
        )
    return read_change(name, text)
