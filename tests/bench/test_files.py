"""Results as files."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from phrasekit.bench.files import write_json, write_spec_bench
from phrasekit.bench.report import Report, report_family
from phrasekit.bench.runner import Runner
from phrasekit.bench.table import draw_report, terminal
from tests.bench.conftest import FakeContender, task

_5 = pytest.approx(5.0)


@pytest.fixture
def report(clock):
    tasks = [task(0), replace(task(1), prompt=replace(task(1).prompt, id="81", category="writing"))]
    contenders = [
        FakeContender("generate", clock, 0.2),
        FakeContender("liar", clock, 0.1, lie=lambda t: t[:-1]),
    ]
    outcome = Runner(contenders=contenders, tasks=tasks, repeats=2, clock=clock).run()
    family = report_family("code", contenders, tasks, outcome, repeats=2)
    environment = {"phrasekit": "0", "packages": {"torch": "9"}, "cores": 2, "load_before": 9.0}
    return Report(environment=environment, settings={"prompts": 2}, families=(family,))


def test_json_holds_environment_settings_standings_and_samples(report, tmp_path):
    file = tmp_path / "r.json"
    write_json(report.as_dict(), file)
    read = json.loads(file.read_text("utf-8"))
    assert list(read) == ["schema", "schema_version", "partial", "environment", "settings", "families"]
    assert (read["schema"], read["schema_version"], read["partial"]) == ("phrasekit-bench", 1, False)
    (family,) = read["families"]
    assert family["prompts"] == [{"id": "p0", "tokens": 2}, {"id": "81", "tokens": 2}]
    assert (family["repeats"], family["repeats_planned"], family["reference"]) == (2, 2, "generate")
    first, liar = family["standings"]
    assert (first["differing"], liar["differing"]) == (0, 2)
    assert first["tokens_per_second"] == {"median": _5, "low": _5, "high": _5}
    assert len(family["samples"]) == 8
    assert family["samples"][0] == {
        "contender": "generate",
        "repeat": 0,
        "prompt": "p0",
        "tokens": 4,
        "seconds": pytest.approx(0.8),
        "forward_seconds": None,
        "target_forwards": 2,
        "draft_forwards": 1,
    }


def test_spec_bench_rows_have_the_fields_its_scripts_read(report, tmp_path):
    written = write_spec_bench(report, tmp_path / "a.jsonl", decode=lambda ids: " ".join(map(str, ids)))
    assert [file.name for file in written] == ["a-generate.jsonl", "a-liar.jsonl"]
    rows = [json.loads(line) for line in written[0].read_text("utf-8").splitlines()]
    assert [(row["question_id"], row["category"]) for row in rows] == [("p0", "code"), (81, "writing")]
    assert {*rows[0]} == {"question_id", "category", "answer_id", "model_id", "choices", "tstamp"}
    assert [choice["index"] for choice in rows[0]["choices"]] == [0, 1]
    choice = rows[0]["choices"][0]
    assert choice == {
        "index": 0,
        "turns": ["1 2 1 2"],
        "decoding_steps": [2],
        "new_tokens": [4],
        "wall_time": [pytest.approx(0.8)],
        "accept_lengths": [2, 2],
    }
    assert sum(choice["accept_lengths"]) == sum(choice["new_tokens"])


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "r.json"
    file.write_text("before", "utf-8")

    def full(number):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_json({"a": 1}, file)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert file.read_text("utf-8") == "before"


def test_no_number_that_json_lacks_is_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json({"a": float("nan")}, tmp_path / "r.json")


def test_the_table_says_who_is_fast_who_is_wrong_and_that_the_machine_was_busy(report, capsys):
    terminal().print(draw_report(report))
    shown = capsys.readouterr().out
    assert "2 prompts, median of 2 repeats" in shown
    assert "NO: 2 of 2" in shown
    assert "load 9.0" in shown
    cells = next(line for line in shown.splitlines() if "generate (fake)" in line).split()
    assert cells[2:5] == ["5.0", "1.00", "1.00–1.00"]
