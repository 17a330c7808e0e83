"""Prompts to measure on: public sets, read where they lie, and one that is part of the package.

The public sets lie in the folder that `PHRASEKIT_DATA` names, or else in `../shared/data` beside the
project; they are never copied into the package.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phrasekit.lm import Pair

VARIABLE = "PHRASEKIT_DATA"
BESIDE = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt of a set.

    Attributes:
        id: what the set itself calls it.
        family: kind of task, a key of `FAMILIES`.
        category: finer kind, where the set has one; else the family.
        text: what the model is given.
    """

    id: str
    family: str
    category: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A prompt as token ids that leave room for the answer."""

    prompt: Prompt
    ids: tuple[int, ...]

    @property
    def id(self) -> str:
        """Id of the prompt."""
        return self.prompt.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of task and where its prompts come from.

    Attributes:
        file: name of the JSON Lines file.
        summary: one line for people.
        text: makes the prompt of a row.
        id: field that names a row; "" numbers them.
        categories: rows of other categories are passed over; empty takes all.
        folder: where the file lies; None for a public set.
    """

    file: str
    summary: str
    text: Callable[[Row], str]
    id: str = ""
    categories: frozenset[str] = frozenset()
    folder: Path | None = None


def _mbpp(row: Row) -> str:
    return f'"""\n{row["text"]}\n{row["test_list"][0]}\n"""\n'


def _gsm8k(row: Row) -> str:
    return f"Question: {row['question']}\nAnswer:"


def _first_turn(row: Row) -> str:
    return str(row["turns"][0])


def _spec_bench(summary: str, *categories: str) -> Family:
    return Family(
        file="spec_bench.jsonl",
        summary=summary,
        text=_first_turn,
        id="question_id",
        categories=frozenset(categories),
    )


_MT_BENCH = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")

FAMILIES: Mapping[str, Family] = {
    "code": Family(
        file="human_eval.jsonl",
        summary="complete a Python function (HumanEval)",
        text=lambda row: str(row["prompt"]),
        id="task_id",
    ),
    "code-from-text": Family(
        file="mbpp.jsonl", summary="write a described Python function (MBPP)", text=_mbpp, id="task_id"
    ),
    "arithmetic": Family(file="gsm8k_test.jsonl", summary="grade-school word problems (GSM8K)", text=_gsm8k),
    "translation": _spec_bench("German to English (Spec-Bench)", "translation"),
    "summarization": _spec_bench("summarize news (Spec-Bench)", "summarization"),
    "qa": _spec_bench("answer questions (Spec-Bench)", "qa"),
    "rag": _spec_bench("answer from retrieved passages (Spec-Bench)", "rag"),
    "chat": _spec_bench("first turns of MT-bench (Spec-Bench)", *_MT_BENCH),
    "bundled": Family(
        file="bundled.jsonl",
        summary="begin a Python function or class (part of the package)",
        text=lambda row: str(row["prompt"]),
        folder=Path(__file__).parent,
    ),
}
PUBLIC = tuple(name for name, family in FAMILIES.items() if family.folder is None)


def default_family() -> str:
    """What is measured where nobody chooses: HumanEval, or what the package brings where that is not here."""
    return "code" if _place("code", None).is_file() else "bundled"


def load_prompts(
    family: str, *, count: int | None = None, offset: int = 0, folder: Path | None = None
) -> tuple[Prompt, ...]:
    """Read prompts of one family.

    Args:
        family: a key of `FAMILIES`.
        count: prompts at most; None takes all.
        offset: prompts to pass over first.
        folder: where the file lies; None asks the environment, then looks beside the project.

    Raises:
        FileNotFoundError: the file is not there; the message says where it was looked for.
        ValueError: an unknown family, a count or offset outside its bounds, or a row that is not of
            the set's form.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, but got {family!r}")
    if offset < 0 or (count is not None and count < 1):
        raise ValueError(f"count must be 1 or more and offset 0 or more, but got {count} and {offset}")
    chosen = list(_read(family, _locate(family, folder)))
    end = None if count is None else offset + count
    if not chosen[offset:end]:
        raise ValueError(f"offset must be under {len(chosen)}, the prompts of {family}, but got {offset}")
    return tuple(chosen[offset:end])


def encode(
    pair: Pair, prompts: Sequence[Prompt], *, max_new_tokens: int, chat: bool = False
) -> tuple[Task, ...]:
    """Token ids of prompts, clipped so that the answer fits the model's context.

    A prompt too long loses its beginning: what stands last is what a model goes on from.

    Args:
        pair: whose tokenizer and context count.
        prompts: what to encode.
        max_new_tokens: room to leave.
        chat: put every prompt through the tokenizer's chat template.

    Raises:
        ValueError: the context leaves no room for a prompt.
    """
    contexts = [model.context for model in (pair.target, pair.draft) if model and model.context is not None]
    room = min(contexts, default=None)
    if room is not None:
        room -= max_new_tokens
        if room < 1:
            raise ValueError(
                f"max_new_tokens must leave room for a prompt in the context of {room + max_new_tokens} "
                f"tokens, but got {max_new_tokens}"
            )
    return tuple(Task(prompt=prompt, ids=_ids(pair, prompt.text, chat)[-(room or 0) :]) for prompt in prompts)


def _ids(pair: Pair, text: str, chat: bool) -> tuple[int, ...]:
    return tuple(pair.encode_chat([{"role": "user", "content": text}]) if chat else pair.encode(text))


def _locate(family: str, folder: Path | None) -> Path:
    file = _place(family, folder)
    if not file.is_file():
        told = "set to it" if os.environ.get(VARIABLE) else "not set"
        source = "" if folder else f" ({VARIABLE} is {told})"
        raise FileNotFoundError(
            f"benchmark prompts need the file {file.name}, looked for in {file.parent}{source}; put it there "
            f"or set {VARIABLE} to the folder that holds it; the family bundled is part of the package"
        )
    return file


def _place(family: str, folder: Path | None) -> Path:
    """Where the prompts of a family should lie."""
    own, named = FAMILIES[family], os.environ.get(VARIABLE)
    return (own.folder or folder or (Path(named).expanduser() if named else BESIDE.resolve())) / own.file


def _read(name: str, file: Path) -> Iterator[Prompt]:
    family = FAMILIES[name]
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                category = str(row.get("category", name))
                if family.categories and category not in family.categories:
                    continue
                text = family.text(row)
                key = str(row[family.id]) if family.id else f"{name}/{number - 1}"
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                raise ValueError(
                    f"every line of {file.name} must be a row of that set as JSON, but line {number} is not: "
                    f"{error!r}; copy the file again"
                ) from error
            yield Prompt(id=key, family=name, category=category, text=text)
