"""How the pool grew over a run, drawn in the page: phrases by source, a tick per lookup, the hit rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from dashboard.tabs.pool.sources import look
from phrasekit.trace.visible import visible
from phrasekit.views.phrases import Life
from phrasekit.views.pool import MISS, UNFIT, USED, Lookup, PoolInfo
from phrasekit.views.tokens import source_name

FOLDER = Path(__file__).parent
OUTCOMES = (USED, UNFIT, MISS)  # growth.js knows them by place


class Growth(JSComponent):
    """The figure; it is drawn as wide as there is room.

    Attributes:
        run: plain values, see `growth_of`; {} draws nothing.
        marks: pairs of an iteration, from 0, and a word: what became of the chosen phrase there.
    """

    run = param.Dict(default={})
    marks = param.List(default=[])

    _esm = FOLDER / "growth.js"
    _stylesheets = [(FOLDER / "growth.css").read_text("utf-8")]  # noqa: RUF012


def growth_of(info: PoolInfo) -> dict[str, Any]:
    """A run's pool as plain values; growth.js reads them by name.

    Returns:
        `sources` (pairs of look and words, from the bottom of the stack up), `steps` (phrases by source, then
        new and evicted ones, an entry per iteration), `lookups` (when, counted in iterations, the place of
        the outcome in `OUTCOMES`, and the share of the last ones that hit) and `sentence`; {} where the run
        had no pool.
    """
    sources = info.sources_seen
    if not sources and not info.lookups:
        return {}
    names = (visible(source_name(source), spaces=False, keep=30) for source in sources)
    return {
        "sources": [[look(source), name] for source, name in zip(sources, names, strict=True)],
        "steps": [
            [*(step.sizes.get(source, 0) for source in sources), step.inserted, step.evicted]
            for step in info.growth
        ],
        "lookups": [_lookup(one) for one in info.lookups],
        "sentence": info.sentence,
    }


def _lookup(one: Lookup) -> tuple[float, int, float]:
    """When, between the ends of its iteration; what came; the rate."""
    at = one.iteration + 0.1 + 0.8 * one.place
    return round(at, 3), OUTCOMES.index(one.outcome), round(one.recent, 3)


def marks_of(life: Life | None) -> list[tuple[int, str]]:
    """What to mark of a phrase's life: its birth, and where it brought tokens."""
    if life is None:
        return []
    born = [(life.born, "born")] if life.born >= 0 else []
    return born + [(at, "used") for at in sorted({use.iteration for use in life.wins})]
