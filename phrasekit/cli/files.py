"""Files that a command will write, checked before the work starts."""

from __future__ import annotations

import os
from pathlib import Path


def writable(name: str) -> Path:
    """The path, known to lie in a folder that takes files.

    Raises:
        FileNotFoundError: there is no such folder.
        PermissionError: the folder takes no files.
    """
    path = Path(name)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"a file to write needs an existing folder, but {name!r} has none; make it first"
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"a file to write needs a folder that takes files, but that of {name!r} does not"
        )
    return path
