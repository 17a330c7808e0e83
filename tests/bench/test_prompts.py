"""Prompt sets: read where they lie, clipped to fit, and missing ones named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from phrasekit.bench import prompts
from phrasekit.bench.prompts import (
    BESIDE,
    FAMILIES,
    PUBLIC,
    VARIABLE,
    Prompt,
    default_family,
    encode,
    load_prompts,
)


@pytest.mark.parametrize(
    ("family", "texts"),
    [
        ("code", [f"def f{n}(items):\n    for item in items:\n" for n in range(4)]),
        ("code-from-text", ['"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n']),
        ("arithmetic", ["Question: How many?\nAnswer:"]),
        ("qa", ["Who?"]),
        ("chat", ["Write.", "Why?"]),
    ],
)
def test_every_set_gives_its_prompts(data, family, texts):
    assert [prompt.text for prompt in load_prompts(family)] == texts


def test_ids_and_categories_are_the_sets_own(data):
    assert [(p.id, p.category) for p in load_prompts("chat")] == [("81", "writing"), ("102", "stem")]
    assert [(p.id, p.category) for p in load_prompts("arithmetic")] == [("arithmetic/0", "arithmetic")]


def test_count_and_offset(data):
    assert [p.id for p in load_prompts("code", count=2, offset=1)] == ["HumanEval/1", "HumanEval/2"]
    assert len(load_prompts("code", count=99)) == 4
    with pytest.raises(ValueError, match="offset must be under 4"):
        load_prompts("code", offset=4)
    with pytest.raises(ValueError, match="count must be 1 or more"):
        load_prompts("code", count=0)


def test_an_absent_file_is_named_with_the_variable_and_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=f"human_eval.jsonl, looked for in {tmp_path} .{VARIABLE} is set"
    ):
        load_prompts("code")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(prompts, "BESIDE", tmp_path / "nowhere")
    with pytest.raises(
        FileNotFoundError, match=f"nowhere .{VARIABLE} is not set.; put it there or set {VARIABLE}"
    ):
        load_prompts("code")


def test_the_package_brings_prompts_that_need_no_folder(data, tmp_path, monkeypatch):
    assert default_family() == "code"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    assert default_family() == "bundled"
    assert len(load_prompts("bundled")) == 16
    assert [prompt.id for prompt in load_prompts("bundled", count=2)] == ["bundled/0", "bundled/1"]
    with pytest.raises(FileNotFoundError, match="the family bundled is part of the package"):
        load_prompts("qa")
    assert set(PUBLIC) == set(FAMILIES) - {"bundled"}


def test_without_the_variable_the_sets_lie_beside_the_project():
    assert BESIDE.parts[-3:] == ("..", "shared", "data")


def test_an_unknown_family_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"must be one of code, .*chat, bundled, but got 'poems'"):
        load_prompts("poems")


@pytest.mark.parametrize("line", ["{", "[]", '{"task_id": "x"}', "3"])
def test_a_row_of_another_form_is_named_by_its_line(data, line):
    file = data / FAMILIES["code"].file
    file.write_text(file.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(ValueError, match="line 5"):
        load_prompts("code")


def test_a_long_prompt_loses_its_beginning_and_leaves_room():
    tiny = SimpleNamespace(
        target=SimpleNamespace(context=20),
        draft=SimpleNamespace(context=16),
        encode=lambda _: list(range(30)),
    )
    (clipped,) = encode(tiny, [_PROMPT], max_new_tokens=10)
    assert clipped.ids == tuple(range(24, 30))
    with pytest.raises(ValueError, match="context of 16 tokens, but got 16"):
        encode(tiny, [_PROMPT], max_new_tokens=16)


def test_without_a_known_context_nothing_is_clipped():
    endless = SimpleNamespace(target=SimpleNamespace(context=None), draft=None, encode=lambda _: [1, 2, 3])
    (task,) = encode(endless, [_PROMPT], max_new_tokens=10)
    assert (task.ids, task.id) == ((1, 2, 3), "a")


def test_chat_prompts_are_conversations():
    seen = []
    chatty = SimpleNamespace(
        target=SimpleNamespace(context=None), draft=None, encode_chat=lambda talk: seen.append(talk) or [7]
    )
    encode(chatty, [replace(_PROMPT, text="Hi")], max_new_tokens=4, chat=True)
    assert seen == [[{"role": "user", "content": "Hi"}]]


_PROMPT = Prompt(id="a", family="code", category="code", text="x")
