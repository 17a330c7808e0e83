"""`phrasekit generate`: the library's text on standard output, whatever comes in between."""

from __future__ import annotations

import errno
import json
import signal

import pytest

import phrasekit as pk
from phrasekit.api import Decoding
from phrasekit.cli import generate
from phrasekit.errors import NonFiniteLogitsError
from tests.cli.conftest import PROMPT, error_of

FEW = ("--max-new-tokens", "10")


def lines_of(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_standard_output_is_the_text_and_nothing_else(call, pair):
    result = call("generate", PROMPT, *FEW)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == pk.generate(pair, PROMPT, max_new_tokens=10).text


def test_json_statistics_and_trace_tell_the_same_run(call, pair, tmp_path):
    file = tmp_path / "run.jsonl"
    options = ("--method", "speculative", "--gamma", "2", "--jsonl", "--stats", "--trace", str(file))
    result = call("generate", PROMPT, *FEW, *options)
    run = pk.generate(pair, PROMPT, method="speculative", max_new_tokens=10)
    (line,) = lines_of(result)
    assert (line["text"], line["tokens"], line["finish_reason"]) == (run.text, list(run.tokens), "length")
    trace = pk.load_trace(file)
    assert (trace.method, trace.tokens) == ("speculative", run.tokens)
    assert {iteration.knobs["gamma"] for iteration in trace.iterations} == {2}
    assert line["metrics"]["iterations"] == len(trace.iterations)
    assert result.stderr.strip() == str(trace.metrics())


def test_knobs_not_given_are_the_pair_s_tuned_ones(call, pair, monkeypatch, tmp_path):
    monkeypatch.setitem(pair.defaults, "ouroboros", {"gamma": 3, "suffixes": 2})
    file = tmp_path / "run.jsonl"
    call(
        "generate", PROMPT, *FEW, "--suffixes", "1", "--cut-to-gamma", "--repair", "off", "--trace", str(file)
    )
    knobs = pk.load_trace(file).iterations[0].knobs
    assert knobs == pk.Knobs(gamma=3, suffixes=1, cut_to_gamma=True, repair="off").as_dict()


def test_sampling_settings_reach_the_run(call, pair):
    options = {"temperature": 0.9, "top_k": 50, "top_p": 0.9, "seed": 7}
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    result = call("generate", PROMPT, *FEW, *given)
    assert result.stdout == pk.generate(pair, PROMPT, max_new_tokens=10, **options).text
    assert result.stdout != pk.generate(pair, PROMPT, max_new_tokens=10).text


def test_a_stop_string_ends_the_text(call, pair):
    whole = pk.generate(pair, PROMPT, max_new_tokens=40).text
    stop = whole[len(whole) // 2 :][:3]
    result = call("generate", PROMPT, "--max-new-tokens", "40", "--stop", stop, "--stop", "never seen")
    assert result.stdout == whole[: whole.index(stop) + 3]


@pytest.mark.parametrize("source", [("-",), ("--file", "-"), ("--file", "FILE")])
def test_prompts_come_from_a_file_or_standard_input(call, tmp_path, source):
    file = tmp_path / "prompt.txt"
    file.write_text(PROMPT, encoding="utf-8")
    arguments = [str(file) if part == "FILE" else part for part in source]
    assert call("generate", *arguments, *FEW, stdin=PROMPT).stdout == call("generate", PROMPT, *FEW).stdout


def test_a_chat_prompt_goes_through_the_template(call, pair, monkeypatch, tmp_path):
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    monkeypatch.setattr(pair.tokenizer, "chat_template", template)
    file = tmp_path / "run.jsonl"
    assert call("generate", "hello", "--chat", *FEW, "--trace", str(file)).exit_code == 0
    assert pair.tokenizer.decode(pk.load_trace(file).prompt).endswith("<user>hello")


# --- many prompts -------------------------------------------------------------------------------


@pytest.fixture
def prompts(tmp_path):
    file = tmp_path / "prompts.jsonl"
    rows = [{"prompt": PROMPT, "id": 1}, PROMPT, {"prompt": [5, 6, 7]}]
    file.write_text("\n\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return str(file)


def test_many_prompts_give_a_line_each_and_share_their_pool(call, prompts, tmp_path):
    options = ("generate", "--prompts", prompts, *FEW)
    shared = lines_of(call(*options, "--trace", str(tmp_path / "run.jsonl")))
    fresh = lines_of(call(*options, "--fresh-pool"))
    assert [line["index"] for line in shared] == [1, 2, 3]
    assert [line["tokens"] for line in shared] == [line["tokens"] for line in fresh]
    for number, line in enumerate(shared, start=1):
        assert list(pk.load_trace(tmp_path / f"run-{number}.jsonl").tokens) == line["tokens"]
    learned = [[line["metrics"]["pool_inserted"] for line in lines] for lines in (shared, fresh)]
    assert learned[0][0] == learned[1][0] == learned[1][1]
    assert learned[0][1] < learned[1][1]  # the same prompt again: most phrases were known


def test_a_prompt_that_cannot_run_does_not_stop_the_others(call, tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_text(f'[99999]\n"{"x " * 3000}"\n"def"\n', encoding="utf-8")
    result = call("generate", "--prompts", str(file), "--max-new-tokens", "3")
    first, second, third = lines_of(result)
    assert "99999" in first["error"]
    assert "context" in second["error"]
    assert len(third["tokens"]) == 3
    assert result.exit_code == 2
    assert [line[:16] for line in result.stderr.splitlines()] == ["Error: prompt 1:", "Error: prompt 2:"]


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "a prompt must be given"),
        (("",), "must hold at least one token"),
        (("x", "--file", "-"), "one source of prompts"),
        (("--file", "nowhere.txt"), "'nowhere.txt' does not exist"),
        (("x", "--method", "telepathy"), "but got 'telepathy'"),
        (("x", "--gamma", "-1"), "knob gamma must be"),
        (("x", "--gamma", "many"), "'many' is not a valid integer"),
        (("x", "--repair", "glue"), "'glue'"),
        (("x", "--temperature", "-1"), "temperature must be"),
        (("x", "--top-p", "0"), "top_p must be"),
        (("x", "--max-new-tokens", "0"), "max_new_tokens must be"),
        (("x", "--stop", ""), "stop strings must not be empty"),
        (("x", "--trace", "no/where/run.jsonl"), "needs an existing folder"),
        (("x", "--target", "some/model"), "needs a draft model"),
        (("x", "--device", "gpu"), "device must be such as"),
        (("x", "--method", "pearl", "--schedule", "streams"), "needs models on a CUDA device"),
        (("x", "--method", "pearl", "--rule", "rejection", "--temperature", "1"), "the rule 'match'"),
    ],
)
def test_bad_input_is_refused_before_a_model_loads(call_without_models, arguments, said):
    result = call_without_models("generate", *arguments)
    assert said in error_of(result)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds none"),
        (b'"fine"\n{"question": 1}\n', "line 2: a line must be JSON"),
        (b'{"prompt": ""}', "line 1: a prompt must hold at least one token"),
        (b'{"prompt": 5}', "line 1: a line must be JSON"),
        (b"not json", "line 1: a line must be JSON"),
        (b"[" * 100_000, "line 1: a line must be JSON"),
        (b"\xff\xfe", "must be UTF-8"),
    ],
)
def test_bad_files_of_prompts_are_refused_before_a_model_loads(call_without_models, tmp_path, content, said):
    file = tmp_path / "prompts.jsonl"
    file.write_bytes(content)
    assert said in error_of(call_without_models("generate", "--prompts", str(file)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "/no/such/model", "--method", "vanilla"), "does not exist"),
        (("--draft", "/no/such/model"), "a draft needs a target"),
        (("--device", "abacus"), "but got 'abacus'"),
        (("--chat",), "chat template"),
    ],
)
def test_models_that_cannot_be_had_are_one_line(call, arguments, said):
    assert said in error_of(call("generate", "x", *arguments))


