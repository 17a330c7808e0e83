"""The models that a command was asked for, as options and as what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from phrasekit.lm import Pair

Command = Callable[..., Any]

PAIR = (
    click.option("--target", help="Hub name, folder or GGUF file.  [the embedded pair]"),
    click.option("--draft", help="The same for the draft model; it must share the tokenizer."),
    click.option("--device", default="cpu", show_default=True, help="Such as cpu, cuda or cuda:1."),
    click.option("--dtype", help="Such as bfloat16.  [float32 on a CPU, the checkpoint's own elsewhere]"),
)


def threads(default: int | None, otherwise: str = "torch's own choice") -> Callable[[Command], Command]:
    """The option --threads; None as a default leaves it to somebody else, and `otherwise` says to whom."""
    return click.option(
        "--threads",
        type=click.IntRange(1),
        default=default,
        show_default=True if default else otherwise,
        help="Threads for torch on a CPU.",
    )


MODELS = (*PAIR, threads(2))


@dataclass(frozen=True, kw_only=True)
class Models:
    """Arguments of `load_pair` as the user gave them; nothing is loaded before `load`.

    Attributes:
        threads: of torch; None leaves them to it.
    """

    target: str | None = None
    draft: str | None = None
    smaller: str | None = None
    device: str = "cpu"
    dtype: str | None = None
    attention: str = "sdpa"
    trust_remote_code: bool = False
    threads: int | None = None

    @classmethod
    def take(cls, given: dict[str, Any]) -> Models:
        """Take the models out of all options that were given."""
        return cls(**{one.name: given.pop(one.name) for one in fields(cls) if one.name in given})

    @property
    def drafting(self) -> bool:
        """Whether there will be a draft model; the embedded pair has one."""
        return self.target is None or self.draft is not None

    def need_draft(self, what: str) -> None:
        """Refuse a target alone.

        Raises:
            ValueError: there will be no draft model.
        """
        if not self.drafting:
            raise ValueError(
                f"{what} needs a draft model, but only a target was given; name one with --draft"
            )

    def load(self) -> Pair:
        """Load them; see `load_pair` for what can go wrong."""
        from phrasekit.lm import load_pair
        from phrasekit.lm.load import quiet

        quiet()
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        arguments = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "threads"}
        return load_pair(**arguments)


def with_models(command: Command) -> Command:
    """Gather the options of `MODELS`; the command gets them as one `models`."""

    @wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        return command(*args, models=Models.take(given), **given)

    return run
