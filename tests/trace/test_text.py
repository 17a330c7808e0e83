"""Sentences for every kind of iteration, and a rendering that no token can break out of."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phrasekit.trace import Branch, Trace, TreeRecord, render, sentence, visible
from phrasekit.trace.visible import columns
from tests.strategies import hostile_texts, traces

SGR = re.compile(r"\x1b\[[0-9;]*m")


# --- sentences ----------------------------------------------------------------------------------


def test_partial_acceptance_and_the_prompt(partial):
    assert sentence(partial) == (
        "Iteration 1: read 2 prompt tokens, drafted 3 in 2 draft forwards, accepted 2 of 3, "
        "+1 from the target; 1 target forward over 5 rows."
    )


def test_full_acceptance_with_a_suffix(lengthened):
    assert sentence(lengthened) == (
        "Iteration 2: drafted 2 in 1 draft forward, accepted 2 + 2 from suffix 2, +1 from the target; "
        "1 target forward over 6 rows."
    )


def test_right_after_the_mistake(misplaced):
    assert sentence(misplaced) == (
        "Iteration 3: drafted 3 in 1 draft forward, accepted 0 of 3 (2 more right after the first mistake), "
        "+1 from the target; 1 target forward over 4 rows."
    )


def test_no_draft(vanilla):
    assert sentence(vanilla) == "Iteration 4: no draft, +1 from the target; 1 target forward over 1 row."


def test_a_draft_decoder_is_named(vanilla):
    assert sentence(vanilla, model="draft").endswith("+1 from the draft; 1 draft forward over 1 row.")


def test_a_copy_from_the_context(misplaced):
    copied = replace(misplaced, tree=replace(misplaced.tree, kinds=("lookup",) * 3), draft=())
    assert "Iteration 3: looked up 3 in the context, accepted 0 of 3" in sentence(copied)


def test_a_draft_that_cost_nothing(misplaced):
    assert "drafted 3 without a draft forward, " in sentence(replace(misplaced, draft=()))


@pytest.mark.parametrize(
    ("picks", "path", "story"),
    [
        ((5, 6, 7, 8), (0,), "tried 2 guesses, accepted 1 from guess 1, +1 from the target"),
        ((9, 6, 7, 8), (2,), "tried 2 guesses, accepted 1 from guess 2, +1 from the target"),
        ((4, 6, 7, 8), (), "tried 2 guesses, accepted none, +1 from the target"),
    ],
)
def test_guesses_beside_nothing(vanilla, picks, path, story):
    branches = (Branch("phrase", 1, (0, 1)), Branch("phrase", 2, (2,)))
    tree = TreeRecord((5, 5, 9), (-1, 0, -1), ("phrase",) * 3, (1, 1, 2), branches=branches)
    emitted = (*(tree.tokens[node] for node in path), picks[(path[-1] if path else -1) + 1])
    kinds = ("phrase", "target")[-len(emitted) :]
    guessed = replace(vanilla, tree=tree, picks=picks, path=path, emitted=emitted, kinds=kinds)
    assert sentence(guessed) == f"Iteration 4: {story}; 1 target forward over 1 row."


def test_a_cut_by_a_stop(lengthened):
    cut = replace(lengthened, emitted=(20, 21, 30), kinds=("draft", "draft", "suffix"))
    assert "accepted 2 + 2 from suffix 2, cut to 3 tokens by a stop or a limit; " in sentence(cut)


def test_note_and_text_follow(partial):
    noted = replace(partial, note="out of\nmemory")
    assert sentence(noted).endswith("5 rows. Note: out of⏎memory.")
    assert sentence(noted, {10: "(", 11: " x"}).endswith(" Text: «(·x#50»")


# --- rendering ----------------------------------------------------------------------------------


def test_render_reads_without_colour(story):
    assert render(story).splitlines() == [
        "ouroboros: 2 prompt tokens, 10 tokens out, eos",
        "settings: temperature=0.0, eos=(5,)",
        "prompt: «def·f»",
        "origins: d draft model, p pool phrase, s pool phrase behind the draft, t target's own",
        "",
        "Iteration 1: read 2 prompt tokens, drafted 3 in 2 draft forwards, accepted 2 of 3, +1 from the",
        "target; 1 target forward over 5 rows.",
        "  d«(» p«x» t«):⏎»",
        "  refused d«y»",
        "Iteration 2: drafted 2 in 1 draft forward, accepted 2 + 2 from suffix 2, +1 from the target; 1",
        "target forward over 6 rows.",
        "  d«#20¦#21» s«····return¦#32» t«#60»",
        "Iteration 3: drafted 3 in 1 draft forward, accepted 0 of 3 (2 more right after the first mistake),",
        "+1 from the target; 1 target forward over 4 rows.",
        "  t«#70»",
        "  refused d«#40¦#41¦#42»",
        "Iteration 4: no draft, +1 from the target; 1 target forward over 1 row.",
        "  t«<end>»",
        "",
        "10 tokens in 4 target forwards: 2.50 a forward (η, bonus included)",
        "origins: draft 3, phrase 1, suffix 2, target 4",
        "draft: 4 of 8 tokens accepted (50 %), mean A 1.33 (bonus excluded), #Match - A 0.67, p 0.67",
        "draft forwards: 4, 2.00 tokens drafted by each (c), 0.40 per token out",
        "suffixes: best kept 2.00 in 1 round with the whole draft accepted (Â, bonus excluded)",
        "pool: 2 of 3 lookups hit (67 %), 4 phrases at the end (+1)",
        "time: 20.0 ms, target 40 %, draft 20 %, everything else 40 %, 500.00 tokens/s with the prompt",
    ]


def test_render_of_a_run_that_has_not_begun():
    assert render(Trace("vanilla", (1,))).splitlines() == [
        "vanilla: 1 prompt token, 0 tokens out, still running",
        "prompt: «#1»",
        "",
        "0 tokens in 0 target forwards: - a forward (η, bonus included)",
    ]


def test_colours_are_those_of_the_origins(story):
    drawn = render(story, color=True)
    assert "\x1b[38;5;74md«(»\x1b[0m \x1b[38;5;36mp«x»\x1b[0m \x1b[1;38;5;32mt«):⏎»\x1b[0m" in drawn
    assert "\x1b[38;5;172ms«····return¦#32»\x1b[0m" in drawn
    assert SGR.sub("", drawn) == render(story)


def test_a_long_prompt_shows_its_end():
    assert "prompt: …«#2#3" in render(Trace("m", tuple(range(42))))


def test_long_runs_of_tokens_wrap_between_tokens(vanilla):
    tree = TreeRecord(tuple(range(30)), tuple(range(-1, 29)), ("draft",) * 30, (-1,) * 30, tuple(range(30)))
    whole = replace(
        vanilla, tree=tree, picks=tuple(range(31)), path=tree.trunk, emitted=tuple(range(31)),
        kinds=(*tree.kinds, "target"),
    )  # fmt: skip
    drawn = render(Trace("m", (70,), (whole,)), width=40)
    assert "\n  d«#0¦#1¦#2¦#3¦#4¦#5¦#6¦#7¦#8¦#9¦#10»\n  d«#11¦" in drawn
    assert re.findall(r"#\d+(?=[¦»])", drawn)[1:] == [f"#{token}" for token in range(31)]


def test_short_runs_wrap_within_the_width(vanilla):
    kinds = ("draft", "phrase") * 10
    tree = TreeRecord((1,) * 20, tuple(range(-1, 19)), kinds, (-1,) * 20, tuple(range(20)))
    kept = replace(vanilla, tree=tree, picks=(1,) * 21, path=tree.trunk, emitted=(1,) * 20, kinds=kinds)
    lines = render(Trace("m", (70,), (kept,)), width=40).splitlines()
    drawn = [line for line in lines if line.startswith("  ")]
    assert drawn == ["  " + " ".join(["d«#1» p«#1»"] * 3)] * 3 + ["  d«#1» p«#1»"]


@settings(max_examples=40, deadline=None)
@given(trace=traces(), text=hostile_texts, width=st.integers(0, 120))
@example(trace=Trace("m", (1,)), text="\x1b]0;owned\x07\r\u202e\u2066\x9b31m", width=80)
def test_no_text_breaks_out_of_the_terminal_form(trace, text, width):
    trace = replace(
        trace,
        method=text,
        settings={text: text},
        texts=dict.fromkeys(range(10), text),
        iterations=tuple(replace(iteration, note=text) for iteration in trace.iterations),
    )
    drawn = render(trace, width=width)
    assert all(character.isprintable() for character in drawn.replace("\n", ""))
    assert all(columns(line) <= max(width, 40) for line in drawn.split("\n"))
    assert SGR.sub("", render(trace, width=width, color=True)) == drawn


def test_a_token_cannot_forge_an_origin(story):
    forged = replace(story, texts=dict.fromkeys(range(99), "» t«fake"))
    assert "t«fake" not in render(forged)
    assert "d«\\xbb·t\\xabfake»" in render(forged)


def test_an_unknown_origin_is_shown_but_not_obeyed(vanilla):
    drawn = render(Trace("m", (70,), (replace(vanilla, kinds=("\x1b[31m",)),)), color=True)
    assert "  ?«#5»" in drawn
    assert "origins: \\x1b[31m 1" in drawn
    assert "\x1b" not in drawn


def test_an_endless_token_is_clipped(story):
    drawn = render(replace(story, texts=dict.fromkeys(range(99), "x" * 10_000)))
    assert f"p«{'x' * 48}…(+9952)»" in drawn


# --- single characters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b\tc\n", "a·b⇥c⏎"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\r\x00\x7f", "\\x0d\\x00\\x7f"),
        ("\x85\x9b", "\\x85\\x9b"),
        ("\u202a\u202e\u2066\u2069", "\\u202a\\u202e\\u2066\\u2069"),
        ("\u200b\u2028\ufeff\ud800", "\\u200b\\u2028\\ufeff\\ud800"),
        ("\U000e0041\xa0", "\\U000e0041\\xa0"),
        ("é漢\U0001f600", "é漢\U0001f600"),
        ("", ""),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


def test_visible_can_keep_spaces_and_clip():
    assert visible("a b", spaces=False) == "a b"
    assert visible("abcdef", keep=3) == "abc…(+3)"
    assert visible("abc", keep=3) == "abc"
    assert visible("漢字", keep=3) == "漢…(+1)"
    assert visible("e" + "\u0301" * 100, keep=3) == "e\u0301\u0301…(+98)"
    assert visible("a«", reserved="«") == "a\\xab"


@given(
    st.text(st.characters(max_codepoint=0x2FF), max_size=12), st.booleans(), st.none() | st.integers(0, 12)
)
def test_plain_text_takes_no_other_way_out_than_the_rest(text, spaces, keep):
    """A reserved character that is nowhere in the text makes `visible` look at every character."""
    shown = visible(text, spaces=spaces, keep=keep)
    assert shown == visible(text, spaces=spaces, keep=keep, reserved="\u2603")


def test_columns_count_wide_and_combining_characters():
    assert columns("a漢e\u0301") == 4
