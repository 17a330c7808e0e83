"""Copy what followed the last tokens earlier in the text (prompt lookup decoding)."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.prefix import common_prefix
from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.trace.records import LOOKUP


class PromptLookup(Proposer):
    """Proposes the continuation of the most recent earlier occurrence, longest n-gram first.

    An occurrence so recent that its continuation reaches the end of the text is carried on
    periodically, as a copy that reads its own output.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[int, ...], list[int]] = {}  # n-gram → where it ends, latest last
        self._indexed: list[int] = []
        self._ngram = 0

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """See `Proposer.start`."""
        self._ends.clear()
        self._indexed = []

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        copied, _ = self.find(draft)
        draft.tree.extend_trunk(copied, [LOOKUP] * len(copied), [-1] * len(copied))

    def find(self, draft: Draft) -> tuple[list[int], int]:
        """What followed the last tokens before, and how many of them matched."""
        knobs = draft.knobs
        count = min(knobs.lookup, draft.tree.limit)
        if count < 1:
            return [], 0
        self._index(draft.context, knobs.lookup_ngram)
        return self._continuation(draft.context, count, knobs.lookup_ngram)

    def _continuation(self, context: Sequence[int], count: int, ngram: int) -> tuple[list[int], int]:
        """`count` tokens that followed the longest known n-gram at the end of `context`, and its length."""
        for size in range(min(ngram, len(context) - 1), 0, -1):
            end = self._latest(context, size)
            if end is not None:
                copied = list(context[end : end + count])
                while len(copied) < count:
                    copied.append(copied[len(copied) - (len(context) - end)])
                return copied, size
        return [], 0

    def _latest(self, context: Sequence[int], size: int) -> int | None:
        """Where the last `size` tokens ended before; places that hold other tokens by now are dropped."""
        ngram = tuple(context[-size:])
        ends = self._ends.get(ngram, [])
        while ends and not (ends[-1] < len(context) and tuple(context[ends[-1] - size : ends[-1]]) == ngram):
            ends.pop()
        return ends[-1] if ends else None

    def _index(self, context: Sequence[int], ngram: int) -> None:
        """Note n-grams that end before the last token, so that every one has a continuation.

        Under a draft decoder the context may take another course: what the target refused is replaced.
        """
        if self._ngram != ngram:
            self._ends.clear()
            self._indexed, self._ngram = [], ngram
        known = common_prefix(self._indexed, context[:-1])
        self._indexed[known:] = context[known:-1]
        for end in range(known + 1, len(context)):
            for size in range(1, min(ngram, end) + 1):
                self._ends.setdefault(tuple(context[end - size : end]), []).append(end)
