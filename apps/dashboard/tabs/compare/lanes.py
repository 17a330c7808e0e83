"""The race as a picture: a lane of tokens each, drawn in the page; it can be played again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from dashboard.jobs.race import Lane
from phrasekit.trace.records import LETTERS

FOLDER = Path(__file__).parent


class RaceLanes(JSComponent):
    """Lanes over tokens.

    Attributes:
        lanes: a dictionary each, see `lane_of`.
        tokens: of the longest lane, planned.
        going: whether more is to come; else the clock can be moved.
    """

    lanes = param.List(default=[])
    tokens = param.Integer(1)
    going = param.Boolean(False)

    _esm = FOLDER / "race.js"
    _stylesheets = [(FOLDER / "race.css").read_text("utf-8")]  # noqa: RUF012


def lane_of(lane: Lane) -> dict[str, Any]:
    """A lane as plain values; race.js reads them by name.

    Returns:
        `name`, `more`, `cells` (a letter per token for who proposed it), `ends` (tokens after each
        iteration), `clock` (milliseconds after each), `over` and `failure`.
    """
    iterations = tuple(lane.iterations)
    ends, clock, tokens, ms = [], [], 0, 0.0
    for one in iterations:
        tokens, ms = tokens + len(one.emitted), ms + one.ms
        ends.append(tokens)
        clock.append(round(ms, 2))
    return {
        "name": lane.entry.name,
        "more": lane.entry.more,
        "cells": "".join(LETTERS.get(kind, "t") for one in iterations for kind in one.kinds),
        "ends": ends,
        "clock": clock,
        "over": lane.over,
        "failure": lane.failure,
    }
