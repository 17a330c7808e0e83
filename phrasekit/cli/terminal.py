"""The two consoles, and how untrusted text gets onto them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from phrasekit.trace.visible import visible

PIPED_WIDTH = 100  # columns where nobody says how many there are
LONGEST_ERROR = 600


def out() -> Console:
    """Standard output."""
    return _console(stderr=False)


def err() -> Console:
    """Standard error: progress, statistics, errors."""
    return _console(stderr=True)


def typed_by_hand() -> bool:
    """Whether a person can answer on standard input."""
    return sys.stdin.isatty()


def watched() -> bool:
    """Whether standard output is a terminal, that is, read by a person and not by a program."""
    return sys.stdout.isatty()


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Say what takes time, where somebody watches.

    Yields:
        Takes what to say next.
    """
    console = err()
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(f"{what} …") as status:
        yield lambda said: status.update(f"{said} …")


def readable(text: str) -> str:
    """Text for a terminal: lines and tabs stay, everything a terminal would obey is spelled out."""
    parts = re.split(r"([\n\t])", text)
    return "".join(part if part in "\n\t" else visible(part, spaces=False) for part in parts)


def one_line(error: Exception | str) -> str:
    """An error's message on one safe line."""
    if isinstance(error, OSError) and error.filename is not None:
        error = f"{error.strerror or type(error).__name__}: {os.fspath(error.filename)!r}"
    message = " ".join(str(error).split()) or type(error).__name__
    return visible(message, spaces=False, keep=LONGEST_ERROR)


def say(console: Console, text: Text | str, *, indent: int = 0, hanging: int = 0) -> None:
    """Print text wrapped inside the console's width, without trailing blanks.

    Args:
        console: where.
        text: what; printable already.
        indent: columns before every line.
        hanging: further columns before every line but the first.
    """
    whole = Text(text) if isinstance(text, str) else text
    for number, line in enumerate(whole.wrap(console, console.width - indent - hanging)):
        line.rstrip()
        margin = (indent + hanging * (number > 0)) * bool(line)
        console.print(Text.assemble(" " * margin, line), no_wrap=True, overflow="ignore", crop=False)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console
