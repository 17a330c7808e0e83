"""Traces as JSON Lines: a header, one row per iteration, a footer.

The footer holds what is known only at the end: why it ended, how many iterations, the texts of the
tokens. How rows are read and written, and what protects a reader, is told in `phrasekit.trace.rows`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from phrasekit.errors import TraceFormatError
from phrasekit.trace.codec import MisfitError, Record, unpack
from phrasekit.trace.integrity import Replay, finish_faults
from phrasekit.trace.records import SCHEMA_VERSION, Iteration, Trace
from phrasekit.trace.rows import Kind, RowReader, encode_row, open_rows, untagged
from phrasekit.trace.whole import WholeFile

SCHEMA = "phrasekit-trace"
MAX_BYTES = 256 << 20
MAX_ROW_BYTES = 8 << 20
MAX_ITERATIONS = 1_000_000

_TOKEN_ID = re.compile(r"0|[1-9][0-9]{0,17}")
_AGAIN = "Copy the file again, or record the run again."
_OURS = "Give a file written by save_trace."
_OTHER_VERSION = "Read it with the phrasekit that wrote it, or record the run again."
_KIND = Kind("trace", SCHEMA, SCHEMA_VERSION, TraceFormatError, _AGAIN, _OURS, _OTHER_VERSION)


@dataclass(frozen=True, slots=True)
class _Header:
    schema: str
    schema_version: int
    method: str
    prompt: tuple[int, ...]
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Footer:
    finish_reason: str
    iterations: int
    texts: Mapping[str, str]


def save_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace; the file appears whole or stays as it was.

    `load_trace` gives back an equal trace; what could not come back equal (lists, NaN, arrays) is
    refused.

    Args:
        trace: a finished or unfinished run.
        path: the file; its folder must exist.

    Raises:
        TraceFormatError: the trace breaks a rule of integrity, or holds NaN or values not plain.
        OSError: the file cannot be written.
    """
    writer = TraceWriter(path, method=trace.method, prompt=trace.prompt, settings=trace.settings)
    try:
        for iteration in trace.iterations:
            writer.append(iteration)
        writer.close(trace.finish_reason, texts=trace.texts)
    except BaseException:
        writer.discard()
        raise


def load_trace(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Trace:
    """Read a trace, without torch or any model.

    Args:
        path: a file written by `save_trace` or `TraceWriter`.
        max_bytes: refuse larger files.

    Returns:
        The trace, its types and integrity checked.

    Raises:
        TraceFormatError: the file is foreign, of another schema version, truncated or damaged.
        OSError: the file cannot be read; FileNotFoundError where there is none.
    """
    with open_rows(path, _KIND, max_bytes=max_bytes, max_row_bytes=MAX_ROW_BYTES) as rows:
        return _read(rows)


class TraceWriter:
    """Writes a trace iteration by iteration, so that a run need not fit in memory.

    The file appears when the writer closes. Leaving the `with` block before `close`, by an error or
    otherwise, keeps the iterations so far in a readable file with finish reason "cancelled".

    Example:
        with TraceWriter("run.jsonl", method="ouroboros", prompt=ids) as writer:
            for iteration in decoder:
                writer.append(iteration)
            writer.close("length", texts=texts)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        method: str,
        prompt: Sequence[int],
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Open the temporary file and write the header.

        Args:
            path: where the file appears; its folder must exist.
            method: name of the recipe.
            prompt: prompt token ids.
            settings: sampling, limits and models, as plain values.
        """
        ids = tuple(prompt)
        header = _row("header", _Header(SCHEMA, SCHEMA_VERSION, method, ids, settings or {}))
        self._replay = Replay(ids)
        self._texts: dict[str, str] = {}
        self._file = WholeFile(path)
        self._file.write(header)

    def append(self, iteration: Iteration, *, texts: Mapping[int, str] | None = None) -> None:
        """Write one iteration.

        Args:
            iteration: the next one, by index and position.
            texts: texts of token ids that are new; kept for the footer.

        Raises:
            TraceFormatError: the iteration cannot be written; the file so far is as before.
        """
        self._check_open()
        row, named = _row("iteration", iteration), _named(texts)
        _KIND.refuse_any(self._replay.faults(iteration))
        self._file.write(row)
        self._replay.advance(iteration)
        self._texts |= named

    def close(self, finish_reason: str = "cancelled", *, texts: Mapping[int, str] | None = None) -> None:
        """Write the footer and let the file appear.

        Args:
            finish_reason: why the run ended, as in `Trace`.
            texts: texts of token ids, added to those given before.
        """
        self._check_open()
        _KIND.refuse_any(finish_faults(finish_reason))
        footer = _Footer(finish_reason, self._replay.index, self._texts | _named(texts))
        row = _row("footer", footer)
        try:
            self._file.write(row)
            self._file.appear()
        finally:
            self.discard()

    def discard(self) -> None:
        """Drop what was written, if the file has not appeared yet."""
        self._file.discard()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Keep what there is, unless it is closed already."""
        if not self._file.open:
            return
        try:
            self.close("cancelled")
        finally:
            self.discard()

    def _check_open(self) -> None:
        if not self._file.open:
            raise ValueError(f"a closed writer takes no more rows: {str(self._file.path)!r}. Open a new one.")


def _read(rows: RowReader) -> Trace:
    header = rows.header(_Header)
    replay, iterations = Replay(header.prompt), list[Iteration]()
    while (row := rows.next()).get("row") == "iteration":
        iteration = unpack(Iteration, untagged(row))
        rows.fail_any(replay.faults(iteration))
        replay.advance(iteration)
        iterations.append(iteration)
        if replay.index > MAX_ITERATIONS:
            rows.fail(f"a trace must have at most {MAX_ITERATIONS} iterations, found more")
    footer = _footer(rows, row, replay.index)
    texts = {_read_id(token): text for token, text in footer.texts.items()}
    return Trace(
        header.method, header.prompt, tuple(iterations), footer.finish_reason, header.settings, texts
    )


def _footer(rows: RowReader, row: dict[str, object], iterations: int) -> _Footer:
    if row.get("row") != "footer":
        rows.fail(f"a row must be an iteration or the footer, found {row.get('row')!r:.40}")
    footer = unpack(_Footer, untagged(row))
    rows.fail_any(finish_faults(footer.finish_reason))
    if footer.iterations != iterations:
        rows.fail(f"the footer must count {iterations} iterations, found {footer.iterations}")
    rows.end()
    return footer


def _row(name: str, record: Record) -> bytes:
    return encode_row(name, record, _KIND, max_row_bytes=MAX_ROW_BYTES)


def _named(texts: Mapping[int, str] | None) -> dict[str, str]:
    """Texts as JSON has them, with text keys."""
    pairs: Iterable[tuple[object, object]] = (texts or {}).items()
    named: dict[str, str] = {}
    for token, text in pairs:
        if not _TOKEN_ID.fullmatch(str(token)) or not isinstance(text, str):
            _KIND.refuse(f"texts must map token ids to text, found {token!r:.40} and a {type(text).__name__}")
        named[str(token)] = text
    return named


def _read_id(name: str) -> int:
    if not _TOKEN_ID.fullmatch(name):
        raise MisfitError("an object with token ids as keys", f"the key {name!r:.40}", "texts")
    return int(name)
