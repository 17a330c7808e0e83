"""Arrays behind a header record, as safetensors files that others may have written.

A checksum covers the header and every array, so that no damaged byte gets past it. Sizes are capped
before anything is read, and the record is checked field by field, as in `phrasekit.trace.rows`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from phrasekit.trace.codec import MisfitError, Record, pack, unpack
from phrasekit.trace.rows import Kind
from phrasekit.trace.whole import write_whole

MAX_HEADER_BYTES = 64 << 10

Arrays = Mapping[str, NDArray[Any]]
_LENGTH_BYTES = 8  # in front of a safetensors header


def write_arrays(path: str | os.PathLike[str], kind: Kind, header: object, arrays: Arrays) -> None:
    """Write a file that appears whole or leaves the one before as it was.

    Args:
        path: the file; its folder must exist.
        kind: what it is called.
        header: a record whose first fields are `schema` and `schema_version`.
        arrays: one-dimensional.

    Raises:
        OSError: the file cannot be written.
    """
    told = json.dumps(header, default=pack)
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    data = save(dict(whole), {kind.schema: told, "checksum": _checksum(told, whole)})
    write_whole(path, data)


class ArrayReader:
    """Reads one file; whatever is wrong with it is told in one way."""

    def __init__(self, path: Path, kind: Kind, opened: Any) -> None:
        self._path, self._kind, self._opened = path, kind, opened
        self._metadata: Mapping[str, str] = opened.metadata() or {}

    def header(self, record: type[Record]) -> Record:
        """Read the header, which tells whether the file is of this kind at all."""
        kind = self._kind
        try:
            told = json.loads(self._metadata.get(kind.schema, ""))
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict) or told.get("schema") != kind.schema:
            self.fail(f"there must be a header of schema {kind.schema!r}, found something else", kind.ours)
        version = told.get("schema_version")
        if version != kind.version or isinstance(version, bool):
            self.fail(f"schema_version must be {kind.version}, found {version!r:.40}", kind.other_version)
        return unpack(record, told)

    def arrays(self, dtypes: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """Read all arrays, by name, of the dtypes that are due."""
        found = {name: self._opened.get_slice(name) for name in self._opened.keys()}  # noqa: SIM118
        kinds = {name: array.get_dtype() for name, array in found.items()}
        flat = all(len(array.get_shape()) == 1 for array in found.values())
        if kinds != dict(dtypes) or not flat:
            self.fail(f"there must be flat arrays {_listed(dtypes)}, found {_listed(kinds):.200}")
        arrays = {name: self._opened.get_tensor(name) for name in dtypes}
        if self._metadata.get("checksum") != _checksum(self._metadata[self._kind.schema], arrays):
            self.fail("the checksum must be that of the content, found another")
        return arrays

    def fail(self, fault: str, remedy: str = "") -> NoReturn:
        """Raise the kind's error; without a remedy the file is damaged."""
        raise self._kind.error(f"{str(self._path)!r}: {fault}. {remedy or self._kind.again}") from None


@contextmanager
def open_arrays(path: str | os.PathLike[str], kind: Kind, *, max_bytes: int) -> Iterator[ArrayReader]:
    """Open a file to read; a record that does not fit fails as everything else does.

    Raises:
        OSError: the file cannot be read; FileNotFoundError where there is none.
    """
    file = kind.file(path, max_bytes=max_bytes)
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
    if length > MAX_HEADER_BYTES:
        rule = f"a {kind.noun} must have a header of at most {MAX_HEADER_BYTES} bytes, found {length}"
        raise kind.error(f"{str(file)!r}: {rule}. {kind.ours}")
    try:
        with safe_open(file, framework="numpy") as opened:
            reader = ArrayReader(file, kind, opened)
            try:
                yield reader
            except MisfitError as misfit:
                reader.fail(str(misfit))
    except SafetensorError as error:
        told = f"a {kind.noun} must be a whole safetensors file, found: {error!s:.160}"
        raise kind.error(f"{str(file)!r}: {told}. {kind.again}") from None


def _checksum(header: str, arrays: Arrays) -> str:
    digest = sha256(header.encode("utf-8"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _listed(kinds: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in sorted(kinds.items())) or "none"
