"""Contenders that take the time they are told to take, and a folder of tiny prompt sets."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

import phrasekit as pk
from phrasekit.bench.contender import Account
from phrasekit.bench.prompts import VARIABLE, Prompt, Task

ROWS = {
    "human_eval.jsonl": [
        {"task_id": f"HumanEval/{n}", "prompt": f"def f{n}(items):\n    for item in items:\n"}
        for n in range(4)
    ],
    "mbpp.jsonl": [{"task_id": "2", "text": "Add two numbers.", "test_list": ["assert add(1, 2) == 3", "x"]}],
    "gsm8k_test.jsonl": [{"question": "How many?", "answer": "2"}],
    "spec_bench.jsonl": [
        {"question_id": 81, "category": "writing", "turns": ["Write.", "Again."]},
        {"question_id": 101, "category": "qa", "turns": ["Who?"]},
        {"question_id": 102, "category": "stem", "turns": ["Why?"]},
    ],
}


class FakeClock:
    """Seconds that pass only when somebody spends them."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeContender:
    """Takes `seconds` a token and gives `right` tokens, or whatever `lie` makes of them."""

    hooked = True

    def __init__(self, name, clock, seconds, *, origin="fake", family=None, lie=None, on_call=None) -> None:
        self.name, self.family, self.origin = name, family or name, origin
        self.settings = {"seconds": seconds}
        self.calls: list[tuple[int, ...]] = []
        self.renewed = 0
        self._clock, self._seconds, self._lie, self._on_call = clock, seconds, lie, on_call

    def renew(self) -> None:
        self.renewed += 1

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        if self._on_call:
            self._on_call(len(self.calls))
        self.calls.append(tuple(prompt))
        right = [token + 1 for token in prompt] * 2
        self._clock.now += self._seconds * len(right)
        return self._lie(right) if self._lie else right

    def account(self) -> Account:
        return Account(steps=(2, 2), target_forwards=2, draft_forwards=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def task(number: int, *ids: int) -> Task:
    prompt = Prompt(id=f"p{number}", family="code", category="code", text="")
    return Task(prompt=prompt, ids=ids or (number, number + 1))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with a few rows of every set, named by the environment."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, rows in ROWS.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="session")
def pair():
    return pk.load_pair()
