"""Rows of JSON Lines files that others may have written.

Every row is one JSON object that names itself in `row`, so that `jq 'select(.row == "…")'` gives plain
records. The first is a header with schema and version; the last is a footer, whose absence is how a
truncated file is told. Files are parsed as JSON and nothing else; size, length and nesting are capped
before anything is built, and every field is checked. What is wrong is told in one way, with file,
line, rule, what was found and a remedy.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from phrasekit.trace.codec import MisfitError, Record, pack, unpack

MAX_DEPTH = 48

_PAIR = re.compile(rb"\[\]|\{\}")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        noun: what one is called, such as "trace".
        schema: its name in the header.
        version: of the schema.
        error: raised for a file that is not as it should be.
        again: what to do about a damaged file.
        ours: what to do about a foreign file.
        other_version: what to do about another version.
    """

    noun: str
    schema: str
    version: int
    error: type[Exception]
    again: str
    ours: str
    other_version: str

    def refuse(self, fault: str) -> NoReturn:
        """Raise the error for something that will not be written."""
        raise self.error(
            f"a {self.noun} that breaks a rule is not written: {fault}. Correct the record."
        ) from None

    def file(self, path: str | os.PathLike[str], *, max_bytes: int) -> Path:
        """The path, of a regular file that is not too large; nothing of it is read.

        Raises:
            OSError: there is no such file.
        """
        file = Path(path)
        size = file.stat().st_size
        if not file.is_file():
            raise self.error(f"{str(file)!r}: a {self.noun} must be a regular file. {self.ours}")
        if size > max_bytes:
            rule = f"a {self.noun} must have at most {max_bytes} bytes, found {size}"
            raise self.error(f"{str(file)!r}: {rule}. Pass max_bytes to read a larger one.")
        return file

    def refuse_any(self, faults: Iterator[str]) -> None:
        """Refuse the first fault, if there is one."""
        if fault := next(faults, None):
            self.refuse(fault)


class RowReader:
    """Reads the rows of one file, counting lines for the messages."""

    def __init__(self, path: Path, stream: BinaryIO, kind: Kind, max_row_bytes: int) -> None:
        self._path, self._stream, self._kind, self._most = path, stream, kind, max_row_bytes
        self._line = 0

    def header(self, record: type[Record]) -> Record:
        """Read the first row, which tells whether the file is of this kind at all."""
        row, kind = self.next(), self._kind
        if row.get("row") != "header" or row.get("schema") != kind.schema:
            self.fail(
                f"the first row must be a header of schema {kind.schema!r}, found something else", kind.ours
            )
        version = row.get("schema_version")
        if version != kind.version or isinstance(version, bool):
            self.fail(f"schema_version must be {kind.version}, found {version!r:.40}", kind.other_version)
        return unpack(record, untagged(row))

    def next(self) -> dict[str, object]:
        """Read one line; its length and nesting are known to be bounded before it is parsed."""
        line = self._stream.readline(self._most + 1)
        self._line += 1
        if len(line) > self._most:
            self.fail(f"a row must have at most {self._most} bytes, found more")
        if not line.endswith(b"\n"):
            end = "the end of the file within a row" if line else "the end of the file before it"
            self.fail(f"a {self._kind.noun} must end with a footer row, found {end}")
        if _too_deep(line):
            self.fail(f"a row must nest at most {MAX_DEPTH} deep, found more")
        try:
            row = _DECODER.decode(line.decode("utf-8"))
        except ValueError as error:
            self.fail(f"a row must be one JSON object in UTF-8, found {error!s:.120}")
        if not isinstance(row, dict):
            self.fail(f"a row must be one JSON object in UTF-8, found a {type(row).__name__}")
        return row

    def end(self) -> None:
        """Nothing may follow."""
        if self._stream.read(1):
            self.fail("the footer must be the last row, found more behind it")

    def fail_any(self, faults: Iterator[str]) -> None:
        """Fail by the first fault, if there is one."""
        if fault := next(faults, None):
            self.fail(fault)

    def fail(self, fault: str, remedy: str = "") -> NoReturn:
        """Raise the kind's error for the line read last; without a remedy the file is damaged."""
        told = f"{str(self._path)!r}, line {self._line}: {fault}. {remedy or self._kind.again}"
        raise self._kind.error(told) from None


@contextmanager
def open_rows(
    path: str | os.PathLike[str], kind: Kind, *, max_bytes: int, max_row_bytes: int
) -> Iterator[RowReader]:
    """Open a file to read; a record that does not fit fails as everything else does.

    Raises:
        OSError: the file cannot be read; FileNotFoundError where there is none.
    """
    file = kind.file(path, max_bytes=max_bytes)
    with file.open("rb") as stream:
        reader = RowReader(file, stream, kind, max_row_bytes)
        try:
            yield reader
        except MisfitError as misfit:
            reader.fail(str(misfit))


def encode_row(name: str, record: Record, kind: Kind, *, max_row_bytes: int) -> bytes:
    """Encode a row, having read it back to be sure that a reader will."""
    try:
        text = _ENCODER.encode(record)
        back = unpack(type(record), json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        kind.refuse(f"{name}: {error}")
    if back != record:
        kind.refuse(f"{name}: it must come back equal, found lists for tuples or keys that are not text")
    line = b'{"row":"%b",%b\n' % (name.encode(), text.encode()[1:])
    if len(line) > max_row_bytes:
        kind.refuse(f"{name}: a row must have at most {max_row_bytes} bytes, found {len(line)}")
    if _too_deep(line):
        kind.refuse(f"{name}: a row must nest at most {MAX_DEPTH} deep, found more")
    return line


def untagged(row: dict[str, object]) -> dict[str, object]:
    """The record's own fields."""
    return {name: value for name, value in row.items() if name != "row"}


def _too_deep(line: bytes) -> bool:
    """Whether brackets outside strings nest deeper than the limit; unpaired ones count as nested."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    unescaped = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(unescaped.split(b'"')[::2]).translate(None, _NOT_BRACKETS)
    depth = 0
    while depth <= MAX_DEPTH and _PAIR.search(brackets):
        brackets, depth = _PAIR.sub(b"", brackets), depth + 1
    return depth + len(brackets) > MAX_DEPTH


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"the number {name}")


# json.dumps and json.loads would make theirs anew for every row
_ENCODER = json.JSONEncoder(default=pack, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_no_constant)
