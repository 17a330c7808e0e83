"""Tokens and phrases of a run, each kept once and named by a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phrasekit.trace.visible import token_text, visible

LONGEST = 200  # characters of one token


class TokenTable:
    """Numbers tokens in the order they come up, and keeps what they look like.

    Args:
        texts: of token ids.
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._numbers: dict[int, int] = {}

    def number(self, token: int) -> int:
        """Number of a token id; −1 stays −1."""
        if token < 0:
            return -1
        return self._numbers.setdefault(token, len(self._numbers))

    def numbers(self, tokens: Iterable[int]) -> tuple[int, ...]:
        """Numbers of several."""
        return tuple(self.number(token) for token in tokens)

    @property
    def ids(self) -> tuple[int, ...]:
        """Token ids by number."""
        return tuple(self._numbers)

    @property
    def texts(self) -> tuple[str, ...]:
        """What the tokens look like, by number."""
        return tuple(shown(token_text(token, self._texts)) for token in self._numbers)


def shown(text: str) -> str:
    r"""Text with its spaces and line breaks, and everything else that is invisible spelled out.

    Controls, right-to-left overrides, zero-width characters and lone surrogates become `\u202e` and the
    like; a very long text is cut, with the count of what is left out.
    """
    kept = text[:LONGEST]
    spelled = "\n".join(visible(line, spaces=False) for line in kept.split("\n"))
    return spelled if len(text) <= LONGEST else f"{spelled}…(+{len(text) - LONGEST})"
