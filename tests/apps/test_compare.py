"""A race: everybody writes the same text, nobody gets more time, and what fails is shown."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest

from dashboard.jobs.race import Entry, Race, Result, results
from dashboard.jobs.run import Plan
from dashboard.parts.runbar import RunBar
from dashboard.tabs.compare.lanes import lane_of
from dashboard.tabs.compare.tab import NOW, CompareTab
from dashboard.tabs.compare.table import as_csv, sentence, table
from phrasekit import generate
from phrasekit.trace import Trace
from tests.apps.conftest import PROMPT, finish

PROMPTS = (PROMPT, "class Stack:\n    def push(self, item):\n")
ENTRIES = (Entry(name="speculative", method="speculative"), Entry(name="ouroboros", method="ouroboros"))


@pytest.fixture(scope="module")
def race(pair):
    one = Race(ENTRIES, Plan(prompt="", max_new_tokens=12), PROMPTS, owner="me")
    while not one.over:
        one.step(pair)
    return one


def tab_of(session):
    session.settings.tab = "compare"
    return CompareTab(session, RunBar(session))


def test_every_lane_writes_the_text_of_plain_decoding(race, pair):
    for prompt, lanes in zip(PROMPTS, race.lanes, strict=True):
        right = generate(pair, prompt, method="vanilla", max_new_tokens=12).tokens
        assert [lane.tokens for lane in lanes] == [right] * 3
    assert [one.same for one in results(race)] == [2, 2, 2]
    assert (race.made, race.planned) == (72, 72)


def test_whoever_had_the_least_time_goes_next(pair):
    one = Race(ENTRIES, Plan(prompt="", max_new_tokens=24), PROMPTS[:1], owner="me")
    while not one.over:
        one.step(pair)
        lanes = [lane for lane in one.lanes[0] if not lane.over] if one.lanes else []
        longest = max((iteration.ms for lane in lanes for iteration in lane.iterations), default=0.0)
        spread = max((lane.ms for lane in lanes), default=0.0) - min((lane.ms for lane in lanes), default=0.0)
        assert spread <= longest + 1e-6


def test_ratios_are_times_a_token_of_plain_decoding_over_ones_own(race):
    plain, *others = results(race)
    assert plain.ratios == (1.0, 1.0)
    for place, one in enumerate(others, start=1):
        expected = [
            (lanes[0].ms / len(lanes[0].tokens)) / (lanes[place].ms / len(lanes[place].tokens))
            for lanes in race.lanes
        ]
        assert one.ratios == pytest.approx(expected)
        assert one.ratio == pytest.approx(sum(expected) / 2)  # the median of two
    assert sum(plain.shares) == pytest.approx(100)


def test_other_tokens_are_said_where_they_begin(race):
    lanes = race.lanes[1]
    wrong = lanes[1].iterations[-1]
    iterations = [*lanes[1].iterations[:-1], replace(wrong, emitted=(*wrong.emitted[:-1], -1))]
    lane = replace(lanes[1], iterations=iterations)
    spoiled = Race(ENTRIES, race.plan, PROMPTS, owner="me")
    spoiled.lanes = [race.lanes[0], (lanes[0], lane, lanes[2])]
    found = results(spoiled)
    assert (found[1].same, found[1].differs) == (1, (2, 12))
    assert "✗" in table(found)
    assert "Output differs from plain decoding: speculative." in sentence(found)


def test_a_method_that_cannot_run_is_shown_with_its_reason(pair):
    entries = (Entry(name="rest", method="rest"), *ENTRIES)
    one = Race(entries, Plan(prompt="", max_new_tokens=4), PROMPTS[:1], owner="me")
    while not one.over:
        one.step(pair)
    assert one.status == "done"
    plain, rest, *others = results(one)
    assert "corpus" in rest.failure
    assert rest.ratio is None
    assert all(result.ratio for result in (plain, *others))
    assert "Not run: " in table(results(one))


def test_markup_escapes_names_and_reasons():
    bad = "<img src=x onerror=alert(1)>"
    markup = table([Result(entry=Entry(name=bad, method="vanilla", more=bad), failure=bad)])
    assert "<img" not in markup
    assert "&lt;img" in markup


def test_a_lane_as_plain_values(race):
    lane = lane_of(race.lanes[0][2])
    assert len(lane["cells"]) == lane["ends"][-1] == 12
    assert lane["over"]
    assert lane["clock"] == sorted(lane["clock"])
    assert set(lane["cells"]) <= set("tdps")


def test_csv_has_a_row_per_prompt(race):
    rows = list(csv.DictReader(StringIO(as_csv(results(race)))))
    assert [row["method"] for row in rows] == ["vanilla"] * 2 + ["speculative"] * 2 + ["ouroboros"] * 2
    assert rows[0]["same text"] == "2 of 2"


def test_the_tab_races_what_was_chosen(visitor):
    session = visitor(compared="speculative,prompt_lookup", prompts="this", race_tokens=8)
    tab = tab_of(session)
    assert tab.who.value == ["speculative", "prompt_lookup"]
    assert tab.begin()
    finish(session)
    tab.show()
    assert [entry.method for entry in tab.race.entries] == ["vanilla", "speculative", "prompt_lookup"]
    assert "Three settings, 1 prompt, one text" in tab.intro.object
    assert len(tab.lanes.lanes) == 3
    assert not tab.lanes.going
    assert "plain decoding" in tab.sentence.object or "wrote" in tab.sentence.object
    assert tab.figure.figure["data"]
    assert list(tab.left.options) == ["Plain decoding", *(f"{e.name} {e.more}" for e in tab.race.entries[1:])]


def test_settings_of_tune_and_pins_race_with_their_own_knobs(visitor):
    session = visitor(prompts="this", race_tokens=4, method="speculative", gamma=5)
    session.pin()
    session.settings.gamma = 7
    tab = tab_of(session)
    tab.who.value = [NOW, "pin:0"]
    assert session.settings.compared == NOW
    assert tab.begin()
    finish(session)
    first = [lanes.iterations[0].knobs["gamma"] for lanes in tab.race.lanes[0][1:]]
    assert first == [7, 5]


def test_methods_that_draft_beside_the_target_bring_their_choice(visitor):
    tab = tab_of(visitor(compared="speculative"))
    assert not tab.schedule.visible
    assert "rest" not in tab.who.options
    tab.who.value = ["pearl"]
    assert tab.schedule.visible


def test_nobody_to_race_is_one_message(visitor):
    session = visitor(compared="")
    tab = tab_of(session)
    assert not tab.begin()
    assert "choose a method" in session.notice


def test_cancel_keeps_whole_prompts_only(visitor):
    session = visitor(compared="speculative", prompts="examples", race_tokens=64)
    tab = tab_of(session)
    tab.begin()
    tab.stop()
    finish(session)
    assert tab.race.status == "cancelled"
    assert all(one.prompts < 5 for one in results(tab.race))
    assert all(
        lane.trace is None or isinstance(lane.trace, Trace) for lanes in tab.race.lanes for lane in lanes
    )
