"""`phrasekit check` and phrase pools in files."""

import json

from tests.cli.conftest import PROMPT


def test_check_says_exact_and_writes_a_report(call, tmp_path) -> None:
    file = tmp_path / "report.json"
    result = call(
        "check", PROMPT, "--methods", "speculative,hybrid", "--max-new-tokens", "12", "--json", str(file)
    )
    assert result.exit_code == 0
    assert "exact: 2 methods, 1 prompts" in result.output
    assert json.loads(file.read_text())["exact"] is True


def test_check_fails_where_decoding_is_not_exact(call, monkeypatch) -> None:
    from phrasekit.decode import GreedyPicker

    honest = GreedyPicker.pick
    monkeypatch.setattr(
        GreedyPicker,
        "pick",
        lambda self, logits, rows: (
            logits.topk(3).indices[:, 2] if len(logits) > 2 else honest(self, logits, rows)
        ),
    )
    result = call("check", PROMPT, "--methods", "prompt_lookup,ouroboros", "--max-new-tokens", "16")
    assert result.exit_code == 1
    assert "NOT exact" in result.output


def test_check_refuses_a_temperature(call_without_models) -> None:
    result = call_without_models("check", PROMPT, "--temperature", "0.5")
    assert result.exit_code == 2
    assert "greedy" in result.stderr


def test_a_pool_file_is_made_and_used_again(call, tmp_path) -> None:
    file = tmp_path / "pool.jsonl"
    options = ("generate", PROMPT, "--max-new-tokens", "16", "--jsonl", "--pool", str(file))
    first, second = call(*options), call(*options)
    assert first.exit_code == second.exit_code == 0
    one, two = json.loads(first.stdout), json.loads(second.stdout)
    assert one["tokens"] == two["tokens"]
    assert two["metrics"]["iterations"] <= one["metrics"]["iterations"]
    assert file.stat().st_size > 200


def test_a_damaged_pool_file_is_refused_and_kept(call, tmp_path) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_text("not a pool\n")
    result = call("generate", PROMPT, "--max-new-tokens", "4", "--pool", str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert file.read_text() == "not a pool\n"
