"""`phrasekit demo` and `phrasekit methods`."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

import phrasekit as pk
from phrasekit.cli.demo import PROMPT
from phrasekit.cli.tokens import legend, strip
from phrasekit.trace import Trace, render
from phrasekit.trace.records import LETTERS
from tests.cli.conftest import error_of

FEW = ("--max-new-tokens", "16", "--repeats", "1")


def test_every_iteration_then_the_text_then_the_race(call, pair):
    result = call("demo", *FEW)
    assert (result.exit_code, result.stderr) == (0, "")
    run = pk.generate(pair, PROMPT, max_new_tokens=16)
    told = " ".join(result.stdout.split())
    for iteration in run.trace.iterations:
        assert str(iteration) in told
        tokens = zip(iteration.kinds, iteration.emitted, strict=True)
        assert strip(tokens, run.trace.texts).plain in told
    assert legend().plain in told
    assert all(line.rstrip() in result.stdout for line in run.text.rstrip().splitlines())
    rows = {
        line[: line.rindex("  ")].strip(): line.split() for line in result.stdout.splitlines() if "  " in line
    }
    (same,) = [words for words in rows.values() if words[:3] == ["same", "output", "as"]]
    assert same[-2:] == ["yes", "yes"]
    assert "median of 1 round" in told


def test_colours_only_where_they_are_wanted(call, monkeypatch):
    few = ("--max-new-tokens", "4", "--repeats", "1")
    piped = call("demo", *few).stdout
    assert "\x1b" not in piped
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    colored = call("demo", *few).stdout
    assert "38;5;74m" in colored  # sky: the draft model
    assert "1;38;5;32m" in colored  # bold blue: the target
    monkeypatch.setenv("NO_COLOR", "1")
    assert "38;5" not in call("demo", *few).stdout


def test_another_method_and_plain_decoding_alone(call):
    few = ("--max-new-tokens", "4", "--repeats", "1")
    assert "prompt_lookup: the same tokens" in call("demo", *few, "--method", "prompt_lookup").stdout
    alone = call("demo", *few, "--method", "vanilla")
    assert alone.exit_code == 0
    assert "speed of plain decoding" not in alone.stdout


def test_ctrl_c_shows_the_text_so_far_and_no_race(call, at_step):
    at_step(2, lambda: signal.raise_signal(signal.SIGINT))
    result = call("demo", "--max-new-tokens", "64")
    assert result.exit_code == 130
    assert "Iteration 2:" in result.stdout
    assert "Iteration 3:" not in result.stdout
    assert "stopped before its end" in result.stdout
    assert "Measured" not in result.stdout


@pytest.mark.parametrize(
    "arguments", [("--method", "no"), ("--max-new-tokens", "0"), ("--delay", "-1"), ("--repeats", "0")]
)
def test_bad_input_is_refused_before_a_model_loads(call_without_models, arguments):
    error_of(call_without_models("demo", *arguments))


@pytest.mark.parametrize("kind", [*LETTERS, "unheard-of"])
def test_marks_are_those_of_recorded_traces(partly, kind):
    """One reader, one alphabet: `trace show` and `demo` draw the same strip."""
    texts = {10: "if", 11: " x«", 50: "\n"}
    kinds = (kind, kind, "target")
    shown = render(Trace("m", (1,) * 12, (replace(partly, kinds=kinds),), "length", texts=texts))
    assert strip(zip(kinds, partly.emitted, strict=True), texts).plain in shown


def test_methods_lists_every_method(call_without_models):
    result = call_without_models("methods")
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert pk.METHODS.keys() <= rows.keys()
    assert "draft model" in rows["ouroboros"]
    assert "draft model" not in rows["lookahead"]
    assert "corpus" in rows["rest"]
