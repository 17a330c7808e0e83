"""A search: trials as they come, a verdict, studies by name, and the setting for Tune."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dashboard import studies
from dashboard.runbar import RunBar
from dashboard.search import NEW, NONE, PASTED, PROMPTS, SearchTab
from dashboard.searchrun import SearchRun, Wish
from dashboard.searchtable import best_chart, heat_maps, trials_table
from phrasekit.bench.standings import Spread
from phrasekit.tune import TrialRecord, measure_costs
from tests.apps.conftest import finish

PASTE = "def add(a, b):\n    return\n---\nclass Queue:\n    def put(self, item):\n"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def costs(pair):
    return measure_costs(pair, rows=(1, 4), contexts=(16,), repeats=1)


@pytest.fixture
def tab(visitor, costs):
    session = visitor(tab="search", strategy="grid", searched="speculative", budget=0)
    session.place.costs = costs
    made = SearchTab(session, RunBar(session))
    made.prompts.value = PROMPTS[PASTED]
    made.pasted.value = PASTE
    made.tokens.value, made.repeats.value = 4, 1
    made.knobs.value = ["gamma"]
    made.values["gamma"].value = "1, 3"
    return made


def trial(**changes):
    given = {
        "number": 0,
        "method": "ouroboros",
        "values": {"gamma": 1, "beta": 4},
        "knobs": {},
        "stage": "grid",
        "state": "complete",
        "ratio": Spread(1.2, 1.1, 1.3),
        "identical": True,
    }
    return TrialRecord(**(given | changes))


def test_a_grid_is_searched_to_a_verdict_and_applied_to_tune(tab):
    session = tab.session
    tab.study.value = NONE
    assert tab.begin()
    finish(session)
    tab.show()
    run = tab.run
    assert not studies.names()
    assert (run.status, run.message) == ("done", "")
    assert {trial.values["gamma"] for trial in run.trials} >= {1, 3}
    assert all(trial.identical for trial in run.trials)
    assert run.verdict.sentence[:20] in tab.verdict.object
    assert not tab.use.disabled
    tab.put()
    assert session.settings.method == run.verdict.method
    if run.verdict.speculate:
        assert session.settings.gamma == run.verdict.knobs["gamma"]
    assert tab.apply.dialog.open
    assert "import phrasekit" in tab.apply.forms.object


def test_a_study_goes_on_where_it_was_ended(tab):
    assert tab.study.value == NEW
    tab.begin()
    finish(tab.session)
    tab.show()
    name = tab.study.value
    assert studies.names() == [name]
    tab.begin()
    finish(tab.session)
    assert all(trial.reused for trial in tab.run.trials)


def test_cancel_ends_it_and_keeps_the_trials(tab):
    tab.tokens.value = 64
    tab.begin()
    tab.stop()
    finish(tab.session)
    tab.show()
    assert tab.run.status == "cancelled"
    assert tab.run.verdict is None or tab.run.verdict.partial or not tab.run.trials


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tab: setattr(tab.values["gamma"], "value", "1, x"), "whole numbers"),
        (lambda tab: setattr(tab.values["gamma"], "value", "-4"), "gamma"),
        (lambda tab: setattr(tab.knobs, "value", []), "choose one or more"),
        (lambda tab: setattr(tab.methods, "value", []), "choose one"),
        (lambda tab: setattr(tab.pasted, "value", "alone"), "2 to 64 prompts"),
        (lambda tab: setattr(tab.pasted, "value", f"{'x' * 9000}\n---\ny"), "characters"),
        (lambda tab: setattr(tab.knobs, "value", ["beta"]), "no use for beta|needs a knob"),
    ],
)
def test_a_wrong_wish_is_one_message_and_nothing_runs(tab, change, words):
    change(tab)
    assert not tab.begin()
    assert re.search(words, tab.session.notice)
    assert tab.run is None


def test_a_foreign_study_is_refused_without_its_path(tab, tmp_path):
    name = studies.fresh("speculative")
    path = studies.path_of(name)
    path.write_text("something else\n")
    tab.study.param.update(options=[NEW, NONE, name], value=name)
    tab.begin()
    finish(tab.session)
    assert tab.run.status == "failed"
    assert str(tmp_path) not in tab.run.message
    assert path.read_text() == "something else\n"


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a 2026-01-01 10.00.00/../x", "", "x" * 200])
def test_studies_are_names_and_never_paths(name):
    with pytest.raises(ValueError, match="one of the list"):
        studies.path_of(name)


def test_a_trial_with_another_text_is_shown_as_failed():
    run = SearchRun(Wish(methods=("ouroboros",), strategy="grid", prompts=()), owner="me")
    reason = "output differs from plain decoding on prompt 2 at token 7 <b>"
    run.trials = (
        trial(),
        trial(number=1, state="failed", ratio=None, identical=False, failure="differs", reason=reason),
    )
    markup = trials_table(run)
    assert "✗ output differs" in markup
    assert "at token 7 &lt;b&gt;" in markup
    assert 'class="cross"' in best_chart(run.trials)


def test_maps_of_two_knobs():
    trials = [
        trial(values={"gamma": g, "beta": b}, ratio=Spread(g + b / 10, 1, 2)) for g in (1, 2) for b in (4, 6)
    ]
    trials[0] = replace(trials[0], state="failed", ratio=None, failure="differs")
    markup = heat_maps(trials)
    assert markup.count("<table") == 1
    assert "2.60" in markup
    assert "✗" in markup
    assert heat_maps(trials[:1]) == ""


def test_a_link_chooses_methods_strategy_and_time(visitor):
    session = visitor(tab="search", searched="lookahead,hybrid", strategy="algorithm1", budget=30)
    tab = SearchTab(session, RunBar(session))
    assert tab.methods.value == ["lookahead", "hybrid"]
    assert not tab.grid.visible
    assert tab.budget.value == 30
    assert "rest" not in tab.methods.options
