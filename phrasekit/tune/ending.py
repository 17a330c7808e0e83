"""Why a search ended before its end, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """A search that left trials out.

    Attributes:
        tried: trials over.
        planned: about how many there would have been.
        untried: methods without any trial.
        budget: seconds that the search had; None where somebody ended it.
        each: seconds of a trial; 0 where none was measured.
        reserve: seconds kept for the held-out prompts.
        kept: whether another search goes on from these trials.
    """

    tried: int
    planned: int
    untried: Sequence[str] = ()
    budget: float | None = None
    each: float = 0.0
    reserve: float = 0.0
    kept: bool = False

    @property
    def sentence(self) -> str:
        """All of it in words."""
        found = [self._why(), *self._never(), *self._advice()]
        return " ".join(found)

    def _why(self) -> str:
        of = f"{self.tried} of about {self.planned} trials"
        if self.budget is None:
            return f"The search was ended after {of}."
        if not self.each:
            return f"No trial fits into the {self.budget:.3g} seconds: {of} are there."
        return (
            f"No further trial fits into the {self.budget:.3g} seconds, as each takes about {self.each:.2g} "
            f"and the held-out prompts about {self.reserve:.2g}: {of} were made."
        )

    def _never(self) -> list[str]:
        return [f"Never tried: {', '.join(self.untried)}."] if self.untried else []

    def _advice(self) -> list[str]:
        again = "search again to go on from these trials" if self.kept else "search again"
        if self.budget is None:
            return [f"{again[0].upper()}{again[1:]}."] if self.kept else []
        return [f"Give it more seconds and {again}."]
