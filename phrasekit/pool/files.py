"""Pools as JSON Lines: a header with tokenizer and limits, one row per phrase, a footer.

Phrases stand in the order they were last touched, so that a pool read back evicts and proposes as the
one that was written. Their ids are new, and what a `Ledger` learned of another machine's times stays
behind.

A pool file may come from anywhere. The worst that a well-formed one can do is to propose phrases that
the target refuses: it costs speed and never changes the text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from phrasekit.errors import PoolFormatError
from phrasekit.pool.phrase import SOURCES, Phrase
from phrasekit.pool.pool import PhrasePool
from phrasekit.trace.codec import unpack
from phrasekit.trace.rows import Kind, RowReader, encode_row, open_rows, untagged
from phrasekit.trace.whole import WholeFile

SCHEMA = "phrasekit-pool"
SCHEMA_VERSION = 1
MAX_BYTES = 64 << 20
MAX_ROW_BYTES = 32 << 10
MAX_COUNT = 1 << 53  # counters beyond are written as this

_OTHER_TOKENIZER = "Use it with the models it was filled by, or start from an empty pool."
_KIND = Kind(
    noun="pool",
    schema=SCHEMA,
    version=SCHEMA_VERSION,
    error=PoolFormatError,
    again="Copy the file again, or delete it and start from an empty pool.",
    ours="Give a file written by save_pool.",
    other_version="Read it with the phrasekit that wrote it, or start from an empty pool.",
)


@dataclass(frozen=True, slots=True)
class _Header:
    schema: str
    schema_version: int
    fingerprint: str
    per_key: int
    capacity: int
    longest: int
    policy: str
    order: str
    half_life: int
    age: int


@dataclass(frozen=True, slots=True)
class _Entry:
    tokens: tuple[int, ...]
    source: str
    uses: int
    accepted: int


@dataclass(frozen=True, slots=True)
class _Footer:
    phrases: int


def save_pool(pool: PhrasePool, path: str | os.PathLike[str], *, fingerprint: str) -> None:
    """Write a pool; the file appears whole or stays as it was.

    Args:
        pool: may be in use; what other threads do meanwhile may or may not be in the file.
        path: the file; its folder must exist.
        fingerprint: of the tokenizer its ids belong to, `Pair.fingerprint`.

    Raises:
        PoolFormatError: the pool holds what `load_pool` would refuse, such as a source of one's own.
        OSError: the file cannot be written.
    """
    entries = [_entry(phrase) for phrase in pool]
    file = WholeFile(path)
    try:
        file.write(_row("header", _header(pool, fingerprint)))
        for entry in entries:
            _KIND.refuse_any(_faults(entry, pool.longest))
            file.write(_row("phrase", entry))
        file.write(_row("footer", _Footer(len(entries))))
        file.appear()
    finally:
        file.discard()


def load_pool(
    path: str | os.PathLike[str],
    *,
    fingerprint: str | None,
    vocabulary: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> PhrasePool:
    """Read a pool with its limits, policies and statistics.

    Args:
        path: a file written by `save_pool`.
        fingerprint: of the tokenizer in use, `Pair.fingerprint`; None takes any, to look at the pool.
        vocabulary: ids must be below; None leaves that to the token tree, which drops others.
        max_bytes: refuse larger files.

    Raises:
        PoolFormatError: the file is foreign, of another tokenizer or schema version, truncated or
            damaged.
        OSError: the file cannot be read; FileNotFoundError where there is none.
    """
    with open_rows(path, _KIND, max_bytes=max_bytes, max_row_bytes=MAX_ROW_BYTES) as rows:
        header = rows.header(_Header)
        if fingerprint is not None and header.fingerprint != fingerprint:
            rows.fail(_foreign(header.fingerprint, fingerprint), _OTHER_TOKENIZER)
        pool = _empty(rows, header)
        _fill(pool, rows, vocabulary)
        pool.half_life, pool.age = header.half_life, header.age
        return pool


def _empty(rows: RowReader, header: _Header) -> PhrasePool:
    """A pool of the header's limits; nothing is halved while it is filled."""
    if not 0 <= header.age < max(header.half_life, 1):
        rows.fail(f"age must be 0 or more and below half_life ({header.half_life}), found {header.age}")
    try:
        pool = PhrasePool(
            per_key=header.per_key,
            capacity=header.capacity,
            longest=header.longest,
            policy=header.policy,
            order=header.order,
            half_life=header.half_life,
        )
    except ValueError as error:
        rows.fail(f"{error!s:.160}")
    pool.half_life = 0
    return pool


def _fill(pool: PhrasePool, rows: RowReader, vocabulary: int | None) -> None:
    while (row := rows.next()).get("row") == "phrase":
        entry = unpack(_Entry, untagged(row))
        rows.fail_any(_faults(entry, pool.longest, vocabulary))
        new, gone = pool.insert(entry.tokens, entry.source)
        if new is None or gone:
            rows.fail("a phrase must begin no other and fit the limits of the pool, found one that does not")
        new.uses, new.accepted = entry.uses, entry.accepted
    _end(rows, row, len(pool))


def _end(rows: RowReader, row: dict[str, object], phrases: int) -> None:
    if row.get("row") != "footer":
        rows.fail(f"a row must be a phrase or the footer, found {row.get('row')!r:.40}")
    footer = unpack(_Footer, untagged(row))
    if footer.phrases != phrases:
        rows.fail(f"the footer must count {phrases} phrases, found {footer.phrases}")
    rows.end()


def _header(pool: PhrasePool, fingerprint: str) -> _Header:
    return _Header(
        SCHEMA,
        SCHEMA_VERSION,
        fingerprint,
        pool.per_key,
        pool.capacity,
        pool.longest,
        pool.policy,
        pool.order,
        pool.half_life,
        pool.age,
    )


def _entry(phrase: Phrase) -> _Entry:
    return _Entry(phrase.tokens, phrase.source, min(phrase.uses, MAX_COUNT), min(phrase.accepted, MAX_COUNT))


def _faults(entry: _Entry, longest: int, vocabulary: int | None = None) -> Iterator[str]:
    """Name every rule that one phrase breaks by itself."""
    high = vocabulary or MAX_COUNT
    if not 2 <= len(entry.tokens) <= longest:
        yield f"a phrase must have 2 to {longest} tokens, found {len(entry.tokens)}"
    for token in entry.tokens:
        if not 0 <= token < high:
            yield f"token ids must be from 0 to {high - 1}, found {token}"
    if entry.source not in SOURCES:
        yield f"source must be one of {', '.join(SOURCES)}, found {entry.source!r:.40}"
    for name, count in (("uses", entry.uses), ("accepted", entry.accepted)):
        if not 0 <= count <= MAX_COUNT:
            yield f"{name} must be from 0 to {MAX_COUNT}, found {count}"


def _foreign(theirs: str, ours: str) -> str:
    return f"fingerprint must be that of the tokenizer in use, {ours!r}, found {theirs!r:.40}"


def _row(name: str, record: _Header | _Entry | _Footer) -> bytes:
    return encode_row(name, record, _KIND, max_row_bytes=MAX_ROW_BYTES)
