"""Prompts to tune on: some come with the package, and half of any are held out."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from phrasekit.api import Prompt
from phrasekit.bench.prompts import load_prompts
from phrasekit.lm import Pair

FEWEST = 2

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Prompts in two halves.

    Attributes:
        calibration: settings are chosen on these.
        held_out: and the verdict is measured on these.
    """

    calibration: tuple[Ids, ...]
    held_out: tuple[Ids, ...]

    @property
    def digest(self) -> str:
        """Tells other prompts, or another split of the same ones."""
        text = json.dumps([self.calibration, self.held_out])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def bundled() -> tuple[str, ...]:
    """The prompts of the package: beginnings of Python functions, written for this purpose."""
    return tuple(prompt.text for prompt in load_prompts("bundled"))


def encode_prompts(pair: Pair, prompts: Sequence[Prompt]) -> tuple[Ids, ...]:
    """Token ids of texts, conversations or ids.

    Raises:
        ValueError: the pair cannot encode one, or one is empty.
    """
    found = tuple(_ids(pair, prompt) for prompt in prompts)
    if not all(found):
        empty = next(number for number, ids in enumerate(found, start=1) if not ids)
        raise ValueError(f"a prompt must hold at least one token, but number {empty} is empty")
    return found


def split(prompts: Sequence[Ids], *, seed: int = 0) -> Split:
    """Deal the prompts into two halves at random; an odd one more goes to calibration.

    Raises:
        ValueError: fewer than two different prompts.
    """
    found = list(dict.fromkeys(tuple(prompt) for prompt in prompts))
    if len(found) < FEWEST:
        raise ValueError(
            f"tuning needs {FEWEST} different prompts or more, half to choose on and half to check, but got "
            f"{len(found)}"
        )
    random.Random(seed).shuffle(found)  # noqa: S311 - a reproducible split, no secret
    half = (len(found) + 1) // 2
    return Split(tuple(found[:half]), tuple(found[half:]))


def _ids(pair: Pair, prompt: Prompt) -> Ids:
    if isinstance(prompt, str):
        return tuple(pair.encode(prompt))
    items = list(prompt)
    if items and isinstance(items[0], dict):
        return tuple(pair.encode_chat(items))  # type: ignore[arg-type]
    return tuple(items)  # type: ignore[arg-type]
