"""`phrasekit step`: everything about each iteration, and a person in between."""

from __future__ import annotations

import re
import signal

import pytest

import phrasekit as pk
from phrasekit.cli import step
from tests.cli.conftest import PROMPT, error_of

FEW = ("--max-new-tokens", "12")


@pytest.fixture
def by_hand(monkeypatch):
    """As if standard input were a terminal."""
    monkeypatch.setattr(step, "typed_by_hand", lambda: True)


def iterations_shown(text):
    return [int(number) for number in re.findall(r"^Iteration (\d+):", text, re.MULTILINE)]


def test_without_a_person_every_iteration_is_shown(call, pair):
    result = call("step", PROMPT, *FEW)
    run = pk.generate(pair, PROMPT, max_new_tokens=12)
    assert (result.exit_code, result.stderr) == (0, "")
    assert iterations_shown(result.stdout) == list(range(1, len(run.trace.iterations) + 1))
    drafting = [iteration for iteration in run.trace.iterations if iteration.drafted]
    assert drafting
    for iteration in drafting:
        assert f"draft  A {iteration.accepted}  #Match {iteration.matches} " in result.stdout
    tuned = run.trace.iterations[0].knobs
    assert f"γ {tuned['gamma']}  W {tuned['window']}  N {tuned['level']}" in result.stdout
    assert "The run ended at the token limit." in result.stdout


def test_enter_goes_on_and_knobs_change_in_between(call, pair, by_hand, tmp_path):
    file = tmp_path / "run.jsonl"
    typed = "\ngamma=3 cut_to_gamma=on\n\nq\n"
    result = call("step", PROMPT, *FEW, "--trace", str(file), stdin=typed)
    assert (result.exit_code, iterations_shown(result.stdout)) == (0, [1, 2])
    trace = pk.load_trace(file)
    assert [iteration.knobs["gamma"] for iteration in trace.iterations] == [
        pair.defaults["ouroboros"]["gamma"],
        3,
    ]
    assert trace.iterations[1].drafted == 3
    assert trace.finish_reason == "cancelled"
    assert trace.tokens == pk.generate(pair, PROMPT, max_new_tokens=12).tokens[: len(trace.tokens)]


def test_bad_values_are_one_line_and_the_run_goes_on(call, by_hand):
    result = call("step", PROMPT, *FEW, stdin="gamma=999\nzeta=1\nfaster\n\nq\n")
    assert result.exit_code == 0
    assert iterations_shown(result.stdout) == [1]
    first, second, third = result.stderr.splitlines()
    assert first.startswith("Error: knob gamma must be")
    assert second.endswith("but got zeta")
    assert third.startswith("Error: a change of knobs must look like gamma=5")


def test_help_lists_the_knobs_in_force(call, by_hand):
    result = call("step", PROMPT, *FEW, stdin="beta=3\n?\nq\n")
    assert "beta=3" in result.stdout.split("from the next iteration: beta=3")[1]
    assert iterations_shown(result.stdout) == []


def test_r_runs_to_the_end(call, pair, by_hand):
    result = call("step", PROMPT, *FEW, stdin="\nr\n")
    count = len(pk.generate(pair, PROMPT, max_new_tokens=12).trace.iterations)
    assert iterations_shown(result.stdout) == list(range(1, count + 1))


def test_the_end_of_input_quits(call, by_hand):
    result = call("step", PROMPT, *FEW, stdin="\n")
    assert (result.exit_code, iterations_shown(result.stdout)) == (0, [1])


def test_ctrl_c_keeps_what_was_made(call, at_step, tmp_path):
    file = tmp_path / "run.jsonl"
    at_step(2, lambda: signal.raise_signal(signal.SIGINT))
    result = call("step", PROMPT, "--max-new-tokens", "64", "--trace", str(file))
    assert (result.exit_code, iterations_shown(result.stdout)) == (130, [1, 2])
    assert len(pk.load_trace(file).iterations) == 2
    assert "The run stopped before its end." in result.stdout


@pytest.mark.parametrize(
    "arguments", [(), ("",), ("x", "--method", "no"), ("x", "--beta", "1"), ("x", "--prompts", "y")]
)
def test_bad_input_is_refused_before_a_model_loads(call_without_models, arguments):
    error_of(call_without_models("step", *arguments))
