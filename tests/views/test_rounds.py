"""Retrieved tokens and rounds of two lanes, in every form they are shown in."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from phrasekit.cli.comb import comb
from phrasekit.cli.tokens import MEANINGS, STYLES, legend, strip
from phrasekit.trace import faults
from phrasekit.trace.export.perfetto import perfetto
from phrasekit.trace.records import GUIDE, KINDS, LETTERS, LOOKUP, REJECTED, RETRIEVED, TARGET, WINDOW
from phrasekit.trace.rounds import agreed
from phrasekit.trace.text import render
from phrasekit.trace.text import sentence as in_short
from phrasekit.views import comparison_view, stream_view, timeline_info, timeline_view, tree_view
from phrasekit.views.html import chips, style
from phrasekit.views.stepper import stepper_html, stepper_info
from phrasekit.views.stepper.page import script
from phrasekit.views.stepper.page import style as stepper_style
from phrasekit.views.stepper.words import beside_sentence, forward_sentence, schedule_words
from phrasekit.views.theme import DARK, FOUND, LIGHT, ROLES
from phrasekit.views.tokens import KEPT, ORIGINS, Token
from tests.views.stepper_traces import plain_of, rounds

NEW = (RETRIEVED, REJECTED, GUIDE)


def test_the_rounds_are_a_sound_trace():
    assert list(faults(rounds())) == []


def test_every_kind_has_a_letter_of_its_own():
    assert LETTERS.keys() == set(KINDS)
    assert len(set(LETTERS.values())) == len(KINDS)


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
    for letter in LETTERS.values():
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


def test_the_header_says_what_a_tail_and_a_guide_are():
    told = render(rounds()).replace("\n", " ")
    assert "rounds: the target verifies a tail, and a guide where it retrieved one;" in told
    assert "rounds:" not in render(plain_of(rounds()))


def test_sentences_tell_what_ran_beside_what():
    guided = rounds().iterations[1]
    assert in_short(guided) == (
        "Iteration 2: verified a tail of 2 and a guide of 2, accepted 2 + 1 from guide 1, +1 from the target; "
        "1 target forward over 5 rows; drafted 3 beside it in 1 draft forward, 1 of them the next tail."
    )
    begun = in_short(rounds().iterations[0])
    assert begun == (
        "Iteration 1: read 2 prompt tokens, no tail to verify, +1 from the target; 1 target forward over 2 rows; "
        "drafted 3 beside it in 2 draft forwards, 2 of them the next tail."
    )
    said = ["".join(step.said) for step in stepper_info(rounds()).steps]
    assert said[0] == (
        "reads the prompt of 2 tokens; nothing was drafted yet; the target wrote 1 token of its own: "
        "1 token for one target forward. Meanwhile the draft model wrote 3 tokens: "
        "the first one the target says too, 2 are left to verify."
    )
    assert said[1] == (
        "2 tokens were drafted in the iteration before, and 2 retrieved behind them; the target kept all 2, "
        "kept 1 more from a guide and added 1 of its own: 4 tokens for one target forward. "
        "Meanwhile the draft model wrote 3 tokens behind those: the first 2 the target says too, "
        "1 is left to verify."
    )
    assert said[2] == (
        "1 token was drafted in the iteration before; the target corrected it: 1 token for one target forward. "
        "Meanwhile the draft model wrote 1 token behind those: it does not follow, so it goes."
    )


def drafting_beside(tokens, schedule="threads"):
    """The guided round, whose text goes on with 30 40 behind its tail, with other tokens drafted beside it."""
    guided = rounds().iterations[1]
    beside = replace(guided.round, drafted=tokens, kinds=("draft",) * len(tokens), kept=0, schedule=schedule)
    return replace(guided, round=beside)


@pytest.mark.parametrize(
    ("tokens", "right", "short", "long"),
    [
        ((30,), 1, "in the text already.", "the target says it too."),
        ((30, 40), 2, "all in the text already.", "the target says all 2 too."),
        (
            (30, 41, 60),
            1,
            "1 in the text already, 2 thrown away.",
            "the first one the target says too, but not the next, so the other 2 go.",
        ),
        ((41, 40), 0, "thrown away.", "they do not follow, so they go."),
    ],
)
def test_a_draft_that_nothing_is_left_of_was_not_always_wrong(tokens, right, short, long):
    one = drafting_beside(tokens)
    assert agreed(one) == right
    assert in_short(one).endswith(short)
    assert beside_sentence(one).endswith(long)


def test_a_draft_behind_a_mistake_is_thrown_away_even_where_its_tokens_come_up():
    lost = rounds().iterations[2]
    assert agreed(replace(lost, round=replace(lost.round, drafted=lost.emitted))) == 0


def test_one_lane_after_the_other_is_not_beside():
    one = drafting_beside((41, 40), schedule="serial")
    assert "drafted 2 after it in 1 draft forward" in in_short(one)
    assert beside_sentence(one).startswith("Then the draft model wrote 2 tokens")
    assert "after the target's forward" in schedule_words("serial")


def test_what_a_draft_forward_tried_is_called_by_its_name():
    first, second = rounds().iterations[0].draft
    assert forward_sentence(second, 2, 2) == (
        "Draft forward 2 of 2: 1 retrieved text to try after this token, it fits 1 token and is taken; "
        "2 tokens from one forward."
    )
    assert "nothing to try" in forward_sentence(first, 1, 2)


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
