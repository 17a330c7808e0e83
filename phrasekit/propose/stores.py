"""Datastores and corpora as files, with tokenizer, limits and the marks of their prompts.

A file may come from anywhere. The worst that a well-formed one can do is to propose what the target
refuses: it costs speed and never changes the text.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasekit.errors import StoreFormatError
from phrasekit.propose.arrays import ArrayReader, open_arrays, write_arrays
from phrasekit.propose.corpus import Corpus
from phrasekit.propose.datastore import Datastore
from phrasekit.propose.documents import MARK_DIGITS
from phrasekit.trace.rows import Kind

Store = Datastore | Corpus

SCHEMA = "phrasekit-store"
SCHEMA_VERSION = 1
MAX_BYTES = 1 << 30
DATASTORE, CORPUS = "datastore", "corpus"
FORMS = (DATASTORE, CORPUS)

_OTHER_TOKENIZER = "Use it with the models it was built for, or build one with `phrasekit store build`."
_KIND = Kind(
    noun="store",
    schema=SCHEMA,
    version=SCHEMA_VERSION,
    error=StoreFormatError,
    again="Copy the file again, or build it anew with `phrasekit store build`.",
    ours="Give a file written by save_store or `phrasekit store build`.",
    other_version="Read it with the phrasekit that wrote it, or build it anew.",
)
# ids; marks of prompts as numbers; where the last document of each ends (0 in a corpus)
_ARRAYS = {"text": "I32", "marks": "U64", "ends": "I64"}


@dataclass(frozen=True, slots=True)
class _Header:
    schema: str
    schema_version: int
    form: str
    fingerprint: str
    capacity: int
    ngram: int


def save_store(store: Store, path: str | os.PathLike[str]) -> None:
    """Write a store; the file appears whole or stays as it was.

    Args:
        store: may be in use.
        path: the file; its folder must exist.

    Raises:
        ValueError: the store does not say which tokenizer its ids belong to.
        OSError: the file cannot be written.
    """
    if not store.fingerprint:
        raise ValueError(
            "a store must name its tokenizer to be written, but its fingerprint is empty; make it with "
            "fingerprint=pair.fingerprint"
        )
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(store, Corpus):
        form, capacity, ngram = CORPUS, 0, 0
        arrays["text"], arrays["suffixes"] = store.contents()
        marks = dict.fromkeys(sorted(store.sources), 0)
    else:
        form, capacity, ngram = DATASTORE, store.capacity, store.ngram
        arrays["text"], marks = store.contents()
    arrays["marks"] = np.array([int(mark, 16) for mark in marks], dtype=np.uint64)
    arrays["ends"] = np.array(list(marks.values()), dtype=np.int64)
    header = _Header(SCHEMA, SCHEMA_VERSION, form, store.fingerprint, capacity, ngram)
    write_arrays(path, _KIND, header, arrays)


def load_store(
    path: str | os.PathLike[str],
    *,
    fingerprint: str | None,
    vocabulary: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> Store:
    """Read a datastore or a corpus; the file says which it is.

    Args:
        path: a file written by `save_store`.
        fingerprint: of the tokenizer in use, `Pair.fingerprint`; None takes any, to look at the store.
        vocabulary: ids must be below; None leaves that to the token tree, which drops others.
        max_bytes: refuse larger files.

    Raises:
        StoreFormatError: the file is foreign, of another tokenizer or schema version, truncated or
            damaged.
        OSError: the file cannot be read; FileNotFoundError where there is none.
    """
    with open_arrays(path, _KIND, max_bytes=max_bytes) as file:
        header = file.header(_Header)
        if header.form not in FORMS:
            file.fail(f"form must be one of {', '.join(FORMS)}, found {header.form!r:.40}")
        arrays = file.arrays(_ARRAYS | ({"suffixes": "I32"} if header.form == CORPUS else {}))
        if fingerprint is not None and header.fingerprint != fingerprint:
            file.fail(
                f"fingerprint must be that of the tokenizer in use, {fingerprint!r}, found "
                f"{header.fingerprint!r:.40}",
                _OTHER_TOKENIZER,
            )
        _check_ids(file, arrays["text"], vocabulary)
        try:
            return _restored(header, arrays)
        except (ValueError, TypeError) as error:
            file.fail(f"{error!s:.160}")


def _restored(header: _Header, arrays: dict[str, NDArray[Any]]) -> Store:
    marks = [f"{mark:0{MARK_DIGITS}x}" for mark in arrays["marks"].tolist()]
    text = arrays["text"]
    if header.form == CORPUS:
        return Corpus(text, arrays["suffixes"], sources=marks, fingerprint=header.fingerprint)
    return Datastore.restore(
        text,
        dict(zip(marks, arrays["ends"].tolist(), strict=True)),
        capacity=header.capacity,
        ngram=header.ngram,
        fingerprint=header.fingerprint,
    )


def _check_ids(file: ArrayReader, text: NDArray[np.int32], vocabulary: int | None) -> None:
    highest = int(text.max(initial=-1))
    if vocabulary is not None and highest >= vocabulary:
        file.fail(f"token ids must be from 0 to {vocabulary - 1}, found {highest}", _OTHER_TOKENIZER)
