"""Copy what followed the last tokens earlier in the text (prompt lookup decoding)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.prefix import common_prefix
from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.trace.records import LOOKUP


class PromptLookup(Proposer):
    """Proposes the continuation of the most recent earlier occurrence, longest n-gram first.

    An occurrence so recent that its continuation reaches the end of the text is carried on
    periodically, as a copy that reads its own output. The text is searched when asked and not
    indexed before: that costs microseconds, and a prompt that is never copied from costs nothing.
    """

    def __init__(self) -> None:
        self._text: list[int] = []
        self._ids = np.empty(0, dtype=np.int64)  # `_text` as an array, with room to grow

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """See `Proposer.start`."""
        self._text = []

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        copied, _ = self.find(draft)
        draft.tree.extend_trunk(copied, [LOOKUP] * len(copied), [-1] * len(copied))

    def find(self, draft: Draft) -> tuple[list[int], int]:
        """What followed the last tokens before, and how many of them matched."""
        knobs = draft.knobs
        return self.search(draft.context, count=min(knobs.lookup, draft.tree.limit), ngram=knobs.lookup_ngram)

    def search(self, context: Sequence[int], *, count: int, ngram: int) -> tuple[list[int], int]:
        """Up to `count` tokens that followed the end of `context` before, and how many of it matched."""
        if count < 1:
            return [], 0
        end, size = longest_match(self._array(context), ngram)
        if not size:
            return [], 0
        copied = list(context[end : end + count])
        while len(copied) < count:
            copied.append(copied[len(copied) - (len(context) - end)])
        return copied, size

    def _array(self, context: Sequence[int]) -> NDArray[np.int64]:
        """The context as an array, of which only what changed since the last call is written.

        Under a draft decoder the context may take another course: what the target refused is replaced.
        """
        size, known = len(context), common_prefix(self._text, context)
        if size > len(self._ids):
            grown = np.empty(2 * size, dtype=np.int64)
            grown[:known] = self._ids[:known]
            self._ids = grown
        self._text[known:] = context[known:]
        self._ids[known:size] = self._text[known:]
        return self._ids[:size]


def longest_match(text: NDArray[np.int64], longest: int) -> tuple[int, int]:
    """Where the last tokens of `text` ended before, and how many of them, up to `longest`, match there.

    Of the places where most match it is the latest; (0, 0) where the last token is new.
    """
    ends, size = np.flatnonzero(text[:-1] == text[-1]) + 1, 0
    found = 0
    while len(ends) and size < longest:
        found, size = int(ends[-1]), size + 1
        ends = ends[ends > size]
        if len(ends):
            ends = ends[text[ends - size - 1] == text[-size - 1]]
    return found, size
