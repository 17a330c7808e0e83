"""Plain decoding of the same prompt: what a text is held against, and the speed it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dashboard.jobs.run import PLAIN, LiveRun, Plan
from phrasekit.trace import Trace
from phrasekit.trace.summary import counted


class PlainRun(LiveRun):
    """Plain decoding of a plan's prompt, as many tokens as there are to compare."""

    def __init__(self, plan: Plan, *, tokens: int, owner: str) -> None:
        super().__init__(
            replace(plan, method=PLAIN, knobs={}, pace=0.0, max_new_tokens=max(1, tokens)), owner=owner
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a text is that of plain decoding.

    Attributes:
        checked: tokens compared.
        differs: the first one that differs, from 0; −1 where none does.
    """

    checked: int
    differs: int = -1

    @property
    def same(self) -> bool:
        """Whether every token compared is the same."""
        return self.differs < 0

    def __str__(self) -> str:
        """In words."""
        if not self.same:
            return f"Output differs from plain decoding at token {self.differs + 1}."
        return f"Output unchanged: identical to plain decoding ({counted(self.checked, 'token')} checked)."


def compare(tokens: Sequence[int], plain: Sequence[int]) -> Verdict:
    """Hold a text against plain decoding, as far as both reach."""
    pairs = list(zip(tokens, plain, strict=False))
    return Verdict(len(pairs), next((at for at, (one, other) in enumerate(pairs) if one != other), -1))


def baseline_of(run: LiveRun | None, plain: PlainRun | None) -> Trace | None:
    """Plain decoding as a baseline for the stepper, where it is of the same prompt."""
    if run is None or plain is None or not plain.iterations or plain.prompt != run.prompt:
        return None
    return plain.trace
