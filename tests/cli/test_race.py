"""Who is how fast: `phrasekit compare`, and the arithmetic behind every table."""

from __future__ import annotations

import json
import signal
from dataclasses import replace

import pytest

import phrasekit as pk
from phrasekit import lm
from phrasekit.cli.figures import one_below_another, side_by_side, verdict
from phrasekit.cli.race import Lap, standings
from phrasekit.trace import Trace
from tests.cli.conftest import PROMPT, error_of

FEW = ("--max-new-tokens", "10", "--repeats", "1")


@pytest.fixture
def trace(partly):
    return Trace("speculative", (1,) * 12, (partly,), "length")


def laps(trace, seconds):
    return [Lap(time, [trace]) for time in seconds]


def test_ratios_are_taken_round_by_round(trace):
    plain, other = standings({"vanilla": laps(trace, [2, 4, 9]), "quick": laps(trace, [1, 1, 9])})
    assert (plain.ratio, plain.seconds, plain.identical) == (1, 4, True)
    assert (other.ratio, other.slowest, other.fastest, other.seconds) == (2, 1, 4, 1)
    assert other.metrics.accepted == 2


def test_no_round_no_standing():
    assert list(standings({"vanilla": [], "quick": []})) == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ([1, 1, 1], "the same tokens at 2.00 × the speed of plain decoding, faster."),
        ([4, 4, 4], "the same tokens at 0.50 × the speed of plain decoding, slower."),
        ([1, 1, 3], "the same tokens at 2.00 × the speed of plain decoding, but the rounds disagree"),
    ],
)
def test_a_loss_is_said_as_plainly_as_a_gain(trace, seconds, said):
    result = list(standings({"vanilla": laps(trace, [2, 2, 2]), "m": laps(trace, seconds)}))
    (line,) = verdict(result)
    assert line.startswith(f"m: {said}")


def test_another_output_is_never_hidden(trace):
    other = Trace("m", trace.prompt, (), "length")
    results = list(standings({"vanilla": laps(trace, [2]), "m": laps(other, [1])}))
    assert [result.identical for result in results] == [True, False]
    assert any("gave other tokens than plain decoding" in line for line in verdict(results))
    assert list(side_by_side(results).columns[-1].cells)[-1] == "NO"
    assert list(one_below_another(results).columns[-1].cells) == ["yes", "NO"]


# --- the command --------------------------------------------------------------------------------


def test_methods_take_turns_and_agree(call, tmp_path):
    file = tmp_path / "numbers.json"
    result = call("compare", PROMPT, "--methods", "ouroboros,prompt_lookup", *FEW, "--json", str(file))
    assert result.exit_code == 0
    assert "median of 1 round" in result.stdout
    written = json.loads(file.read_text(encoding="utf-8"))
    rows = written["methods"]
    assert [row["method"] for row in rows] == ["vanilla", "ouroboros", "prompt_lookup"]
    assert all(row["identical_to_plain"] for row in rows)
    assert (rows[0]["ratio_to_plain"], rows[0]["metrics"]["block_efficiency"]) == (1, 1)
    assert rows[1]["metrics"]["emitted"] == 10
    assert (written["rounds"], written["prompts"], written["conditions"]["threads"]) == (1, 1, 1)
    for row in rows:
        (shown,) = [line for line in result.stdout.splitlines() if line.split()[:1] == [row["method"]]]
        assert f" {row['ratio_to_plain']:.2f} ×" in shown
        assert shown.split()[-1] == "yes"


@pytest.mark.parametrize("drafts", [True, False])
def test_without_a_choice_every_method_runs_that_can(call, pair, monkeypatch, drafts):
    models = pair if drafts else replace(pair, draft=None)
    monkeypatch.setattr(lm, "load_pair", lambda **_: models)
    options = ("--max-new-tokens", "2", "--repeats", "1", *([] if drafts else ["--target", "some/model"]))
    shown = call("compare", PROMPT, *options).stdout.splitlines()
    for name, method in pk.METHODS.items():
        runs = (drafts or not method.drafts) and "-no-" not in name and not method.corpus
        assert runs == any(line.split()[:1] == [name] for line in shown)


def test_the_pool_lives_across_prompts_unless_it_is_fresh(call, tmp_path):
    prompts, file = tmp_path / "prompts.jsonl", tmp_path / "numbers.json"
    prompts.write_text(2 * (json.dumps(PROMPT) + "\n"), encoding="utf-8")
    learned = []
    for option in ([], ["--fresh-pool"]):
        arguments = ["--prompts", str(prompts), "--methods", "ouroboros", *FEW, "--json", str(file), *option]
        assert call("compare", *arguments).exit_code == 0
        numbers = json.loads(file.read_text(encoding="utf-8"))["methods"][1]["metrics"]
        learned.append(numbers["pool_inserted"])
    assert learned[0] < learned[1]  # the same prompt again: most phrases were known


def test_ctrl_c_keeps_the_rounds_that_are_over(call, pair, at_step, tmp_path):
    file = tmp_path / "numbers.json"
    per_round = 10 + len(pk.generate(pair, PROMPT, method="speculative", max_new_tokens=10).trace.iterations)
    at_step(2 * per_round + 3, lambda: signal.raise_signal(signal.SIGINT))  # a warm-up round comes first
    options = ("--methods", "speculative", "--max-new-tokens", "10", "--repeats", "3", "--json", str(file))
    result = call("compare", PROMPT, *options)
    assert result.exit_code == 130
    assert json.loads(file.read_text(encoding="utf-8"))["rounds"] == 1
    assert "median of 1 round" in result.stdout


def test_ctrl_c_before_the_first_round_is_over(call, at_step):
    at_step(3, lambda: signal.raise_signal(signal.SIGINT))
    result = call("compare", PROMPT, "--methods", "speculative", *FEW)
    assert result.exit_code == 130
    assert result.stdout == "Stopped before the first round was over: nothing to compare.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--methods", "vanilla,magic"), "but got 'magic'"),
        (("--repeats", "0"), "'--repeats'"),
        (("--json", "no/where.json"), "needs an existing folder"),
        (("--gamma", "999"), "knob gamma must be"),
        (("",), "at least one token"),
    ],
)
def test_bad_input_is_refused_before_a_model_loads(call_without_models, arguments, said):
    assert said in error_of(call_without_models("compare", *arguments))
