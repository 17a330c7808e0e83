"""`phrasekit tune` from options to exit status; the search itself is in tests/tune."""

from __future__ import annotations

import io
import json
import shlex

import pytest
from click.testing import CliRunner
from rich.console import Console

from phrasekit.api import Decoding
from phrasekit.cli import main, tuneview
from phrasekit.cli.generate import generate
from phrasekit.tune import Progress, TrialRecord
from phrasekit.tune.tuning import Options
from tests.cli.conftest import error_of, invoke

SHORT = ("--max-new-tokens", "6", "--repeats", "1", "--final-repeats", "1")
GRID = ("--strategy", "grid", "--grid", "gamma=1,2", "--grid", "window=0,3")


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    lines = ["def a(x):\n", {"prompt": "class B:\n"}, [5, 6, 7], "import os\n"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def cheap(monkeypatch):
    """A clock of iterations: one of the method costs a hundredth of one of plain decoding."""
    from phrasekit.tune import tuning

    now, step = [0.0], Decoding.step

    def stepping(self):
        now[0] += 1.0 if self.method.name == "vanilla" else 0.01
        return step(self)

    monkeypatch.setattr(Decoding, "step", stepping)
    costs = tuning.measure_costs
    monkeypatch.setattr(tuning, "CLOCKS", {"wall": lambda: now[0], "cpu": lambda: now[0]})
    monkeypatch.setattr(tuning, "measure_costs", lambda pair, **given: costs(pair, rows=(1, 2), repeats=1))


def test_help_needs_no_optuna_and_shows_what_holds_by_itself():
    result = invoke("tune", "--help")
    assert result.exit_code == 0
    told = " ".join(result.stdout.split())
    assert "[default: ouroboros]" in told
    assert f"Tokens to generate at most. [default: {Options().max_new_tokens}]" in told
    assert f"Of every trial. [default: {Options().repeats};" in told
    assert "--gamma" in told


def test_a_grid_ends_in_a_verdict_and_a_command_that_generate_takes(call, prompts, cheap, tmp_path):
    file = tmp_path / "out.json"
    result = call("tune", *GRID, *SHORT, "--prompts", str(prompts), "--json", str(file))
    assert result.exit_code == 0, result.stderr
    assert "milliseconds of a forward" in result.stdout
    assert "speed of ouroboros, plain = 1" in result.stdout
    assert "Speculate, with ouroboros at γ" in " ".join(result.stdout.split())
    (line,) = [line for line in result.stdout.splitlines() if "phrasekit generate" in line]
    given = generate.make_context("generate", shlex.split(line)[2:]).params
    told = json.loads(file.read_text())
    assert told["schema"] == "phrasekit-tune"
    assert given["gamma"] == told["verdict"]["knobs"]["gamma"]
    assert len(told["trials"]) == 4
    assert all(trial["identical"] for trial in told["trials"])


def test_fixed_knobs_and_several_methods(call, prompts, cheap, tmp_path):
    file = tmp_path / "out.json"
    arguments = ("--method", "prompt_lookup,ouroboros", "--strategy", "grid", "--suffixes", "1")
    grid = ("--grid", "gamma=1", "--grid", "lookup=2,4")
    result = call("tune", *arguments, *grid, *SHORT, "--prompts", str(prompts), "--json", str(file))
    assert result.exit_code == 0, result.stderr
    told = json.loads(file.read_text())
    assert {plan["method"]: plan["axes"] for plan in told["settings"]["plans"]} == {
        "prompt_lookup": {"lookup": [2, 4]},  # each gets the knobs it has a use for
        "ouroboros": {"gamma": [1]},
    }
    assert {trial["knobs"]["suffixes"] for trial in told["trials"]} == {1}


def test_a_study_is_gone_on_with(call, prompts, cheap, tmp_path):
    study = tmp_path / "trials.journal"
    arguments = ("tune", *GRID, *SHORT, "--prompts", str(prompts), "--study", str(study))
    assert call(*arguments).exit_code == 0
    again = call(*arguments)
    assert again.exit_code == 0
    assert again.stdout.count("complete, kept") == 4


def test_other_tokens_are_shown_and_the_status_says_so(call, prompts, cheap, monkeypatch):
    tokens = Decoding.tokens

    def lying(self):
        right = tokens.fget(self)
        wrong = self.method.name == "ouroboros" and self.knobs.gamma == 1
        return (right[0] + 1, *right[1:]) if wrong else right

    monkeypatch.setattr(Decoding, "tokens", property(lying))
    result = call("tune", *GRID, *SHORT, "--prompts", str(prompts))
    assert result.exit_code == 1
    assert "failed: output differs" in " ".join(result.stdout.split())
    assert "NO" in result.stdout


def test_ctrl_c_shows_what_is_there(call, prompts, cheap, at_step):
    def press():
        import os
        import signal

        os.kill(os.getpid(), signal.SIGINT)

    at_step(20, press)
    result = call("tune", *GRID, *SHORT, "--prompts", str(prompts))
    assert result.exit_code == 130
    assert "cancelled" in result.stdout or "the search was ended" in " ".join(result.stdout.split())


def test_the_setting_is_shown_in_every_form_or_in_the_one_asked_for(call, prompts, cheap):
    one = ("--strategy", "grid", "--grid", "gamma=1")
    result = call("tune", *one, *SHORT, "--prompts", str(prompts), "--export", "all")
    told = " ".join(result.stdout.split())
    for part in (
        "pk.Knobs(",
        "method: ",
        "phrasekit generate PROMPT",
        "transformers has no equivalent",
        "vLLM has no",
    ):
        assert part in told
    result = call("tune", *one, *SHORT, "--prompts", str(prompts), "--export", "yaml")
    assert "method: " in result.stdout
    assert "phrasekit generate" not in result.stdout


def test_other_tokens_on_the_held_out_prompts_alone_are_a_failure_too(call, prompts, cheap, monkeypatch):
    tokens, phases = Decoding.tokens, []

    def lying(self):
        right = tokens.fget(self)
        wrong = self.method.name == "ouroboros" and phases
        return (right[0] + 1, *right[1:]) if wrong else right

    from phrasekit.tune import Tuning

    finish = Tuning._finish
    monkeypatch.setattr(Tuning, "_finish", lambda self: phases.append(1) or finish(self))
    monkeypatch.setattr(Decoding, "tokens", property(lying))
    one = ("--strategy", "grid", "--grid", "gamma=1")
    result = call("tune", *one, *SHORT, "--prompts", str(prompts))
    assert result.exit_code == 1
    assert "Stay with plain decoding" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "magic"), "method must be one of"),
        (("--method", "vanilla"), "vanilla has none left"),
        (("--strategy", "grid"), "a grid needs knobs"),
        (("--grid", "gamma"), "a grid must look like"),
        (("--grid", "lookup=1,2"), "ouroboros has no use for lookup"),
        (("--grid", "speed=1,2"), "knobs must be among"),
        (("--grid", "gamma=-4"), "gamma"),
        (("--grid", "gamma=1,x"), "gamma"),
        (("--gamma", "2", "--grid", "gamma=1"), "either fixed or searched"),
        (("--family", "nothing"), "family must be one of"),
        (("--family", "code", "--prompts", __file__), "one source of prompts"),
        (("--stop", "x"), "tune has no use for --stop"),
        (("--probabilities",), "tune has no use for --probabilities"),
        (("--device", "gpu"), "device must be such as"),
        (("--rule", "rejection", "--temperature", "1"), "rule 'match'"),
        (("--budget", "-1"), "budget must be above 0"),
        (("--target", "some/model"), "needs a draft model"),
        (("--json", "/nowhere/at/all.json"), "existing folder"),
        (("--study", "/nowhere/at/all.journal"), "existing folder"),
    ],
)
def test_bad_input_is_one_line_before_a_model_loads(call_without_models, arguments, message):
    assert message in error_of(call_without_models("tune", *arguments))


