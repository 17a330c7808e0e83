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
from dashboard.tabs.compare.table import as_csv, sentence, winner
from dashboard.tabs.compare.table import table as table_of
from phrasekit import METHODS, generate
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


def each(lanes):
    return sum(lane.ms for lane in lanes) / sum(len(lane.tokens) for lane in lanes)


def test_ratios_are_times_a_token_of_plain_decoding_over_ones_own(race):
    plain, *others = results(race)
    assert plain.ratios == (1.0,)
    for place, one in enumerate(others, start=1):
        mine = [lanes[place] for lanes in race.lanes]
        base = [lanes[0] for lanes in race.lanes]
        assert one.by_prompt == pytest.approx(
            [each([b]) / each([m]) for b, m in zip(base, mine, strict=True)]
        )
        assert one.ratio == pytest.approx(each(base) / each(mine))
        assert one.spread is None  # one pass says nothing of it
    assert sum(plain.shares) == pytest.approx(100)


@pytest.fixture(scope="module")
def passes(pair):
    one = Race(ENTRIES, Plan(prompt="", max_new_tokens=12), PROMPTS, owner="me", passes=3)
    while not one.over:
        one.step(pair)
    return one


def test_every_pass_is_the_same_work_from_empty_pools(passes):
    assert (passes.made, passes.planned, len(passes.lanes)) == (216, 216, 6)
    work = [
        [[(one.emitted, one.knobs) for one in lane.iterations] for lane in lanes] for lanes in passes.lanes
    ]
    assert work[:2] == work[2:4] == work[4:]
    for place, one in enumerate(results(passes)):
        parts = [passes.lanes[at : at + 2] for at in (0, 2, 4)]
        ratios = [each([x[0] for x in part]) / each([x[place] for x in part]) for part in parts]
        assert one.ratios == pytest.approx(ratios)
        assert one.ratio == pytest.approx(sorted(ratios)[1])
        assert one.spread == pytest.approx((min(ratios), max(ratios)))
        assert (one.same, one.prompts) == (2, 2)


def test_the_time_shares_say_what_the_ratio_says(passes):
    for one in results(passes):
        assert sum(one.shares) == pytest.approx(100 / one.ratio)


def test_a_pass_that_is_not_whole_does_not_count(passes):
    part = Race(ENTRIES, passes.plan, PROMPTS, owner="me", passes=3)
    part.lanes = passes.lanes[:3]
    assert [len(one.ratios) for one in results(part)] == [1, 1, 1]
    part.lanes = passes.lanes[:1]
    assert [(one.prompts, len(one.ratios)) for one in results(part)] == [(1, 1)] * 3


def found(*ratios):
    """Results with these ratios by pass, plain decoding first."""
    names = ("Plain decoding", "one", "other")
    plain = tuple(1.0 for _ in ratios[0])
    return [
        Result(
            entry=Entry(name=name, method="vanilla"),
            ratios=of,
            each=tuple((x,) for x in of),
            prompts=1,
            same=1,
        )
        for name, of in zip(names, (plain, *ratios), strict=False)
    ]


def test_a_winner_is_named_only_where_it_can_be_told():
    clear = found((1.3, 1.4, 1.5), (1.1, 1.2, 1.25))
    assert winner(clear) is clear[1]
    assert "one is <b>1.40×</b> (1.30–1.50) as fast as plain decoding here, ahead in every pass" in sentence(
        clear
    )
    assert table_of(clear).count('class="best"') == 1
    close = found((1.3, 1.4, 1.5), (1.1, 1.2, 1.35))
    told = "Too close to tell who is fastest: the passes of one <b>1.40×</b> (1.30–1.50), other <b>1.20×</b>"
    assert told in sentence(close)
    nobody = found((0.9, 1.1, 1.2))
    assert "the passes of one <b>1.10×</b> (0.90–1.20), Plain decoding <b>1.00×</b> overlap" in sentence(
        nobody
    )
    assert "Nobody is faster than plain decoding" in sentence(found((0.7, 0.8, 0.9)))
    once, twice = found((1.4,)), found((1.3, 1.5), (1.0, 1.1))
    for few, ratio in ((once, "<b>1.40×</b>"), (twice, "<b>1.40×</b> (1.30–1.50)")):
        told = f"one was fastest, with {ratio} the speed of plain decoding. It takes 3 passes or more"
        assert told in sentence(few)
    for one in (close, nobody, once, twice):
        assert winner(one) is None
        assert 'class="best"' not in table_of(one)


