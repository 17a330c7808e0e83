"""The Model tab: what is loaded, and how far loading has come."""

from __future__ import annotations

from threading import Event

import pytest

from dashboard.jobs.hub import ModelHub
from dashboard.parts.runbar import RunBar
from dashboard.tabs.model import ModelTab
from dashboard.visitor.options import Options
from dashboard.visitor.session import Session
from dashboard.visitor.state import Settings
from phrasekit.lm import load_pair
from phrasekit.lm.progress import DOWNLOAD, Loading
from phrasekit.views.escape import escape
from tests.apps.conftest import until


@pytest.fixture
def slow():
    """A hub whose pair loads when it is told to go on."""
    go = Event()

    def load(spec):
        pair = load_pair()
        assert go.wait(60)
        return pair

    hub = ModelHub(load)
    yield hub, go
    go.set()
    assert hub.place(Settings().spec).wait(30)
    hub.close()


def tab_of(session):
    return ModelTab(session, RunBar(session))


def test_loading_says_what_was_done_and_what_is_being_done(slow):
    hub, go = slow
    session = Session(hub, Options(), Settings(tab="model"))
    tab = tab_of(session)
    assert "not loaded" in tab.state.object
    session.load()
    place = session.place
    until(lambda: place.steps and place.steps[-1].step == "probe" and len(place.steps) == 6)
    session.tick()
    assert "Loading embedded pair, 14 MB." in tab.state.object
    assert "✓ Weights of target" in tab.state.object
    assert "<li>Probe of draft" in tab.state.object
    assert "progressbar" not in tab.state.object  # nothing is known of how far a probe is
    assert tab.load.disabled
    go.set()
    place.wait(30)
    session.tick()
    assert "loaded in" in tab.state.object


@pytest.mark.parametrize(
    ("now", "words", "share"),
    [
        (Loading("draft", "weights", 5, 20), "5 of 20 tensors", 25),
        (Loading("org<b>", DOWNLOAD, 1_500_000_000, 6_000_000_000), "1.5 GB of 6.0 GB", 25),
    ],
)
def test_a_bar_shows_what_was_counted(slow, now, words, share):
    hub, _ = slow
    session = Session(hub, Options(), Settings(tab="model"))
    tab = tab_of(session)
    session.load()
    place = session.place
    until(lambda: len(place.steps) == 6)
    place._come(now)
    session.tick()
    assert words in tab.state.object
    assert f'aria-valuenow="{share}"' in tab.state.object
    assert f" of {escape(now.name)}<div" in tab.state.object


def offering(hub, **link):
    options = Options(models=("org/one", "org/two"))
    return tab_of(Session(hub, options, Settings(tab="model", **link)))


def test_the_embedded_pair_has_its_own_draft(hub):
    tab = offering(hub)
    assert tab.draft.disabled
    assert list(tab.draft.options) == ["its own", "org/one", "org/two"]
    tab.target.value = "org/one"
    assert not tab.draft.disabled
    assert list(tab.draft.options) == ["none", "org/one", "org/two"]
    tab.draft.value = "org/two"
    assert tab.session.settings.spec.draft == "org/two"
    tab.target.value = ""
    assert tab.session.settings.draft == ""


def test_what_a_link_chooses_and_is_not_here_is_shown_and_refused(hub):
    tab = offering(hub, target="org/other", device="cuda:7", dtype="float64")
    assert (tab.target.value, tab.device.value, tab.dtype.value) == ("org/other", "cuda:7", "float64")
    assert "one that this server offers" in tab.estimate.object
    assert tab.load.disabled
    assert "one that this server offers" in tab.load.why
    tab.target.value = "org/one"
    assert not tab.load.disabled
