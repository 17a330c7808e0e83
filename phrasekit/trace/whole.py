"""A file that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


class WholeFile:
    """Takes bytes to a temporary file beside the final one, which then takes its name.

    Until `appear` the final file, if there is one, stays as it was.

    Args:
        path: where the file appears; its folder must exist.

    Raises:
        OSError: the folder takes no files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._part = self.path.with_name(f".{secrets.token_hex(8)}.part")
        self._stream: BinaryIO | None = self._part.open("xb")

    @property
    def open(self) -> bool:
        """Whether it still takes bytes."""
        return self._stream is not None

    def write(self, data: bytes) -> None:
        """Add bytes.

        Raises:
            ValueError: the file has appeared or was discarded.
        """
        self._opened().write(data)

    def appear(self) -> None:
        """Let the file take its name, once its bytes are on the disk; on failure nothing is left.

        Raises:
            OSError: the bytes or the name cannot be written.
        """
        stream = self._opened()
        try:
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()
            self._part.replace(self.path)
        finally:
            self.discard()
        _sync_folder(self.path.parent)

    def discard(self) -> None:
        """Drop what was written, if the file has not appeared yet."""
        if self._stream is None:
            return
        with suppress(OSError):
            self._stream.close()
        self._stream = None
        self._part.unlink(missing_ok=True)

    def _opened(self) -> BinaryIO:
        if self._stream is None:
            raise ValueError(f"a closed file takes no more bytes: {str(self.path)!r}. Open a new one.")
        return self._stream


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, which appears whole or stays as it was.

    Raises:
        OSError: it cannot be written.
    """
    file = WholeFile(path)
    try:
        file.write(data)
        file.appear()
    finally:
        file.discard()


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where folders can be synchronised."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
