"""`phrasekit theory`: the closed forms with measured numbers in them."""

from __future__ import annotations

import re

import pytest
import torch

from phrasekit.bench.command import bench
from phrasekit.cli.theory import GAMMAS, Ground, report, theory
from phrasekit.theory import Acceptance, ouroboros_speedup, pearl_speedup, speculative_speedup
from tests.cli.conftest import error_of

GIVEN = Ground(t_draft=1.0, t_target=4.0, acceptance=0.8, c=2.0, beta=5, matched=0.5)


def test_the_table_holds_what_the_equations_say():
    lines = list(report(GIVEN))
    rows = [line.split() for line in lines if re.fullmatch(r"\s*\d+(\s+\d+\.\d\d){3}", line)]
    assert [int(row[0]) for row in rows] == list(GAMMAS)
    costs = {"t_draft": 1.0, "t_target": 4.0}
    for gamma, *values in rows:
        due = (
            speculative_speedup(Acceptance(beyond=0.8), int(gamma), **costs),
            ouroboros_speedup(Acceptance(beyond=0.8), int(gamma), 5, c=2.0, **costs),
            pearl_speedup(0.8, int(gamma), **costs),
        )
        assert [float(value) for value in values] == [round(value, 2) for value in due]
    assert "ceiling C = t_T / t_S = 4.00; with retrieval C · (1 + AMT) = 6.00" in lines


def test_a_draft_that_never_pays_is_told():
    lines = list(report(Ground(t_draft=4.0, t_target=4.0, acceptance=0.1, c=1.0, beta=0, matched=0.0)))
    assert any("does not pay for this pair" in line for line in lines)


def test_it_measures_the_embedded_pair(call):
    result = call("theory", "--threads", "1", "--prompts", "1", "--max-new-tokens", "16")
    assert result.exit_code == 0, result.output
    found = re.search(
        r"t_S ([\d.]+) ms, t_T ([\d.]+) ms .* α ([\d.]+); c ([\d.]+); AMT ([\d.]+)", result.output
    )
    t_draft, t_target, acceptance, c, _ = map(float, found.groups())
    assert 0 < t_draft < t_target
    assert 0 <= acceptance <= 1
    assert c >= 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "some/model"), "theory needs a draft model, but only a target was given"),
        (("--prompts", "99"), "--prompts must be at most 16, which are bundled, but got 99"),
        (("--threads", "0"), "'--threads'"),
    ],
)
def test_bad_input_is_refused_before_a_model_loads(call_without_models, arguments, said):
    assert said in error_of(call_without_models("theory", *arguments))


def test_its_models_are_the_benchmarks():
    """What `theory` promises is held against what `bench` measures: the same options, the same threads."""
    own, other = ({one.name: one.to_info_dict() for one in command.params} for command in (theory, bench))
    models = {"target", "draft", "device", "dtype", "threads"}
    assert models <= own.keys()
    assert {name: own[name] for name in models} == {name: other[name] for name in models}


def test_the_models_load_as_asked(call, monkeypatch):
    from phrasekit import lm

    def load(**asked):
        raise ValueError(f"{asked['target']} {asked['draft']} {asked['dtype']} {torch.get_num_threads()}")

    before = torch.get_num_threads()
    monkeypatch.setattr(lm, "load_pair", load)
    try:
        result = call("theory", "--target", "a", "--draft", "b", "--dtype", "float64", "--threads", "1")
    finally:
        torch.set_num_threads(before)
    assert error_of(result) == "Error: a b float64 1\n"


@pytest.mark.parametrize("schedule", ["serial", "threads"])
def test_generate_takes_a_schedule(call, schedule):
    result = call(
        "generate", "def f(x):\n", "--method", "double", "--schedule", schedule, "--max-new-tokens", "12"
    )
    plain = call("generate", "def f(x):\n", "--method", "vanilla", "--max-new-tokens", "12")
    assert result.exit_code == 0, result.output
    assert result.stdout == plain.stdout


def test_a_damaged_store_is_refused_before_a_model_loads(call, tmp_path):
    file = tmp_path / "bad.store"
    file.write_bytes(b"\x00" * 40)
    result = call("generate", "x", "--method", "double", "--store", str(file))
    assert result.exit_code == 2
    assert "store" in result.stderr


def test_rest_without_a_corpus_is_refused_before_a_model_loads(call_without_models):
    result = call_without_models("generate", "x", "--method", "rest")
    assert "needs a corpus to retrieve from, but got no store" in error_of(result)