def test_without_optuna_the_extra_is_named(call_without_models, monkeypatch):
    monkeypatch.setattr("phrasekit.tune.study.find_spec", lambda name: None)
    assert "phrasekit[tune]" in error_of(call_without_models("tune"))


def test_a_file_that_is_no_study_is_one_line_and_stays(call, prompts, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("milk\n")
    result = call("tune", *GRID, *SHORT, "--prompts", str(prompts), "--study", str(notes))
    assert "must be a journal file of Optuna's" in error_of(result)
    assert notes.read_text() == "milk\n"


def test_one_prompt_is_too_few(call, tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text('"def f():"\n')
    assert "2 different prompts" in error_of(call("tune", "--prompts", str(path)))


def test_a_terminal_shows_trials_as_they_end():
    trial = TrialRecord(
        number=0,
        method="ouroboros",
        values={"gamma": 2, "window": 0},
        knobs={},
        stage="gamma",
        state="running",
    )
    told = tuneview.status(
        Progress(phase="search", trial=trial, trials=3, planned=9, rounds=1, rounds_planned=4, seconds=7.4)
    )
    assert told == "3 of 9 trials over, γ 2, W 0: 1 of 4 prompts · 7 s"
    assert tuneview.status(Progress(phase="costs")).startswith("Measuring what a forward costs")
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(tuneview.trials_table([trial], None))
    assert "γ 2, W 0" in console.export_text()


def test_the_program_lists_it():
    assert "\n  tune " in CliRunner().invoke(main).stdout
