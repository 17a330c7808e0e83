"""`phrasekit check` and phrase pools in files."""

import json

import pytest

from phrasekit.pool import PhrasePool, save_pool
from phrasekit.propose import Corpus, save_store
from tests.cli.conftest import PROMPT, error_of


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--temperature", "0.5"), "greedy runs up to the token limit, has no use for --temperature"),
        (("--stop", "x"), "no use for --stop"),
        (("--repetition-penalty", "1.2"), "no use for --repetition-penalty"),
        (("--probabilities",), "no use for --probabilities"),
        (("--methods", ","), "--methods must name at least one"),
        (("--methods", "rest"), "needs a corpus"),
        (("--schedule", "streams", "--methods", "pearl"), "needs models on a CUDA device"),
        (("--gamma", "999"), "knob gamma must be"),
        (("--json", "no/where.json"), "needs an existing folder"),
    ],
)
def test_check_refuses_what_it_cannot_do_before_a_model_loads(call_without_models, arguments, said) -> None:
    assert said in error_of(call_without_models("check", PROMPT, *arguments))


def test_check_runs_at_the_knobs_schedule_and_store_that_are_given(call, pair, tmp_path, monkeypatch) -> None:
    from phrasekit import check

    asked = {}
    generate = check.generate

    def noting(pair, prompt, **given):
        asked[given["method"]] = given
        return generate(pair, prompt, **given)

    monkeypatch.setattr(check, "generate", noting)
    save_store(Corpus.build([pair.encode(PROMPT)], fingerprint=pair.fingerprint), tmp_path / "s")
    few = ("--max-new-tokens", "8", "--methods", "rest,double")
    given = ("--store", str(tmp_path / "s"), "--schedule", "threads", "--gamma", "3", "--depth", "2")
    result = call("check", PROMPT, *few, *given)
    assert result.exit_code == 0, result.output
    assert {asked[name]["knobs"].gamma for name in ("rest", "double")} == {3}
    assert {asked[name]["schedule"] for name in ("rest", "double")} == {"threads"}
    assert isinstance(asked["rest"]["store"], Corpus)


def test_a_pool_file_is_made_and_used_again(call, tmp_path) -> None:
    file = tmp_path / "pool.jsonl"
    options = ("generate", PROMPT, "--max-new-tokens", "16", "--jsonl", "--pool", str(file))
    first, second = call(*options), call(*options)
    assert first.exit_code == second.exit_code == 0
    one, two = json.loads(first.stdout), json.loads(second.stdout)
    assert one["tokens"] == two["tokens"]
    assert two["metrics"]["iterations"] <= one["metrics"]["iterations"]
    assert file.stat().st_size > 200


def test_a_damaged_pool_file_is_refused_before_a_model_loads_and_kept(call_without_models, tmp_path) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_text("not a pool\n")
    result = call_without_models("generate", PROMPT, "--max-new-tokens", "4", "--pool", str(file))
    assert "start from an empty pool" in error_of(result)
    assert file.read_text() == "not a pool\n"


def test_a_pool_of_another_tokenizer_is_refused_and_kept(call, tmp_path) -> None:
    file = tmp_path / "pool.jsonl"
    save_pool(PhrasePool(), file, fingerprint="another")
    before = file.read_bytes()
    result = call("generate", PROMPT, "--max-new-tokens", "4", "--pool", str(file))
    assert "another" in error_of(result)
    assert file.read_bytes() == before
