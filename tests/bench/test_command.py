"""`phrasekit bench` as a user calls it."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner

from phrasekit import lm
from phrasekit.bench.command import command
from phrasekit.bench.contender import OwnMethod
from phrasekit.bench.options import read_grid, read_knobs
from phrasekit.bench.prompts import VARIABLE, encode, load_prompts
from phrasekit.propose import Datastore, prompt_mark, save_store

FEW = ("--threads", "1", "--max-new-tokens", "8", "--prompts", "2", "--repeats", "1", "--warmup", "0")


@pytest.fixture
def call(data, pair, monkeypatch):
    """Run the command on the pair that is loaded already."""
    monkeypatch.setattr(lm, "load_pair", lambda **_: pair)

    def run(*arguments):
        return CliRunner().invoke(command, arguments)

    return run


def test_a_small_run_end_to_end(call, tmp_path):
    file, answers = tmp_path / "r.json", tmp_path / "a.jsonl"
    names = ("--methods", "prompt_lookup,ouroboros", "--peers", "generate,assisted-3")
    written = ("--json", str(file), "--spec-bench", str(answers))
    result = call(*FEW, *names, "--knobs", "ouroboros:gamma=3", *written)
    assert result.exit_code == 0, result.output
    read = json.loads(file.read_text("utf-8"))
    (family,) = read["families"]
    standings = {one["name"]: one for one in family["standings"]}
    assert list(standings) == ["generate", "assisted-3", "vanilla", "prompt_lookup", "ouroboros"]
    assert all(one["differing"] == 0 and one["prompts"] == 2 for one in standings.values())
    assert standings["vanilla"]["tokens_per_target_forward"] == 1.0
    assert standings["ouroboros"]["settings"]["knobs"]["gamma"] == 3
    assert 0 < standings["ouroboros"]["outside"] < 1
    assert 0 < standings["ouroboros"]["recording"] < 1
    assert 0 < standings["ouroboros"]["strict"] < 1
    assert standings["ouroboros"]["metrics"]["draft_forwards"] > 0
    assert standings["assisted-3"]["draft_forwards_per_token"] > 0
    assert read["environment"]["threads"] == torch.get_num_threads()
    assert len(list(tmp_path.glob("a-*.jsonl"))) == 5
    for shown in ("ouroboros is", "× generate", "recording", "strictly", "yes"):
        assert shown in result.output


def test_ctrl_c_keeps_what_is_finished_and_says_so(call, tmp_path, monkeypatch):
    plain, calls = OwnMethod.generate, []

    def generate(self, prompt):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return plain(self, prompt)

    monkeypatch.setattr(OwnMethod, "generate", generate)
    file = tmp_path / "r.json"
    result = call(*FEW, "--methods", "prompt_lookup", "--peers", "none", "--json", str(file))
    assert result.exit_code == 130
    assert "1 prompts, PARTIAL: interrupted after 0 of 1 repeats" in result.output
    read = json.loads(file.read_text("utf-8"))
    assert read["partial"]
    assert [sample["contender"] for sample in read["families"][0]["samples"]] == ["vanilla", "prompt_lookup"]


def test_a_method_that_lies_fails_the_run(call, monkeypatch):
    plain = OwnMethod.generate

    def generate(self, prompt):
        tokens = plain(self, prompt)
        return tokens if self.name == "vanilla" else (*tokens[:-1], 0)

    monkeypatch.setattr(OwnMethod, "generate", generate)
    result = call(*FEW, "--methods", "prompt_lookup", "--peers", "none")
    assert result.exit_code == 1
    assert "NO: 2 of 2" in result.output


def test_several_families_each_get_their_part(call, tmp_path):
    file = tmp_path / "r.json"
    few = ("--threads", "1", "--max-new-tokens", "2", "--prompts", "1", "--repeats", "1")
    result = call(*few, "--family", "qa,chat", "--methods", "vanilla", "--peers", "none", "--json", str(file))
    assert result.exit_code == 0, result.output
    assert [part["family"] for part in json.loads(file.read_text("utf-8"))["families"]] == ["qa", "chat"]


def test_sweep_tries_every_point_against_plain_decoding(call):
    result = call("sweep", *FEW, "--grid", "gamma=2,3", "--grid", "guesses=0", "--knobs", "window=0")
    assert result.exit_code == 0, result.output
    assert {"gamma=2 guesses=0", "gamma=3 guesses=0"} <= {
        line.strip().split("  ")[0] for line in result.output.splitlines()
    }
    assert "vanilla" not in result.output


def test_agreement_prints_three_lines_and_writes_json(call, tmp_path):
    file = tmp_path / "r.json"
    result = call(
        "agreement", "--threads", "1", "--prompts", "1", "--max-new-tokens", "8", "--json", str(file)
    )
    assert result.exit_code == 0, result.output
    assert "mean accepted length at γ = 4" in result.output
    read = json.loads(file.read_text("utf-8"))
    assert (read["positions"], read["gamma"]) == (8, 4)
    assert 0 <= read["share"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--family", "poems"), "family must be one of"),
        (("--methods", "magic"), "method must be one of"),
        (("--peers", "magic"), "peers must be among"),
        (("--knobs", "gamma"), "must look like gamma=5"),
        (("--knobs", "gamma=-1", "--methods", "speculative"), "knob gamma must be"),
        (("--knobs", "gama=1"), "knobs must be among"),
        (("--json", "/nowhere/r.json"), "needs an existing folder"),
        (("--max-new-tokens", "2048"), "must leave room for a prompt"),
        (("sweep", "--grid", "gamma"), "grid must look like"),
        (("sweep", "--grid", "gamma=1,2", "--method", "magic"), "method must be one of"),
        (("agreement", "--family", "poems"), "family must be one of"),
    ],
)
def test_bad_input_is_one_error_before_anything_runs(call, monkeypatch, arguments, message):
    monkeypatch.setattr(OwnMethod, "generate", lambda *_: pytest.fail("it ran"))
    result = call(*arguments)
    assert isinstance(result.exception, ValueError | OSError)
    assert message in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "some/model", "--methods", "ouroboros"), "method 'ouroboros' needs a draft model"),
        (("--target", "some/model", "--peers", "assisted-3"), "peer 'assisted' needs a draft model"),
        (("--methods", "rest"), "needs a corpus to retrieve from, but got no store"),
        (("--device", "gpu"), "device must be such as"),
        (("--schedule", "streams"), "needs models on a CUDA device"),
        (("--knobs", "magic:gamma=2"), "method must be one of"),
        (("--spec-bench", "/nowhere/r.jsonl"), "needs an existing folder"),
        (("--json", f"{__file__}/r.json"), "is a file; choose another place"),
        (("sweep", "--target", "some/model", "--grid", "gamma=1,2"), "needs a draft model"),
        (("sweep", "--grid", "gamma=0,2,-1"), "knob gamma must be"),
        (("sweep", "--grid", "gama=1"), "knobs must be among"),
        (("sweep", "--grid", f"gamma={','.join(['1'] * 300)}"), "at most 256 points, but this one has 300"),
        (("agreement", "--target", "some/model"), "agreement needs a draft model"),
        (("agreement", "--gamma", "999"), "knob gamma must be"),
    ],
)
def test_bad_input_is_refused_before_a_model_loads(data, monkeypatch, arguments, message):
    monkeypatch.setattr(lm, "load_pair", lambda **_: pytest.fail("it loaded"))
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, ValueError | OSError)
    assert message in str(result.exception)


def test_missing_prompts_are_found_before_a_model_loads(data, monkeypatch):
    (data / "human_eval.jsonl").unlink()
    monkeypatch.setattr(lm, "load_pair", lambda **_: pytest.fail("it loaded"))
    for asked in ("code", "all"):
        result = CliRunner().invoke(command, ["--family", asked])
        assert isinstance(result.exception, FileNotFoundError)


def test_without_any_set_the_packages_own_prompts_are_measured(call, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    result = call(*FEW, "--methods", "prompt_lookup", "--peers", "none")
    assert result.exit_code == 0, result.output
    assert "bundled: 2 prompts" in result.output
    result = call("agreement", "--threads", "1", "--prompts", "1", "--max-new-tokens", "8")
    assert result.exit_code == 0, result.output


def test_options_before_a_subcommand_are_not_dropped_in_silence(call):
    result = call("--prompts", "3", "agreement")
    assert result.exit_code == 2
    assert "options of agreement go behind it, but --prompts stands before it" in result.output


def test_list_names_families_methods_and_peers(call):
    shown = call("--list").output
    for name in ("code-from-text", "ouroboros-no-history", "flashspec"):
        assert name in shown


def test_knobs_and_grids_are_read():
    assert read_knobs(["gamma=5", "ouroboros:cut-to-gamma=on", "ouroboros:repair=off"]) == {
        "": {"gamma": 5},
        "ouroboros": {"cut_to_gamma": True, "repair": "off"},
    }
    assert read_grid(["gamma=3,4", "repair=paper,prefix"]) == {"gamma": [3, 4], "repair": ["paper", "prefix"]}


def test_a_store_of_the_measured_prompts_is_refused_or_marked(call, pair, data, tmp_path):
    task = encode(pair, load_prompts("code", count=1), max_new_tokens=8, chat=False)[0]
    store, place, report = Datastore(fingerprint=pair.fingerprint), tmp_path / "s.store", tmp_path / "r.json"
    store.add([*task.ids, 5, 6], source=prompt_mark(task.ids))
    save_store(store, place)
    asked = (*FEW, "--methods", "double", "--peers", "none", "--store", str(place), "--json", str(report))
    refused = call(*asked)
    assert isinstance(refused.exception, ValueError)
    assert "must not retrieve its own answers" in str(refused.exception)
    assert not report.exists()
    assert call(*asked, "--allow-seen").exit_code == 0
    assert json.loads(report.read_text("utf-8"))["settings"]["store_saw"] == [task.id]
