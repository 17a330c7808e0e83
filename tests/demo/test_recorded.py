"""The recorded runs that ship: sound, exact, small, and readable without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from phrasekit import demo
from phrasekit.trace import faults

NAMES = (
    "vanilla",
    "cascade",
    "double",
    "hybrid",
    "lookahead",
    "ouroboros",
    "ouroboros_window",
    "pearl",
    "prompt_lookup",
    "speculative",
)


TOKENS = 64


def test_every_method_is_there_plain_decoding_first():
    assert demo.traces() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_they_are_sound_and_hold_one_text(name):
    trace, plain = demo.load_recorded(name), demo.load_recorded("vanilla")
    assert not list(faults(trace))
    assert (trace.prompt, trace.tokens) == (plain.prompt, plain.tokens)
    assert len(trace.tokens) == TOKENS
    assert trace.method == name.removesuffix("_window")
    assert set(trace.tokens) | set(trace.prompt) <= set(trace.texts)


def test_they_show_what_each_method_does():
    made = {name: demo.load_recorded(name) for name in NAMES}
    forwards = {name: len(trace.iterations) for name, trace in made.items()}
    assert all(forwards[name] < forwards["vanilla"] for name in NAMES[1:])
    origins = {name: {kind for one in trace.iterations for kind in one.kinds} for name, trace in made.items()}
    assert origins["vanilla"] == {"target"}
    assert "draft" in origins["speculative"]
    assert "lookup" in origins["prompt_lookup"]
    assert {"draft", "phrase", "suffix"} <= origins["ouroboros"]
    assert {"draft", "retrieved", "rejected", "guide"} <= origins["double"]
    assert origins["pearl"] == {"draft", "target"}
    windows = {
        name: any(inner.window for one in made[name].iterations for inner in one.draft)
        for name in ("ouroboros", "ouroboros_window")
    }
    assert windows == {"ouroboros": False, "ouroboros_window": True}


def test_draft_and_target_of_the_parallel_runs_worked_at_the_same_time():
    for name in NAMES:
        rounds = [one.round for one in demo.load_recorded(name).iterations]
        parallel = name in ("pearl", "double")
        assert {one.schedule for one in rounds} == ({"threads"} if parallel else {""})
        assert (sum(one.overlap_ms for one in rounds) > 0) == parallel
        assert any(one.kept for one in rounds) == parallel


@pytest.mark.parametrize("name", NAMES)
def test_they_say_how_likely_every_token_was_and_agree_on_it(name):
    trace, plain = demo.load_recorded(name), demo.load_recorded("vanilla")
    odds = [value for one in trace.iterations for value in one.logprobs]
    assert odds == pytest.approx([value for one in plain.iterations for value in one.logprobs], abs=0.002)
    assert len(odds) == TOKENS
    assert max(odds) <= 0


def test_together_they_stay_below_a_megabyte():
    assert sum(path.stat().st_size for path in demo.TRACES.iterdir()) < 1_000_000


def test_an_unknown_name_is_told_the_names():
    with pytest.raises(ValueError, match=r"must be one of vanilla, .* but got '\.\./defaults'"):
        demo.load_recorded("../defaults")


def test_they_load_without_torch():
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from phrasekit.demo import load_recorded\n"
        f"assert len(load_recorded().tokens) == {TOKENS}"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
