"""Study files of this user: a search that was ended goes on from one. Visitors choose names, never paths."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from pathlib import Path

NAME = re.compile(r"[\w.-]{1,80} \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d", re.ASCII)
ENDING = ".study"
SHOWN = 30


def folder() -> Path:
    """Where they lie."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "phrasekit" / "studies"


def names() -> list[str]:
    """Those that are there, the newest first."""
    found = [path for path in folder().glob(f"*{ENDING}") if NAME.fullmatch(path.stem)]
    newest = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
    return [path.stem for path in newest[:SHOWN]]


def fresh(what: str) -> str:
    """A name for a new one, that no other has."""
    words = re.sub(r"[^\w.-]+", "-", what, flags=re.ASCII)[:60] or "search"
    now = datetime.now()
    while (folder() / f"{(name := f'{words} {now:%Y-%m-%d %H.%M.%S}')}{ENDING}").exists():
        now += timedelta(seconds=1)
    return name


def path_of(name: str) -> Path:
    """The file of a name; its folder is made.

    Raises:
        ValueError: no name that `fresh` could have given.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"a study must be one of the list, but got {name[:40]!r}; choose one")
    folder().mkdir(parents=True, exist_ok=True)
    return folder() / f"{name}{ENDING}"
