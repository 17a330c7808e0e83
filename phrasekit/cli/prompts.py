"""Prompts from the command line, a file, standard input, or a file of many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import click

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
Prompt = str | list[int] | list[dict[str, str]]

_READABLE = click.Path(exists=True, dir_okay=False, allow_dash=True)
_ONE = (
    click.argument("prompt", required=False),
    click.option("--file", type=_READABLE, help="Read the prompt, the whole file, from here; - is stdin."),
    click.option("--chat", is_flag=True, help="Put a prompt through the model's chat template."),
)
_MANY = (
    click.option(
        "--prompts", "many", type=_READABLE, help='Read many: JSON Lines, each {"prompt": …} or a string.'
    ),
)


def prompt_options(
    *, default: str | None = None, several: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """PROMPT, --file, --prompts and --chat; the command gets `prompts`, a list.

    Args:
        default: the prompt where none is given; None makes one required.
        several: offer --prompts, and tell the command by `many` whether it was used.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(
            prompt: str | None, file: str | None, chat: bool, many: str | None = None, **given: Any
        ) -> Any:
            prompts = _gather(prompt, file, many, default)
            prompts = conversations(prompts, chat=chat)
            if several:
                given["many"] = many is not None
            return command(prompts=prompts, **given)

        decorated: Command = run
        for option in reversed([*_ONE, *(_MANY if several else ())]):
            decorated = option(decorated)
        return decorated

    return decorate


def _gather(prompt: str | None, file: str | None, many: str | None, default: str | None) -> list[Prompt]:
    given = [value for value in (prompt, file, many) if value is not None]
    if len(given) > 1:
        raise ValueError(
            "there must be one source of prompts, but got several; choose PROMPT, --file or --prompts"
        )
    if many is not None:
        return list(read_lines(many))
    if file is not None or prompt == "-":
        prompt = _read(file or "-")
    if prompt is None:
        prompt = default
    if prompt is None:
        raise ValueError(
            "a prompt must be given, but got none; write it as PROMPT, or use --file (- is stdin)"
        )
    if not prompt:
        raise ValueError(
            f"a prompt must hold at least one token, but {file or 'PROMPT'} is empty; give it some words"
        )
    return [prompt]


def _read(path: str) -> str:
    with click.open_file(path, encoding="utf-8") as stream:
        try:
            text: str = stream.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"a prompt must be UTF-8 text, but {path!r} is not: {error}") from error
    return text


def read_lines(path: str) -> Iterator[Prompt]:
    """The prompts of a JSON Lines file.

    Raises:
        ValueError: a line that is no prompt, or none at all.
    """
    found = 0
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if line.strip():
            found += 1
            yield _read_line(line, f"{path!r}, line {number}")
    if not found:
        raise ValueError(f"a file of prompts must hold at least one, but {path!r} holds none")


def _read_line(line: str, place: str) -> Prompt:
    rule = f"{place}: a line must be JSON, a string or an object with the key 'prompt'"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{rule}, but: {error}") from error
    prompt = value.get("prompt") if isinstance(value, dict) else value
    if not isinstance(prompt, str | list):
        raise ValueError(f"{rule}, but got {line.strip()[:60]!r}")
    if not prompt:
        raise ValueError(f"{place}: a prompt must hold at least one token, but this one is empty")
    return prompt


def conversations(prompts: list[Prompt], *, chat: bool) -> list[Prompt]:
    """With `chat` every text as what a user says; anything else as it is."""
    if not chat:
        return prompts
    return [
        [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt for prompt in prompts
    ]
