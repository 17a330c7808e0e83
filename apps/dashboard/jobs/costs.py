"""What a forward of each model costs on this device, measured in the pair's own thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dashboard.jobs.job import Job
from phrasekit.tune import CostTable, measure_costs
from phrasekit.tune.records import Cancelled

ROWS, CONTEXTS, REPEATS = (1, 4, 8, 16), (64, 256), 5


class CostRun(Job):
    """Times forwards.

    Attributes:
        table: once they are measured.
    """

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.table: CostTable | None = None

    def work(self, pair: Any) -> Iterator[None]:
        """All of it in one step; cancelled between two forwards."""
        with suppress(Cancelled):
            self.table = measure_costs(
                pair, rows=ROWS, contexts=CONTEXTS, repeats=REPEATS, cancelled=lambda: self.cancelled
            )
        self.changed()
        yield
