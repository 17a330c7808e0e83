"""What fails in the page is one sentence for the visitor; the trace is in the log, and the rest goes on."""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pytest

from dashboard.visitor.mishap import CHANGE, PAGE, TAB, VIEW
from dashboard.visitor.state import Settings
from tests.apps.conftest import served

WAIT = 90_000  # milliseconds: machines that test are busy
DETAIL = "what /home/me/private said"


class MadeUpError(Exception):
    """Nobody expects this one."""


def fail(*_, **__):
    raise MadeUpError(DETAIL)


def fetched(address, **link):
    """Everything that a page has, as a browser would get it."""
    from bokeh.client import pull_session

    def pull():
        with pull_session(url=address, arguments=link) as found:
            return unescape(json.dumps(found.document.to_json(deferred=False), default=str))

    with ThreadPoolExecutor(1) as aside:  # the thread of the tests may have a loop already
        return aside.submit(pull).result()


def is_kept_from(page, caplog):
    """The log has the trace, and the page has nothing of it."""
    assert any(DETAIL in (record.exc_text or "") for record in caplog.records)
    assert DETAIL not in page
    assert "MadeUpError" not in page
    assert "Traceback" not in page


def test_a_tab_that_cannot_be_made_leaves_the_others(hub, monkeypatch, caplog):
    from dashboard.frame import page as frame

    monkeypatch.setattr(frame, "TABS", {**frame.TABS, "search": ("Search", fail)})
    hub.place(Settings().spec).wait(30)
    with served(hub) as address:
        broken, others = fetched(address, tab="search"), fetched(address, tab="model")
    is_kept_from(broken, caplog)
    assert TAB in broken
    assert "probe of the target" in others


def test_a_page_that_cannot_be_made_says_so(hub, monkeypatch, caplog):
    monkeypatch.setattr("dashboard.app.Dashboard", fail)
    with served(hub) as address:
        page = fetched(address)
    is_kept_from(page, caplog)
    assert PAGE in page


def test_a_view_that_fails_keeps_the_pulse_from_no_other(visitor, caplog):
    session, seen = visitor(), []
    session.watch(fail)
    session.watch(lambda: seen.append(session.pulse))
    session.pulse += 1
    assert seen == [session.pulse]
    assert session.notice == VIEW
    assert DETAIL in caplog.text


@pytest.mark.parametrize("asked", ["%ff", "evil", "", "dark%00"])
def test_a_theme_that_is_none_is_no_error(hub, asked):
    with served(hub) as address, urllib.request.urlopen(f"{address}?theme={asked}&gamma=%ff") as answer:  # noqa: S310
        assert answer.status == 200
        assert "Internal Server Error" not in answer.read().decode()


def test_a_callback_that_fails_is_told_and_the_page_goes_on(hub, browser, monkeypatch, caplog):
    hub.place(Settings().spec).wait(30)
    monkeypatch.setattr("dashboard.tabs.search.tab.SearchTab.begin", fail)
    with served(hub) as address:
        context = browser.new_context()
        context.add_init_script("localStorage.setItem('phrasekit-tour', 'seen')")
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(address + Settings(tab="search").query())
        page.get_by_role("button", name="Search", exact=True).click()
        page.get_by_role("alert").filter(has_text=CHANGE).wait_for()
        is_kept_from(page.content() + page.locator("body").inner_text(), caplog)
        page.get_by_role("tab", name="Theory").click()
        page.get_by_text("How fast it could be").wait_for()
        context.close()


def test_errors_of_a_page_are_heard_without_holding_it(visitor):
    import gc
    from weakref import ref

    import panel as pn
    from bokeh.document import Document
    from panel.io.state import set_curdoc

    from dashboard.frame.apology import heed

    session, document = visitor(), Document()
    with set_curdoc(document):
        heed(session)
        pn.state._handle_exception(MadeUpError(DETAIL))
        assert session.notice == CHANGE
        known = ref(session)
        del session
        gc.collect()
        pn.state._handle_exception(MadeUpError(DETAIL))
    assert known() is None
    assert pn.config.exception_handler is None
