"""The tree as text."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from phrasekit.cli.comb import comb
from phrasekit.cli.iteration import show_iteration
from phrasekit.trace import TreeRecord
from tests.strategies import traces

TEXTS = {10: "if", 11: " x", 12: " is", 13: "\n", 20: "    ", 21: " return", 50: " ==", 51: " y"}


def lines(iteration, width=100):
    return [line.plain for line in comb(iteration, TEXTS, width)]


def test_target_on_top_draft_and_suffix_below_with_marks(partly):
    assert lines(partly) == [
        "position              12   13   14    15  16     17",
        "target                if   ·x   ·==   ⏎",
        "draft  A 2  #Match 3  ✓if  ✓·x  ✗·is  =⏎",
        "suffix 1  Â 1                             =····  ≠·return",
    ]


def test_a_wide_tree_goes_on_below(partly):
    assert lines(partly, width=44) == [
        "position              12   13   14    15",
        "target                if   ·x   ·==   ⏎",
        "draft  A 2  #Match 3  ✓if  ✓·x  ✗·is  =⏎",
        "position              16     17",
        "suffix 1  Â 1         =····  ≠·return",
    ]


def test_a_suffix_taken_and_a_guess_of_no_draft(partly):
    tree = replace(partly.tree, trunk=())
    guessed = replace(partly, tree=tree, picks=(10, 11, 12, 13, 20, 60, 61), path=(0, 1, 2, 3, 4), emitted=())
    assert lines(guessed)[-1].startswith("guess 1  Â 1")
    assert "✓····  ✗·return" in lines(guessed)[-1]


def test_plain_decoding_and_an_empty_trace_have_a_comb_too(partly):
    plain = replace(partly, tree=TreeRecord(), picks=(50,), path=(), emitted=(50,), kinds=("target",))
    assert lines(plain) == ["position  12", "target    ·=="]
    assert lines(replace(plain, emitted=(), kinds=())) == ["position  12"]


def test_window_rows_are_counted_and_copies_named(partly):
    tree = replace(partly.tree, kinds=("lookup",) * 4 + ("window",) * 2, branches=())
    shown = lines(replace(partly, tree=tree))
    assert shown[2].startswith("copy  A 2")
    assert shown[-1].split() == ["window", "2", "rows,", "never", "emitted"]


def test_long_indents_are_counted_and_long_tokens_cut(partly):
    texts = {**TEXTS, 10: "\n" + 8 * " ", 11: "a" * 80}
    draft = list(comb(partly, texts, 100))[2].plain
    assert "✓⏎·×8 " in draft
    assert "✓aaaaaaaaaa…(+70)" in draft


def test_nothing_from_a_trace_reaches_the_terminal_as_it_is(partly):
    hostile = replace(partly, knobs={"gamma": "\x1b[31m"}, note="\x07")
    texts = {10: "\x1b]0;owned\x07", 11: "[bold]x[/]", 12: "\u202e", 50: "a\rb", 20: ":smile:"}
    shown = screen(hostile, texts)
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "γ \\x1b[31m" in shown
    assert "✓[bold]x[/]" in shown  # markup and emoji names are text
    assert ":smile:" in shown


@settings(max_examples=25)
@given(traces(), st.integers(40, 120))
def test_any_sound_trace_can_be_shown(trace, width):
    for iteration in trace.iterations:
        shown = screen(iteration, trace.texts, width)
        assert all(line.isprintable() for line in shown.split("\n"))
        assert f"Iteration {iteration.index + 1}:" in shown


def screen(iteration, texts, width=100):
    file = StringIO()
    show_iteration(
        Console(width=width, file=file, highlight=False, markup=False, emoji=False), iteration, texts
    )
    return file.getvalue()
