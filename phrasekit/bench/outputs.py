"""Files and folders that a command will write, checked before the work starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class _Output(click.Path):
    """A path of the command line to write to; every other of click's paths is read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, known to lie where something can be written."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        check_place(path, made=self.dir_okay)
        return path


FILE = _Output(dir_okay=False)
FOLDER = _Output(file_okay=False)  # made where it is missing, with those above it


def check_place(path: Path, *, made: bool = False) -> None:
    """Refuse a place that takes no files.

    Args:
        path: what will be written.
        made: whether missing folders on the way will be made.

    Raises:
        FileNotFoundError: there is no such folder.
        NotADirectoryError: a file stands where a folder should be.
        PermissionError: the folder takes no files.
    """
    folder = path if made else path.parent
    while made and not folder.exists():
        folder = folder.parent
    if not folder.exists():
        raise FileNotFoundError(
            f"a file to write needs an existing folder, but {str(path)!r} has none; make it first"
        )
    if not folder.is_dir():
        raise NotADirectoryError(
            f"what is written needs a folder to lie in, but {str(folder)!r} is a file; choose another place"
        )
    if not os.access(folder, os.W_OK):
        raise PermissionError(
            f"a file to write needs a folder that takes files, but that of {str(path)!r} does not"
        )
