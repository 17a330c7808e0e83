"""Phrase pools as files to download, and files that are believed only after they were read whole."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dashboard.jobs.job import told
from phrasekit.errors import PhrasekitError
from phrasekit.pool import PhrasePool, load_pool, save_pool

MOST_BYTES = 16 << 20


def pool_bytes(pool: PhrasePool, pair: Any) -> bytes:
    """A pool as `save_pool` writes it."""
    with TemporaryDirectory(prefix="phrasekit-") as folder:
        path = Path(folder) / "pool.jsonl"
        save_pool(pool, path, fingerprint=pair.fingerprint)
        return path.read_bytes()


def pool_from(content: bytes, pair: Any) -> PhrasePool:
    """The pool in a file from anywhere.

    Raises:
        ValueError: it is too large, or no pool of this pair's tokenizer; the message is safe to show.
    """
    if len(content) > MOST_BYTES:
        raise ValueError(
            f"A pool may have at most {MOST_BYTES >> 20} MB here, but this one has "
            f"{len(content) / 2**20:.1f} MB."
        )
    with TemporaryDirectory(prefix="phrasekit-") as folder:
        path = Path(folder) / "upload.jsonl"
        path.write_bytes(content)
        try:
            return load_pool(
                path, fingerprint=pair.fingerprint, vocabulary=pair.target.vocabulary, max_bytes=MOST_BYTES
            )
        except (PhrasekitError, OSError) as error:
            words = told(error).replace(str(path), "the file").replace(folder, "")
            raise ValueError(f"This file is no pool that can be used. {words}") from error
