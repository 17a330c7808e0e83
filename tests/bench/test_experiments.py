"""`phrasekit experiment` on the embedded pair, a few tokens at a time."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from phrasekit import lm
from phrasekit.bench import experiments
from phrasekit.bench.experiment import NAMES, command
from phrasekit.bench.experiments import EXPERIMENTS, Ground, run_experiment
from phrasekit.bench.prompts import encode, load_prompts
from phrasekit.propose import Corpus, Datastore, prompt_mark, save_store
from phrasekit.trace import faults, load_trace

FEW = ("--threads", "1", "--max-new-tokens", "16", "--prompts", "2", "--repeats", "1")


@pytest.fixture
def call(data, pair, monkeypatch):
    """Run the command on the pair that is loaded already."""
    monkeypatch.setattr(lm, "load_pair", lambda **_: pair)

    def run(*arguments):
        return CliRunner().invoke(command, arguments)

    return run


@pytest.fixture
def tasks(data, pair):
    return list(encode(pair, load_prompts("code", count=4), max_new_tokens=16, chat=False))


def test_the_command_knows_every_experiment():
    assert tuple(EXPERIMENTS) == NAMES


def test_a_table_and_a_trace_for_every_point(call, tmp_path):
    result = call("ablation", *FEW, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    table = json.loads((tmp_path / "out" / "table.json").read_text("utf-8"))
    rows = {row["name"]: row for row in table["results"]}
    assert set(rows) == {
        "vanilla",
        "double",
        "double-no-retrieval",
        "double-no-guide",
        "double-no-rejected",
        "double-ouroboros",
        "pearl",
        "speculative",
    }
    assert all(row["identical"] for row in rows.values())
    assert rows["vanilla"]["times_plain"] == [1.0, 1.0, 1.0]
    assert rows["vanilla"]["modelled"] is None
    assert rows["double"]["modelled"] >= rows["double"]["times_plain"][1]
    assert rows["double-no-guide"]["rounds"]["sides"]["target"]["queries"] == 0
    assert table["settings"]["family"] == "code"
    texts = set()
    for name in rows:
        trace = load_trace(tmp_path / "out" / f"{name}.jsonl")
        assert list(faults(trace)) == []
        assert trace.method == name
        texts.add(trace.tokens)
    assert len(texts) == 1
    for shown in ("ablation: DOUBLE without each of its parts", "AMT draft", "modelled", "yes"):
        assert shown in result.output


def test_the_ceiling_is_measured_in_the_same_run(pair, tasks, monkeypatch):
    monkeypatch.setattr(experiments, "GAMMAS", (2,))
    found = run_experiment(
        EXPERIMENTS["ceiling"], Ground(pair=pair, tasks=tasks[:1], max_new_tokens=16), repeats=1
    )
    names = [result.name for result in found.results]
    assert names == ["vanilla", *(f"{m} γ=2 {s}" for m in ("pearl", "double") for s in ("serial", "threads"))]
    assert found.ceiling > 1  # the draft is the smaller model
    threads = next(result for result in found.results if result.name == "double γ=2 threads")
    assert threads.rounds.overlap_ms > 0
    assert threads.settings["schedule"] == "threads"


def test_depth_changes_what_is_retrieved(pair, tasks, monkeypatch):
    monkeypatch.setattr(experiments, "DEPTHS", (1, 8))
    found = run_experiment(
        EXPERIMENTS["depth"], Ground(pair=pair, tasks=tasks[:2], max_new_tokens=24), repeats=1
    )
    offered = {result.name: result.rounds.sides["draft"].offered for result in found.results}
    assert offered["d=8"] > offered["d=1"] > 0


def test_warm_up_rounds_use_other_prompts(pair, tasks, monkeypatch):
    monkeypatch.setattr(experiments, "ROUNDS", (0, 1))
    monkeypatch.setattr(experiments, "PROMPTS_PER_ROUND", 1)
    ground = Ground(pair=pair, tasks=tasks[:1], others=tasks[2:], max_new_tokens=16)
    points = list(EXPERIMENTS["rounds"].points(ground))
    cold, warm = (point._store for point in points)
    assert (len(cold), warm.documents) == (0, 1)
    assert warm.saw(tasks[2].ids)
    assert not any(warm.saw(task.ids) for task in ground.tasks)
    found = run_experiment(EXPERIMENTS["rounds"], ground, repeats=1)
    assert [result.name for result in found.results] == ["vanilla", "K=0", "K=1"]
    assert all(result.identical for result in found.results)


def test_a_store_of_the_measured_prompts_is_refused_unless_asked_for(call, pair, tasks, tmp_path):
    store = Datastore(fingerprint=pair.fingerprint)
    store.add([*tasks[0].ids, 5, 6], source=prompt_mark(tasks[0].ids))
    save_store(store, tmp_path / "seen.store")
    refused = call("rejected", *FEW, "--store", str(tmp_path / "seen.store"))
    assert isinstance(refused.exception, ValueError)
    assert "must not retrieve its own answers" in str(refused.exception)
    allowed = call("rejected", *FEW, "--store", str(tmp_path / "seen.store"), "--allow-seen")
    assert allowed.exit_code == 0, allowed.output


def test_a_corpus_is_no_datastore(call, pair, tmp_path):
    pytest.importorskip("pydivsufsort")
    save_store(Corpus.build([[1, 2, 3, 4]], fingerprint=pair.fingerprint), tmp_path / "c.store")
    refused = call("depth", *FEW, "--store", str(tmp_path / "c.store"))
    assert "is a corpus" in str(refused.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "some/model"), "an experiment needs a draft model"),
        (("--knobs", "gamma=999"), "knob gamma must be"),
        (
            ("--knobs", "double:gamma=2"),
            "knobs of an experiment hold for every method, but got some for double",
        ),
        (("--schedule", "streams"), "needs models on a CUDA device"),
        (("--device", "gpu"), "device must be such as"),
        (("--family", "poems"), "family must be one of"),
        (
            ("--family", "bundled"),
            "rounds needs 37 prompts, most of them to warm stores up on, but bundled has 16",
        ),
        (("--out", f"{__file__}/out"), "is a file; choose another place"),
    ],
)
def test_bad_input_is_refused_before_a_model_loads(data, monkeypatch, arguments, message):
    monkeypatch.setattr(lm, "load_pair", lambda **_: pytest.fail("it loaded"))
    name = "rounds" if "bundled" in arguments else "depth"
    result = CliRunner().invoke(command, (name, *arguments))
    assert isinstance(result.exception, ValueError | OSError)
    assert message in str(result.exception)
