"""What Panel serves: `phrasekit app`, or `panel serve apps/dashboard/app.py`."""

from __future__ import annotations

import sys
from pathlib import Path

if str(Path(__file__).parent.parent) not in sys.path:  # `panel serve` knows this file only
    sys.path.insert(0, str(Path(__file__).parent.parent))

import panel as pn
import panel_material_ui as pmui

from dashboard.hub import ModelHub
from dashboard.options import Options
from dashboard.page import Dashboard
from dashboard.state import Settings

pn.extension(reconnect=True, notifications=True)


def hub() -> ModelHub:
    """The pairs of this server, made once for all visitors."""
    found: ModelHub = pn.state.as_cached("phrasekit-hub", ModelHub)
    return found


def serve(options: Options, pairs: ModelHub) -> pmui.Page:
    """A page for one visitor, as its link asks."""
    settings = Settings.of(options)
    wrong = settings.read(pn.state.session_args)
    dashboard = Dashboard(pairs, options, settings)
    dashboard.session.notice = " ".join(wrong)
    dashboard.follow()
    return dashboard.page()


if pn.state.served:
    hub().place(Options().pair)
    serve(Options(), hub()).servable()
