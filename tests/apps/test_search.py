"""A search: trials as they come, a verdict, studies by name, and the setting for Tune."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dashboard.jobs import studies
from dashboard.jobs.search import SearchRun, Wish
from dashboard.parts.runbar import RunBar
from dashboard.tabs.search.tab import SearchTab
from dashboard.tabs.search.table import best_chart, heat_maps, trials_table
from dashboard.visitor.state import NO_STUDY, Settings
from phrasekit.bench.standings import Spread
from phrasekit.tune import Progress, TrialRecord, Verdict, measure_costs
from phrasekit.tune.ending import Ending
from tests.apps.conftest import arguments, finish

PASTE = "def add(a, b):\n    return\n---\nclass Queue:\n    def put(self, item):\n"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def costs(pair):
    return measure_costs(pair, rows=(1, 4), contexts=(16,), repeats=1)


@pytest.fixture
def tab(visitor, costs):
    session = visitor(
        tab="search",
        strategy="grid",
        searched="speculative",
        budget=0,
        search_prompts="pasted",
        pasted=PASTE,
        search_tokens=4,
        repeats=1,
        grid="gamma",
        grid_gamma="1, 3",
    )
    session.place.costs = costs
    return SearchTab(session, RunBar(session))


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
    tab.fields.study.value = NO_STUDY
    assert tab.begin()
    finish(session)
    tab.show()
    run = tab.run
    assert not studies.names()
    assert (run.status, run.message) == ("done", "")
    assert {trial.values["gamma"] for trial in run.trials} >= {1, 3}
    assert all(trial.identical for trial in run.trials)
    assert run.verdict.sentence[:20] in tab.verdict.object
    assert 'aria-valuenow="100"' in tab.state.object
    assert not tab.use.disabled


FOUND = {"gamma": 7, "window": 3, "beta": 5}


def ended(tab, outcome, *, trials=(), **changes):
    """A search that came to a verdict."""
    run = SearchRun(Wish(methods=("ouroboros",), strategy="algorithm1", prompts=()), owner=tab.session.owner)
    run.place, run.trials, run.status = tab.session.place, trials, "done"
    run.verdict = Verdict(
        **{
            "outcome": outcome,
            "method": "ouroboros" if outcome == "speculate" else "vanilla",
            "values": FOUND,
            "knobs": FOUND,
            "ratio": None,
            "limits": {},
            "prediction": None,
            "prompts": 8,
            "repeats": 3,
            "ending": None,
            "sentence": "What was found.",
            **changes,
        }
    )
    tab.session.visit.jobs.append(run)
    tab.show()
    return run


def test_what_pays_goes_to_tune_and_no_dialog_opens(tab):
    ended(tab, "speculate", trials=(trial(),))
    assert (tab.use.label, tab.apply.button.label) == ("Apply to Tune", "Show as code")
    tab.put()
    settings = tab.session.settings
    assert (settings.method, settings.gamma, settings.window) == ("ouroboros", 7, 3)
    assert not tab.apply.dialog.open


def test_plain_decoding_goes_without_the_knobs_of_what_did_not_pay(tab):
    ended(tab, "plain decoding", trials=(trial(knobs=FOUND),))
    assert tab.use.label == "Apply plain decoding to Tune"
    assert tab.apply.button.label == "Show plain decoding as code"
    assert (tab.setting().method, tab.setting().knobs) == ("vanilla", {})
    tab.put()
    assert tab.session.settings.method == "vanilla"
    assert tab.session.settings.gamma != FOUND["gamma"]


def test_where_nothing_is_decided_the_best_trial_is_called_that(tab):
    run = ended(tab, "open", trials=(trial(knobs=FOUND),))
    assert (tab.use.label, tab.apply.button.label) == ("Apply best trial to Tune", "Show best trial as code")
    assert (tab.setting().method, tab.setting().knobs) == ("ouroboros", FOUND)
    assert "?" in tab.verdict.object
    run.trials = ()
    run.changed()
    tab.show()
    assert tab.use.disabled
    assert not tab.apply.button.visible


def test_a_search_that_the_time_ended_is_not_full_and_says_so(tab):
    ending = Ending(tried=6, planned=17, budget=120.0, each=9.0, reserve=36.0)
    run = ended(tab, "speculate", trials=(trial(),) * 6, ending=ending)
    run.progress = Progress(phase="held-out", trials=6, planned=17, rounds=24, rounds_planned=24)
    run.changed()
    tab.show()
    assert 'aria-valuenow="45"' in tab.state.object
    assert "6 of about 17 trials, see the verdict" in tab.state.object


def test_a_study_goes_on_where_it_was_ended(tab):
    assert tab.session.settings.study == ""
    tab.begin()
    finish(tab.session)
    tab.show()
    name = tab.session.settings.study
    assert studies.names() == [name]
    assert tab.fields.study.value == name
    tab.begin()
    finish(tab.session)
    tab.show()
    assert all(trial.reused for trial in tab.run.trials)
    assert f"{len(tab.run.trials)} trials from before" in tab.state.object
    assert tab.session.settings.study == name


def test_other_prompts_or_tokens_are_another_study(tab):
    tab.begin()
    finish(tab.session)
    first = tab.session.settings.study
    tab.fields.pasted.value = PASTE.replace("Queue", "Stack")
    tab.begin()
    finish(tab.session)
    second = tab.session.settings.study
    assert not any(trial.reused for trial in tab.run.trials)
    tab.fields.tokens.value = 5
    tab.begin()
    finish(tab.session)
    assert len({first, second, tab.session.settings.study}) == len(studies.names()) == 3
    tab.fields.budget.value = 600  # changes nothing about a trial
    tab.begin()
    finish(tab.session)
    assert all(trial.reused for trial in tab.run.trials)


def test_cancel_ends_it_and_keeps_the_trials(tab):
    tab.fields.tokens.value = 64
    tab.begin()
    tab.stop()
    finish(tab.session)
    tab.show()
    assert tab.run.status == "cancelled"
    assert "tay with plain" not in tab.verdict.object
    assert tab.run.verdict is None or tab.run.verdict.partial or not tab.run.trials


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tab: setattr(tab.fields.values["gamma"], "value", "1, x"), "whole numbers"),
        (lambda tab: setattr(tab.fields.values["gamma"], "value", "-4"), "gamma"),
        (lambda tab: setattr(tab.fields.knobs, "value", []), "choose one or more"),
        (lambda tab: setattr(tab.fields.methods, "value", []), "choose one"),
        (lambda tab: setattr(tab.fields.pasted, "value", "alone"), "2 to 64 prompts"),
        (lambda tab: setattr(tab.fields.pasted, "value", f"{'x' * 9000}\n---\ny"), "characters"),
        (lambda tab: setattr(tab.fields.knobs, "value", ["beta"]), "no use for beta|needs a knob"),
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
    tab.fields.list_studies()
    tab.fields.study.value = name
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


def test_a_link_chooses_all_of_a_search(visitor):
    name = studies.fresh("hybrid")
    studies.path_of(name).write_text("")
    link = Settings(
        searched="lookahead,hybrid",
        strategy="grid",
        budget=30,
        search_prompts="pasted",
        pasted=PASTE,
        search_tokens=12,
        repeats=3,
        study=name,
        grid="window,beta",
        grid_beta="5, 7",
    ).query()
    session = visitor(tab="search")
    assert session.settings.read(arguments(link)) == []
    fields = SearchTab(session, RunBar(session)).fields
    assert fields.methods.value == ["lookahead", "hybrid"]
    assert "rest" not in fields.methods.options.values()
    assert fields.methods.options["pearl: draft and target at the same time, token by token"] == "pearl"
    assert fields.methods.options["ouroboros-no-lengthening: no pool phrases behind the draft"]
    assert fields.grid.visible
    assert fields.values["beta"].value == "5, 7"
    assert not fields.values["gamma"].visible
    assert fields.pasted.visible
    wish = fields.wish()
    assert wish.axes == {"window": (0, 8), "beta": (5, 7)}
    assert wish.prompts == tuple(text.strip("\n") for text in PASTE.split("---\n"))
    assert (wish.options.max_new_tokens, wish.options.repeats, wish.options.budget) == (12, 3, 30)
    assert wish.study == studies.path_of(name)


def test_a_study_that_is_not_here_is_told_and_not_made(visitor):
    gone = studies.fresh("gone")
    session = visitor(tab="search", study=gone)
    tab = SearchTab(session, RunBar(session))
    assert session.settings.study == ""
    assert f"names the study {gone}, which is not here" in tab.told.object
    assert not studies.path_of(gone).exists()


@pytest.mark.parametrize(("given", "kept"), [(9999, 256), (0, 4), (None, 40), (7, 7)])
def test_a_number_stays_within_its_bounds(tab, given, kept):
    tab.session.settings.search_tokens = 40
    tab.fields.tokens.value = given
    assert (tab.fields.tokens.value, tab.session.settings.search_tokens) == (kept, kept)


def test_what_was_found_is_applied_to_the_pair_that_was_searched_on(tab):
    tab.fields.study.value = NO_STUDY
    tab.begin()
    finish(tab.session)
    tab.session.settings.target = "org/another"
    assert tab.setting().target is None