def test_other_tokens_are_said_where_they_begin(race):
    lanes = race.lanes[1]
    wrong = lanes[1].iterations[-1]
    iterations = [*lanes[1].iterations[:-1], replace(wrong, emitted=(*wrong.emitted[:-1], -1))]
    lane = replace(lanes[1], iterations=iterations)
    spoiled = Race(ENTRIES, race.plan, PROMPTS, owner="me")
    spoiled.lanes = [race.lanes[0], (lanes[0], lane, lanes[2])]
    said = results(spoiled)
    assert (said[1].same, said[1].differs) == (1, (2, 12))
    assert "✗" in table_of(said)
    assert "Output differs from plain decoding: speculative." in sentence(said)


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
    assert "Not run: " in table_of(results(one))


def test_markup_escapes_names_and_reasons():
    bad = "<img src=x onerror=alert(1)>"
    markup = table_of([Result(entry=Entry(name=bad, method="vanilla", more=bad), failure=bad)])
    assert "<img" not in markup
    assert "&lt;img" in markup


def test_a_lane_as_plain_values(race):
    lane = lane_of(race.lanes[0][2])
    assert len(lane["cells"]) == lane["ends"][-1] == 12
    assert lane["over"]
    assert lane["clock"] == sorted(lane["clock"])
    assert set(lane["cells"]) <= set("tdps")


def test_csv_has_a_row_per_pass_and_prompt(race):
    rows = list(csv.DictReader(StringIO(as_csv(results(race)))))
    assert [row["method"] for row in rows] == ["vanilla"] * 2 + ["speculative"] * 2 + ["ouroboros"] * 2
    assert rows[0]["same text"] == "2 of 2"
    assert [(row["pass"], row["prompt"]) for row in rows[:2]] == [("1", "1"), ("1", "2")]


def test_the_tab_races_what_was_chosen(visitor):
    session = visitor(compared="speculative,prompt_lookup", prompts="this", race_tokens=8, passes=2)
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
    assert tab.left.options == ["Plain decoding", *(f"{e.name} {e.more}" for e in tab.race.entries[1:])]
    assert (tab.prompt.value, tab.left.value, tab.right.value) == ("prompt 1", *tab.left.options[::2])
    assert (tab.race.passes, len(tab.race.lanes)) == (2, 2)


def test_the_fields_are_of_the_race_below_them(visitor):
    session = visitor(compared="speculative,prompt_lookup", prompts="this", race_tokens=4, passes=1)
    tab = tab_of(session)
    assert tab.begin()
    finish(session)
    tab.show()
    tab.left.value = tab.left.options[1]
    tab.who.value = ["speculative", "lookahead"]
    assert tab.begin()
    finish(session)
    tab.show()
    assert tab.left.value == "speculative " + tab.race.entries[1].more  # it raced again
    assert tab.right.value.startswith("lookahead")  # prompt_lookup did not
    assert tab.right.value in tab.right.options


def test_a_page_loaded_again_races_the_same_pins(visitor):
    first = visitor(
        prompts="this", race_tokens=4, passes=1, method="speculative", gamma=5, compared="ouroboros"
    )
    first.arrive("a" * 32)
    first.pin()
    tab = tab_of(first)
    pin = f"pin:{first.pins[0].number}"
    tab.who.value = ["ouroboros", pin]
    assert tab.begin()
    finish(first)
    assert first.settings.compared == "ouroboros"
    again = visitor(compared="ouroboros")
    later = tab_of(again)
    assert later.who.value == ["ouroboros"]
    again.arrive("a" * 32)
    assert later.who.value == ["ouroboros", pin]
    assert later.right.value == "pin 1: speculative γ5"


def test_settings_of_tune_and_pins_race_with_their_own_knobs(visitor):
    session = visitor(prompts="this", race_tokens=4, method="speculative", gamma=5)
    session.pin()
    session.settings.gamma = 7
    tab = tab_of(session)
    pin = session.pins[0]
    assert tab.who.options["pin 1: speculative γ5"] == f"pin:{pin.number}"
    tab.who.value = [NOW, f"pin:{pin.number}"]
    assert session.settings.compared == NOW
    assert tab.begin()
    finish(session)
    first = [lanes.iterations[0].knobs["gamma"] for lanes in tab.race.lanes[0][1:]]
    assert first == [7, 5]
    assert list(tab.right.options)[1:] == ["speculative, as on Tune γ7", "pin 1: speculative γ5"]


def test_methods_that_draft_beside_the_target_bring_their_choice(visitor):
    tab = tab_of(visitor(compared="speculative"))
    assert not tab.schedule.visible
    assert "rest" not in tab.who.options
    assert tab.about.object.count("<dt>") == sum(name in METHODS for name in tab.who.options)
    assert METHODS["pearl"].summary in tab.about.object
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
