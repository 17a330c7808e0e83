"""What stands in place of a page or a tab that could not be made, and who hears of callbacks that fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from weakref import ref

import panel as pn
import panel_material_ui as pmui

from dashboard.parts.look import FRAME, PAGE_CSS, THEME, html
from dashboard.visitor.mishap import CHANGE, PAGE, TAB
from dashboard.visitor.session import Session

log = logging.getLogger("phrasekit.dashboard")

ANEW = '<a href="?">Begin anew</a>, without what the link asks for.'


def made(make: Callable[[], Any]) -> Any:
    """What `make` gives, or a sentence in its place."""
    try:
        return make()
    except Exception:
        log.exception(TAB)
        return _alarm(TAB)


def apology() -> pmui.Page:
    """A page in place of one that could not be made."""
    return pmui.Page(
        title="phrasekit",
        main=[_alarm(f"{PAGE} {ANEW}")],
        theme_config=THEME,
        sx=FRAME,
        raw_css=[PAGE_CSS],
        busy_indicator=None,
    )


def heed(session: Session) -> None:
    """Tell the visitor of a callback that fails; Panel keeps what it is given, so that is not the session."""
    if pn.state.curdoc is None:
        return
    known = ref(session)

    def handle(error: BaseException) -> None:
        log.error(CHANGE, exc_info=error)
        told = known()
        if told is not None:
            told.notice = CHANGE

    pn.config.exception_handler = handle


def _alarm(told: str) -> Any:
    return html(f'<div class="alarm" role="alert">{told}</div>', padding="8px 24px")
