"""The unverified tail: what the draft model wrote while the target verified the tokens before."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.decode.proposer import Draft, Proposer


class Tail(Proposer):
    """The trunk of the target's next forward.

    Attributes:
        tokens: the tail, without its tokens' origins.
    """

    def __init__(self) -> None:
        self.tokens: tuple[int, ...] = ()
        self._kinds: tuple[str, ...] = ()
        self._behind = 0

    def set(self, tokens: Sequence[int], kinds: Sequence[str], *, behind: int) -> None:
        """Take `tokens` as what follows the first `behind` tokens of the sequence."""
        self.tokens, self._kinds, self._behind = tuple(tokens), tuple(kinds), behind

    def of(self, length: int) -> tuple[int, ...]:
        """The tail of a sequence of this length; a tail made for another one is dropped."""
        if self._behind != length:
            self.set((), (), behind=length)
        return self.tokens

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        tokens = self.of(len(draft.context))
        draft.tree.extend_trunk(tokens, self._kinds, [-1] * len(tokens))
