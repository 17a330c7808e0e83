"""Tune: knobs and their defaults, the colour key, and what the proof is of."""

from __future__ import annotations

import pytest

from dashboard.parts.runbar import RunBar
from dashboard.tabs.tune.prose import legend
from dashboard.tabs.tune.tab import TuneTab
from phrasekit.trace.records import KINDS
from phrasekit.views.tokens import ORIGINS
from tests.apps.conftest import finish


@pytest.fixture
def tune(visitor):
    def make(**settings):
        session = visitor(tab="tune", **settings)
        return session, TuneTab(session, RunBar(session))

    return make


def test_a_knob_goes_back_to_the_pairs_setting(tune):
    session, tab = tune()
    rail, settings = tab.rail, session.settings
    usual = {name: getattr(settings, name) for name in rail.usual}
    assert rail.usual == usual  # a page begins with them
    assert rail.back.disabled
    assert rail.sliders["gamma"].marks == [{"value": 2}]
    assert rail.sliders["lookup"].marks == []  # ouroboros does not read it
    assert "Default 2." in rail.notes["gamma"].object
    settings.gamma, settings.suffixes = 7, 0
    assert not rail.back.disabled
    rail.back.clicks += 1
    assert (settings.gamma, settings.suffixes) == (2, 3)
    assert rail.back.disabled


def test_defaults_are_the_methods(tune):
    session, tab = tune()
    session.settings.method = "lookahead"
    assert tab.rail.sliders["window"].marks == [{"value": 4}]
    assert tab.rail.sliders["gamma"].marks == []
    assert tab.rail.back.disabled


def test_search_is_offered_beside_the_knobs(tune):
    session, tab = tune()
    tab.rail.search.clicks += 1
    assert session.settings.tab == "search"


def test_the_line_of_a_narrow_page_says_where_the_knobs_stand_and_opens_them(tune):
    session, tab = tune(gamma=5)
    rail = tab.rail
    assert "<span>γ <b>5</b></span>" in rail.told.object
    assert "L <b>" not in rail.told.object
    session.settings.gamma = 6
    assert "<span>γ <b>6</b></span>" in rail.told.object
    assert "open" not in rail.layout.css_classes
    rail.open.clicks += 1
    assert {"knobs", "open"} <= set(rail.layout.css_classes)
    assert rail.open.label == "Fold the knobs"
    rail.open.clicks += 1
    assert "open" not in rail.layout.css_classes


def test_the_text_has_a_key_of_its_hues(tune):
    session, tab = tune()
    assert tab.prose.key == ""
    session.start()
    finish(session)
    seen = {kind for one in session.run.iterations for kind in one.kinds}
    assert tab.prose.key == legend(seen)
    for kind in KINDS:
        assert (ORIGINS[kind] in tab.prose.key) == (kind in seen)


def test_a_proof_says_that_it_is_of_the_run_shown(tune):
    session, tab = tune()
    session.start()
    finish(session)
    session.prove()
    finish(session)
    assert '<i class="" aria-hidden="true">✓</i>' in tab.banner.object
    assert "changed since" not in tab.banner.object
    session.settings.prompt = "import os\n"
    assert "That was the run shown; the prompt changed since." in tab.banner.object
    assert '<i class="no" aria-hidden="true">✓</i>' in tab.banner.object
    session.settings.seed = 4
    assert "the prompt, the seed changed since" in tab.banner.object
    session.settings.gamma = 9  # makes no other text
    session.settings.param.update(prompt=session.run.plan.prompt, seed=session.run.plan.seed)
    assert "changed since" not in tab.banner.object
