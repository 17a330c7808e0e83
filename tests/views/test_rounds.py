"""Retrieved tokens and rounds of two lanes, in every form they are shown in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from phrasekit.cli.comb import comb
from phrasekit.cli.tokens import LETTERS, MEANINGS, STYLES, legend, strip
from phrasekit.trace import faults
from phrasekit.trace.export.perfetto import perfetto
from phrasekit.trace.records import GUIDE, KINDS, LOOKUP, REJECTED, RETRIEVED, TARGET, WINDOW
from phrasekit.trace.text import render
from phrasekit.trace.text import sentence as in_short
from phrasekit.views import comparison_view, stream_view, timeline_info, timeline_view, tree_view
from phrasekit.views.html import chips, style
from phrasekit.views.stepper import stepper_html, stepper_info
from phrasekit.views.stepper.page import script
from phrasekit.views.stepper.page import style as stepper_style
from phrasekit.views.stepper.records import LETTERS as STEPPER_LETTERS
from phrasekit.views.theme import DARK, FOUND, LIGHT, ROLES
from phrasekit.views.tokens import KEPT, ORIGINS, Token
from phrasekit.views.tokens import LETTERS as VIEW_LETTERS
from tests.views.stepper_traces import plain_of, rounds

NEW = (RETRIEVED, REJECTED, GUIDE)


def test_the_rounds_are_a_sound_trace():
    assert list(faults(rounds())) == []


@pytest.mark.parametrize("letters", [LETTERS, STEPPER_LETTERS, VIEW_LETTERS])
def test_every_kind_has_a_letter_of_its_own(letters):
    assert letters.keys() == set(KINDS)
    assert len(set(letters.values())) == len(KINDS)
    assert letters == LETTERS


def test_every_kind_has_a_name_and_colours_everywhere():
    assert ORIGINS.keys() == ROLES.keys() == STYLES.keys() == set(KINDS)
    assert MEANINGS.keys() == set(KINDS) - {WINDOW}
    for theme in (LIGHT, DARK):
        for kind in KINDS:
            assert theme.tint(kind).startswith("#")
            assert theme.edge_of(kind).startswith("#")
            assert theme.mark_of(kind).startswith("#")


def test_what_is_found_has_one_hue_and_marks_of_its_own():
    for theme in (LIGHT, DARK):
        assert {theme.tint(kind) for kind in (LOOKUP, *NEW)} == {theme.copy_tint}
    sheets = {".pk-view .pk-t.{}.pk-first{{": style(), ".tk.{} {{ background-image": stepper_style()}
    for rule, sheet in sheets.items():
        looks = [sheet.split(rule.format(role), 1)[1].split("}")[0] for role in FOUND]
        assert len(set(looks)) == len(FOUND)


def test_the_manual_names_every_letter():
    manual = (Path(__file__).parents[2] / "docs" / "views.md").read_text("utf-8")
    named = dict(re.findall(r"^\| (.+?) \| `(.)` \|", manual, re.MULTILINE))
    assert sorted(named.values()) == sorted(LETTERS.values())


def test_the_script_knows_every_letter():
    for letter in STEPPER_LETTERS.values():
        assert f"{letter}: " in script().split("const ROLE = {")[1].split("};")[0]


def test_neighbours_found_as_one_are_one_ribbon():
    found = [Token(n, "x", kind, KEPT, n) for n, kind in enumerate((GUIDE, GUIDE, RETRIEVED, "draft"))]
    drawn = [part.split('"')[1].split() for part in chips(found).split("<span ")[1:]]
    assert [("pk-first" in one, "pk-cont" in one) for one in drawn] == [
        (True, False),
        (False, True),
        (True, False),
        (False, False),
    ]


def test_the_terminal_tells_them_by_letter():
    trace = rounds()
    assert strip([(RETRIEVED, 30), (REJECTED, 21), (GUIDE, 30)], trace.texts).plain == "r«·y» j«x» g«·y»"
    assert "g retrieved for the target" in legend().plain
    lines = [line.plain for line in comb(trace.iterations[1], trace.texts, 120)]
    assert any(line.startswith("guide 1  Â 1") for line in lines)
    assert "origins: d draft model, r" not in render(trace)  # nothing retrieved while drafting got this far
    assert "j retrieved from rejected drafts, g retrieved for the target, t target's own" in render(trace)


def test_sentences_tell_what_ran_beside_what():
    guided = rounds().iterations[1]
    assert in_short(guided) == (
        "Iteration 2: put 2 of the round before and a guide to the target, accepted 2 + 1 from guide 1, "
        "+1 from the target; 1 target forward over 5 rows, beside it 1 draft forward wrote 3 and 1 go on."
    )
    said = ["".join(step.said) for step in stepper_info(rounds()).steps]
    assert said[0] == (
        "reads the prompt of 2 tokens; nothing was left to verify; the target wrote 1 token of its own: "
        "1 token for one target forward. Meanwhile the draft model wrote 3 tokens more: "
        "the first one is what the target says too, 2 are verified next."
    )
    assert said[1] == (
        "2 tokens were drafted in the iteration before, and 2 retrieved behind them; the target kept all 2, "
        "kept 1 more from a guide and added 1 of its own: 4 tokens for one target forward. "
        "Meanwhile the draft model wrote 3 tokens more: the first 2 are what the target says too, "
        "1 is verified next."
    )
    assert said[2] == (
        "1 token was drafted in the iteration before; the target corrected it: 1 token for one target forward. "
        "Meanwhile the draft model wrote 1 token more, which does not follow from that: it goes."
    )


def test_a_round_is_on_one_clock_from_the_first_lane_on():
    begun, guided, lost = stepper_info(rounds()).steps
    assert (begun.start, begun.ms, begun.target_start) == (0, 5.0, 0.5)
    lanes = guided.beside
    assert (guided.start, guided.ms, guided.target_start, guided.target_ms) == (4.5, 10.0, 1.0, 6.0)
    assert (lanes.start, lanes.ms, lanes.overlap) == (3.0, 6.0, 4.0)
    assert [(one.start, one.ms) for one in guided.forwards] == [(3.0, 6.0)]
    assert (lost.beside.overlap, lanes.kept, lanes.right, lost.beside.right) == (0.0, 1, 2, 0)


def test_what_is_written_beside_the_target_is_no_node_of_its_tree():
    guided = stepper_info(rounds()).steps[1]
    assert guided.tree.kinds == "jdgg"
    assert [one.kinds for one in guided.forwards] == ["rrd"]
    assert [row.label for row in guided.tree.rows] == ["Draft", "Guide 1"]


def test_the_timeline_shades_where_both_worked():
    info = timeline_info(rounds(), first=1)
    assert info.measured.overlaps == ((0.5, 1.0), (1.0, 2.0), (7.5, 11.5))
    assert "draft and target at the same time for 6 ms of it" in info.sentence
    assert info.ratio == 0.875
    assert (
        info.ideal.bands[-1].end == 2 * 0.875 + 1 + 1
    )  # each draft beside its target, the longer one counts
    bars = [bar for bar in timeline_view(rounds(), first=1).draw().data if bar.marker.color == LIGHT.ghost]
    assert bars[0].x == tuple(end - start for start, end in info.measured.overlaps)


def test_an_arrow_leads_to_the_forward_that_verifies():
    flows = [event for event in perfetto(rounds())["traceEvents"] if event["ph"] in "stf"]
    assert [(event["ph"], event["ts"]) for event in flows] == [
        ("s", 0.0),
        ("t", 1000.0),
        ("f", 5500.0),
        ("s", 7500.0),
        ("f", 15500.0),
    ]


def test_the_other_views_draw_them():
    trace = rounds()
    assert "guide 1" in str(tree_view(trace, iteration=2))
    assert "1 retrieved for the target" in str(stream_view(trace))
    bars = [bar for bar in comparison_view(plain_of(trace), trace).draw().data if bar.type == "bar"]
    shapes = {bar.name: bar.marker.pattern.shape for bar in bars}
    assert shapes[ORIGINS[REJECTED]] != shapes[ORIGINS[GUIDE]]
    assert shapes[ORIGINS[TARGET]] == ""
    assert (
        stepper_html(trace, step=1, page=True).count("Guide 1") == 2
    )  # in the data, and where no script runs
