"""`phrasekit trace`: recorded runs."""

from __future__ import annotations

import json

import pytest

from phrasekit.trace import load_trace, render
from tests.cli.conftest import error_of, invoke


def test_show_draws_the_trace(recorded):
    result = invoke("trace", "show", str(recorded), width=80)
    assert (result.exit_code, result.stdout) == (0, render(load_trace(recorded), width=80) + "\n")


def test_hostile_text_is_spelled_out(recorded):
    for arguments in (["show"], ["show", "--iteration", "1"], ["summary"]):
        shown = invoke("trace", *arguments, str(recorded)).stdout
        assert all(line.isprintable() for line in shown.split("\n"))
    shown = invoke("trace", "show", "--iteration", "1", str(recorded)).stdout
    for text in ("[bold", "\\x1b]0", "\\x9b31m", "\\u202e"):
        assert text in shown


def test_colour_on_request(recorded):
    assert "\x1b[" not in invoke("trace", "show", str(recorded)).stdout
    assert "\x1b[1;38;5;32m" in invoke("trace", "show", "--color", str(recorded)).stdout


def test_summary_as_json_and_as_a_table(recorded):
    written = json.loads(invoke("trace", "summary", "--json", str(recorded)).stdout)
    metrics = load_trace(recorded).metrics()
    assert written["metrics"] == json.loads(json.dumps(metrics.as_dict()))
    assert (written["method"], written["finish_reason"]) == ("ouroboros", "length")
    rows = [line.split() for line in invoke("trace", "summary", str(recorded)).stdout.splitlines()]
    for start in (["tokens", "3"], ["η", "3.00"], ["mean", "A", "2.00"], ["mean", "#Match", "3.00"]):
        assert [row for row in rows if row[: len(start)] == start]


@pytest.mark.parametrize("command", ["show", "summary"])
def test_files_that_are_no_trace_are_one_line(recorded, tmp_path, command):
    foreign, short = tmp_path / "foreign\x1b.jsonl", tmp_path / "short.jsonl"
    foreign.write_text('{"row": "header", "schema": "other"}\n', encoding="utf-8")
    short.write_bytes(recorded.read_bytes()[:-20])
    assert "schema 'phrasekit-trace'" in error_of(invoke("trace", command, str(foreign)))
    assert "short.jsonl" in error_of(invoke("trace", command, str(short)))
    assert "nowhere.jsonl" in error_of(invoke("trace", command, str(tmp_path / "nowhere.jsonl")))
    assert str(tmp_path) in error_of(invoke("trace", command, str(tmp_path)))


@pytest.mark.parametrize("number", ["0", "2", "-1"])
def test_an_iteration_that_is_not_there(recorded, number):
    assert "iteration must be from 1 to 1" in error_of(
        invoke("trace", "show", "--iteration", number, str(recorded))
    )
