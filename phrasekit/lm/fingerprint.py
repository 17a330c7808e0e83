"""A short name for what token ids mean."""

from __future__ import annotations

from hashlib import sha256
from operator import itemgetter
from typing import Any

DIGITS = 16


def fingerprint(tokenizer: Any, vocabulary: int) -> str:
    """The same for tokenizers that give the same ids to the same strings, on every machine.

    Args:
        tokenizer: its vocabulary is hashed; None where ids are all there is.
        vocabulary: number of ids, which then must do.
    """
    if tokenizer is None:
        return f"ids-{vocabulary}"
    # ascii() spells characters out, whatever Unicode version this Python knows
    listed = ascii(sorted(tokenizer.get_vocab().items(), key=itemgetter(1)))
    return sha256(listed.encode("ascii")).hexdigest()[:DIGITS]