def test_a_folder_that_is_no_model_is_one_line(call, tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert "must be a model with" in error_of(
        call("generate", "x", "--target", str(tmp_path), "--method=vanilla")
    )


# --- interruption -------------------------------------------------------------------------------


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def fail():
    raise NonFiniteLogitsError("logits must be finite")


def test_ctrl_c_ends_within_one_iteration_and_keeps_what_was_made(call, pair, at_step, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    intruder = at_step(2, press_ctrl_c)
    file = tmp_path / "run.jsonl"
    result = call("generate", PROMPT, "--max-new-tokens", "64", "--jsonl", "--trace", str(file))
    assert (result.exit_code, intruder.steps) == (130, 2)
    (line,) = lines_of(result)
    trace = pk.load_trace(file)
    assert line["finish_reason"] == trace.finish_reason == "cancelled"
    assert len(trace.iterations) == 2
    assert line["tokens"] == list(trace.tokens)
    whole = pk.generate(pair, PROMPT, max_new_tokens=64).tokens
    assert trace.tokens == whole[: len(trace.tokens)]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_keeps_the_prompts_that_are_done(call, prompts, at_step):
    steps = lines_of(call("generate", "--prompts", prompts, *FEW))[0]["metrics"]["iterations"]
    at_step(steps + 1, press_ctrl_c)
    result = call("generate", "--prompts", prompts, *FEW)
    assert result.exit_code == 130
    assert [line["finish_reason"] for line in lines_of(result)] == ["length", "cancelled"]


@pytest.mark.parametrize(("failure", "status"), [(KeyboardInterrupt, 130), (NonFiniteLogitsError, 1)])
def test_a_break_inside_an_iteration_keeps_those_before(call, pair, at_step, tmp_path, failure, status):
    def break_off():
        raise failure("no number")

    at_step(3, break_off)
    file = tmp_path / "run.jsonl"
    result = call("generate", PROMPT, "--max-new-tokens", "64", "--trace", str(file))
    assert result.exit_code == status
    assert len(result.stderr.splitlines()) <= 2
    trace = pk.load_trace(file)
    assert (len(trace.iterations), trace.finish_reason) == (2, "cancelled")
    assert result.stdout == pair.tokenizer.decode(trace.tokens)


def test_a_reader_that_leaves_costs_nothing_that_was_made(call, monkeypatch, tmp_path):
    def leave(text):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(generate, "_shower", lambda: leave)
    file = tmp_path / "run.jsonl"
    result = call("generate", PROMPT, "--max-new-tokens", "64", "--trace", str(file))
    assert (result.exit_code, result.stderr) == (1, "")
    trace = pk.load_trace(file)
    assert (len(trace.iterations), trace.finish_reason) == (1, "cancelled")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_lines_and_tabs_and_obeys_nothing(call, monkeypatch, terminal):
    monkeypatch.setattr(generate, "watched", lambda: terminal)
    hostile = "a\tb\n\x1b[31m c\r\u202e[red]"
    monkeypatch.setattr(Decoding, "text", hostile)
    shown = "a\tb\n\\x1b[31m c\\x0d\\u202e[red]\n"
    assert call("generate", PROMPT, *FEW).stdout == (shown if terminal else hostile)
