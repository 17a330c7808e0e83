"""What every store of token sequences shares: documents in one array, answers, and marks of prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]

SEPARATOR = -1  # behind every document: neither an n-gram nor a continuation holds one
MARK_DIGITS = 16
_MOST = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a store knows to follow a context.

    Attributes:
        tokens: the continuation, shorter than asked for where a document ends; () where nothing matched.
        matched: last tokens of the context that it was found by.
    """

    tokens: tuple[int, ...] = ()
    matched: int = 0


NOTHING = Retrieved()


def prompt_mark(tokens: Sequence[int]) -> str:
    """A short name for a prompt, by which a store tells what it was built from: 16 hexadecimal digits."""
    return sha256(np.asarray(tokens, dtype="<i8").tobytes()).hexdigest()[:MARK_DIGITS]


def checked_mark(source: str) -> str:
    """The mark, known to be one; "" stands for none.

    Raises:
        ValueError: no mark.
    """
    if source and not (len(source) == MARK_DIGITS and set(source) <= set("0123456789abcdef")):
        raise ValueError(f"a source must be a mark from prompt_mark(tokens), but got {source!r:.60}")
    return source


def as_document(tokens: Sequence[int] | Ids) -> Ids:
    """Token ids with a separator behind them.

    Returns:
        int32 of shape [tokens + 1].

    Raises:
        TypeError: something else than whole numbers.
        ValueError: an id below 0 or beyond 32 bits.
    """
    ids = np.asarray(tokens)
    if not ids.size:
        return np.full(1, SEPARATOR, dtype=np.int32)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(f"a document must be a list of token ids, but got {tokens!r:.60}")
    low, high = ids.min(), ids.max()
    if low < 0 or high > _MOST:
        raise ValueError(f"token ids must be from 0 to {_MOST}, but got {low if low < 0 else high}")
    return np.append(ids.astype(np.int32), np.int32(SEPARATOR))
