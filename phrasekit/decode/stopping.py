"""Where a run ends: the first end token, stop string or limit inside the committed run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from phrasekit.decode.bounds import check_whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What ends a run.

    Attributes:
        max_new_tokens: tokens to generate at most.
        eos: end tokens; the first one generated is kept and is the last.
        stop: strings; the text ends with the first one that appears.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value outside its bounds.
    """

    max_new_tokens: int = 128
    eos: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_whole("max_new_tokens", self.max_new_tokens, 1)
        given: object = self.stop  # what a caller passed, whatever the annotation says
        if not isinstance(given, tuple) or not all(isinstance(text, str) for text in self.stop):
            raise TypeError(f"stop must be a tuple of strings, but got {self.stop!r}")
        if "" in self.stop:
            raise ValueError("stop strings must not be empty, but got ''; leave it out")


class StopText(Protocol):
    """Watches the text of the committed tokens for stop strings."""

    def push(self, token: int) -> bool:
        """Take one token; True when the text now holds a stop string."""
        ...


def cut(
    run: Sequence[int], *, room: int, limits: Limits, text: StopText | None = None
) -> tuple[list[int], str]:
    """The part of `run` that is emitted, and why the run of tokens ends there.

    Args:
        run: accepted tokens and the bonus, in order.
        room: tokens that may still be emitted.
        limits: end tokens to look for.
        text: watcher for stop strings; it sees every emitted token once.

    Returns:
        The emitted tokens and the finish reason: "eos", "stop", "length", or "" to go on.
    """
    emitted: list[int] = []
    for token in run[:room]:
        emitted.append(token)
        stopped = text is not None and text.push(token)
        if token in limits.eos:
            return emitted, "eos"
        if stopped:
            return emitted, "stop"
    return emitted, "length" if len(emitted) == room else ""
