"""What calling a peer takes, whichever it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from phrasekit.bench.contender import Account, Contender


class InferenceMode:
    """A contender inside `torch.inference_mode`.

    phrasekit's forwards run in it; `generate` only switches gradients off, and with a small model on a
    CPU that is slower by about a tenth. A user of either can have it by writing one line.
    """

    def __init__(self, contender: Contender) -> None:
        self.name = contender.name
        self.family = contender.family
        self.origin = contender.origin
        self.hooked = contender.hooked
        self.settings = {**contender.settings, "inference_mode": True}
        self._contender = contender

    def renew(self) -> None:
        """See `Contender.renew`."""
        self._contender.renew()

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        """See `Contender.generate`."""
        with torch.inference_mode():
            return self._contender.generate(prompt)

    def account(self) -> Account:
        """See `Contender.account`."""
        return self._contender.account()


def numbers(name: str, variant: str, count: int) -> list[int]:
    """The numbers of a variant such as "10-3"."""
    parts = variant.split("-")
    if not 1 <= len(parts) <= count or not all(
        part.isascii() and part.isdigit() and int(part) for part in parts
    ):
        rule = "one number" if count == 1 else f"one to {count} numbers"
        raise ValueError(
            f"a variant of {name} must be {rule} of 1 or more, but got {variant!r}; write {name}-4"
        )
    return [int(part) for part in parts]


@contextmanager
def unnamed_cache() -> Iterator[None]:
    """No notice that a peer names the cache as transformers 5.17 did, at every forward."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
