"""Exports are tried out: the Python runs, the YAML reads, the command is taken, the options are known."""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
import yaml

import phrasekit as pk
from phrasekit import Knobs
from phrasekit.methods import METHODS
from phrasekit.tune import Setting, exports
from phrasekit.tune.export import as_command, as_python, as_transformers, as_vllm, as_yaml

KNOBS = {**Knobs().as_dict(), "gamma": 7, "window": 2, "cut_to_gamma": True, "repair": "paper"}
OURO = Setting(method="ouroboros", knobs=KNOBS, max_new_tokens=9)


def test_the_python_runs_and_decodes_with_the_knobs(monkeypatch):
    seen = {}
    pair = object()
    monkeypatch.setattr(
        pk, "load_pair", lambda *sources, **options: seen.update(pair=sources) or pair, raising=False
    )
    run = SimpleNamespace(text="")
    monkeypatch.setattr(pk, "generate", lambda *given, **options: seen.update(options) or run, raising=False)
    exec(as_python(OURO).text, {})  # noqa: S102 - what a user would do with it
    assert seen["pair"] == ()
    assert seen["method"] == "ouroboros"
    assert seen["knobs"] == Knobs().but(**KNOBS)
    assert seen["max_new_tokens"] == 9


def test_the_python_stands_alone(tmp_path):
    script = tmp_path / "setting.py"
    script.write_text(as_python(Setting(method="ouroboros", knobs={"gamma": 3}, max_new_tokens=6)).text)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    pair = pk.load_pair()
    assert (
        ran.stdout == pk.generate(pair, "def fibonacci(n):", method="vanilla", max_new_tokens=6).text + "\n"
    )


def test_the_yaml_reads_back():
    sampled = Setting(
        method="hybrid", knobs=KNOBS, target="org/a: b", draft="./d", sampling={"temperature": 0.7}
    )
    found = yaml.safe_load(as_yaml(sampled).text)
    assert Knobs().but(**found["knobs"]) == Knobs().but(**KNOBS)
    assert found["models"]["target"] == "org/a: b"
    assert found["sampling"] == {"temperature": 0.7}
    assert yaml.safe_load(as_yaml(OURO).text)["models"]["draft"] is None
    assert yaml.safe_load(as_yaml(Setting(method="vanilla")).text)["knobs"] == {}


@pytest.mark.parametrize("method", METHODS)
def test_the_command_is_taken_with_these_knobs(method):
    from phrasekit.cli.generate import generate

    setting = Setting(
        method=method,
        knobs=KNOBS,
        target="a b",
        draft="$(x)",
        device="cuda",
        sampling={"top_k": 4, "seed": 3},
    )
    words = shlex.split(as_command(setting).text)
    assert words[:3] == ["phrasekit", "generate", "PROMPT"]
    given = generate.make_context("generate", words[2:]).params
    assert given["target"] == "a b"
    assert given["draft"] == "$(x)"
    assert (given["device"], given["top_k"], given["seed"]) == ("cuda", 4, 3)
    base = METHODS[method]
    knobs = {name: value for name, value in given.items() if name in KNOBS and value is not None}
    found, wanted = base.settle(Knobs().but(**knobs)).as_dict(), base.settle(Knobs().but(**KNOBS)).as_dict()
    assert {name: found[name] for name in base.reads} == {name: wanted[name] for name in base.reads}


def test_transformers_gets_what_its_generate_knows():
    from transformers import GenerationConfig

    known = {*vars(GenerationConfig()), "assistant_model"}

    def options(text):
        call = text.strip().splitlines()[-1]
        found = {}
        exec(  # noqa: S102 - what a user would do with it
            call,
            {
                "model": type("Model", (), {"generate": staticmethod(lambda **given: found.update(given))}),
                "inputs": {},
                "assistant": "the draft",
            },
        )
        assert found.keys() <= known
        return found

    lookup = as_transformers(Setting(method="prompt_lookup", knobs={"lookup": 12, "lookup_ngram": 4}))
    assert options(lookup.text) == {
        "max_new_tokens": 128,
        "do_sample": False,
        "prompt_lookup_num_tokens": 12,
        "max_matching_ngram_size": 4,
    }
    spec = as_transformers(Setting(method="speculative", knobs={"gamma": 5}, sampling={"temperature": 0.5}))
    assert options(spec.text)["assistant_model"] == "the draft"
    assert options(spec.text)["do_sample"] is True
    assert options(spec.text)["top_k"] == 0
    assistant = type("Model", (), {"generation_config": GenerationConfig()})
    exec("\n".join(spec.text.splitlines()[:-1]), {"assistant": assistant})  # noqa: S102
    config = assistant.generation_config
    assert (config.num_assistant_tokens, config.num_assistant_tokens_schedule) == (5, "constant")
    assert config.assistant_confidence_threshold == 0.0
    assert "assistant_confidence_threshold" in inspect.getsource(GenerationConfig)


def test_vllm_gets_a_speculative_config():
    words = shlex.split(
        as_vllm(Setting(method="speculative", knobs={"gamma": 5}, target="t", draft="d")).text
    )
    assert words[:4] == ["vllm", "serve", "t", "--speculative-config"]
    assert json.loads(words[4]) == {"method": "draft_model", "model": "d", "num_speculative_tokens": 5}
    words = shlex.split(as_vllm(Setting(method="prompt_lookup", knobs={"lookup": 8, "lookup_ngram": 5})).text)
    assert json.loads(words[4]) == {
        "method": "ngram",
        "num_speculative_tokens": 8,
        "prompt_lookup_max": 5,
        "prompt_lookup_min": 1,
    }
    assert not as_vllm(Setting(method="speculative", knobs={"gamma": 0})).exists


@pytest.mark.parametrize("method", ["ouroboros", "lookahead", "cascade", "hybrid"])
def test_no_equivalent_is_said_and_not_made_up(method):
    for form in (as_transformers(Setting(method=method)), as_vllm(Setting(method=method))):
        assert not form.exists
        assert f"no equivalent of {method}" in form.note


@pytest.mark.parametrize("method", METHODS)
def test_knobs_that_a_method_does_not_read_are_left_out(method):
    strange = {name: value for name, value in KNOBS.items() if name not in METHODS[method].reads}
    strange |= {"gamma": 1, "window": 8} if method == "vanilla" else {}
    assert Setting(method=method, knobs=strange).told == {}
    assert "--window" not in as_command(Setting(method="vanilla", knobs=KNOBS)).text


def test_plain_decoding_is_nothing_special():
    assert (
        "generate(**inputs, max_new_tokens=128, do_sample=False)"
        in as_transformers(Setting(method="vanilla")).text
    )
    assert "leave it out" in as_vllm(Setting(method="vanilla")).note


def test_all_forms_in_order():
    assert [form.name for form in exports(OURO)] == ["python", "yaml", "command", "transformers", "vllm"]


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="method must be one of"):
        Setting(method="magic")
    with pytest.raises(ValueError, match="gamma"):
        Setting(method="ouroboros", knobs={"gamma": -1})
