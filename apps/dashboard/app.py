"""What Panel serves: `phrasekit app`, or `panel serve apps/dashboard/app.py`."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if str(Path(__file__).parent.parent) not in sys.path:  # `panel serve` knows this file only
    sys.path.insert(0, str(Path(__file__).parent.parent))

import panel as pn
import panel_material_ui as pmui

from dashboard.frame.apology import apology
from dashboard.frame.page import Dashboard
from dashboard.jobs.hub import ModelHub, PairSpec
from dashboard.visitor.mishap import PAGE
from dashboard.visitor.options import Options
from dashboard.visitor.state import Settings

log = logging.getLogger("phrasekit.dashboard")

pn.extension(reconnect=True, notifications=True)


def hub(threads: int | None = None) -> ModelHub:
    """The pairs of this server, made once for all visitors.

    Args:
        threads: of torch; None leaves one core to the pages.
    """

    def make() -> ModelHub:
        made = ModelHub(beside_pages(threads))
        atexit.register(made.close)  # before Python ends, which must not find a thread within a forward
        return made

    found: ModelHub = pn.state.as_cached("phrasekit-hub", make)
    return found


def beside_pages(threads: int | None) -> Callable[[PairSpec], Any]:
    """How to load a pair.

    With a thread on every core, whatever a page or its browser does holds up one of them, and the others wait
    for it, in every operation.
    """

    def load(spec: PairSpec) -> Any:
        import torch

        spared = max(1, (os.cpu_count() or 2) - 1)
        torch.set_num_threads(threads or min(spared, torch.get_num_threads()))
        return spec.load()

    return load


def serve(options: Options, pairs: ModelHub) -> pmui.Page:
    """A page for one visitor, as its link asks; one that cannot be made says so and shows no trace."""
    asked = pn.state.session_args.get("theme")
    pn.config.theme = "dark" if asked == [b"dark"] else "default"  # Panel would fail at what is no text
    try:
        return _page(options, pairs)
    except Exception:
        log.exception(PAGE)
        return apology()


def _page(options: Options, pairs: ModelHub) -> pmui.Page:
    settings = Settings.of(options)
    wrong = settings.read(pn.state.session_args)
    dashboard = Dashboard(pairs, options, settings)
    dashboard.session.notice = " ".join(wrong)
    dashboard.follow()
    return dashboard.page()


if pn.state.served:
    hub().place(Options().pair)
    serve(Options(), hub()).servable()
