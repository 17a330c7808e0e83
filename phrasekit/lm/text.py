"""Token ids to text, one token at a time, with whole characters only."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Protocol

PATIENCE = 8  # tokens held back for an unfinished character before the replacement sign is let out
UNFINISHED = "�"


class Detokenizer(Protocol):
    """The one thing asked of a tokenizer here."""

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = ...) -> str:
        """Text of these ids."""
        ...


class TextStream:
    """Text of a growing sequence; never shows half a character, ends at the first stop string.

    Attributes:
        text: everything settled so far. Pieces of it are what a stream shows.
        stopped: whether a stop string has appeared; `text` ends with it.
    """

    def __init__(self, tokenizer: Detokenizer, stop: Sequence[str] = ()) -> None:
        self.text = ""
        self.stopped = False
        self._tokenizer = tokenizer
        self._stop = tuple(stop)
        self._tail: tuple[int, ...] = ()  # ids whose decoding may still change
        self._settled = 0  # how many of them are in `text` already

    def push(self, token: int) -> bool:
        """Take one token; True when the text now holds a stop string."""
        self._tail += (token,)
        whole = self._decode(self._tail)
        held = len(self._tail) - self._settled
        if not whole.endswith(UNFINISHED) or held > PATIENCE:
            self._settle(whole)
        return self.stopped

    def extend(self, tokens: Sequence[int]) -> None:
        """Take several tokens; nothing behind a stop string is kept."""
        for token in tokens:
            if self.push(token):
                return

    def finish(self) -> str:
        """Let out what was held back; return the whole text."""
        if not self.stopped and self._settled < len(self._tail):
            self._settle(self._decode(self._tail))
        return self.text

    def fork(self) -> TextStream:
        """An independent copy; cheap, since all state is immutable."""
        return copy(self)

    def _settle(self, whole: str) -> None:
        seen = self._decode(self._tail[: self._settled])
        before = len(self.text)
        self.text += whole[len(seen) :]
        # decoding looks back one piece: a tokenizer may set spaces by what stands before
        self._tail = self._tail[self._settled :]
        self._settled = len(self._tail)
        self._look_for_stop(before)

    def _look_for_stop(self, before: int) -> None:
        ends = []
        for stop in self._stop:
            at = self.text.find(stop, max(0, before - len(stop) + 1))
            if at >= 0:
                ends.append(at + len(stop))
        if ends:
            self.text = self.text[: min(ends)]
            self.stopped = True

    def _decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=True) if ids else ""
