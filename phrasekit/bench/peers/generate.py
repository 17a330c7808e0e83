"""transformers' own `generate`: plain, assisted by a draft model, with prompt lookup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GenerationConfig

from phrasekit.bench.contender import Account, Contender
from phrasekit.bench.peers.shared import numbers
from phrasekit.lm import Pair


class TransformersPeer:
    """`model.generate`, plain or with candidates from a draft model or from the context.

    Args:
        pair: models.
        name: see `Contender`.
        family: see `Contender`.
        max_new_tokens: limit.
        options: what differs from plain greedy decoding, for `GenerationConfig`.
        assistant_tokens: constant draft length; 0 runs without the draft model.
    """

    origin = "transformers"

    def __init__(
        self,
        pair: Pair,
        name: str,
        family: str,
        *,
        max_new_tokens: int,
        options: Mapping[str, Any] | None = None,
        assistant_tokens: int = 0,
    ) -> None:
        self.name, self.family = name, family
        self.settings = dict(options or {})
        # a static cache makes `generate` compile the forward on a GPU, and hooks would have it compiled anew
        self.hooked = pair.target.device.type == "cpu" or "cache_implementation" not in self.settings
        self._target = pair.target.model
        self._draft = pair.draft.model if pair.draft and assistant_tokens else None
        self._drafting = {
            "num_assistant_tokens": assistant_tokens,
            "num_assistant_tokens_schedule": "constant",
            "assistant_confidence_threshold": 0.0,  # never give up a draft early: the length is constant
        }
        if self._draft is not None:
            self.settings |= self._drafting
        ends = sorted(pair.eos) or None
        self._config = GenerationConfig(
            max_new_tokens=max_new_tokens,
            eos_token_id=ends,
            pad_token_id=ends[0] if ends else 0,
            **_PLAIN_GREEDY,
            **(options or {}),
        )
        self._steps = _Steps()

    def renew(self) -> None:
        """See `Contender.renew`."""

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        """See `Contender.generate`."""
        self._steps = _Steps()
        ids = torch.tensor([list(prompt)], device=self._target.device)
        arguments = {
            "attention_mask": torch.ones_like(ids),
            "generation_config": self._config,
            "streamer": self._steps,
        }
        if self._draft is None:
            output = self._target.generate(ids, **arguments)
        else:
            with _changed(self._draft.generation_config, self._drafting):
                output = self._target.generate(ids, assistant_model=self._draft, **arguments)
        tokens: list[int] = output[0, len(prompt) :].tolist()
        return tokens

    def account(self) -> Account:
        """See `Contender.account`."""
        steps = tuple(self._steps.counts)
        # the first forward reads the prompt and gives the first step
        return Account(steps=steps, target_forwards=None if self.hooked else len(steps))


class _Steps:
    """A streamer that only counts: `generate` puts the prompt, then what each forward gave."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._prompt = True

    def put(self, value: Any) -> None:
        """Take the tokens of a step."""
        if self._prompt:
            self._prompt = False
        else:
            self.counts.append(value.numel())

    def end(self) -> None:
        """Nothing is held back."""


_PLAIN_GREEDY = {
    "do_sample": False,
    "num_beams": 1,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "min_length": 0,
    "use_cache": True,
}


@contextmanager
def _changed(holder: Any, values: Mapping[str, object]) -> Iterator[None]:
    """Attributes that `generate` reads from the assistant and nowhere else."""
    before = {name: getattr(holder, name, None) for name in values}
    for name, value in values.items():
        setattr(holder, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(holder, name, value)


def plain(pair: Pair, variant: str, max_new_tokens: int) -> Contender:
    """Greedy `generate`, `eager` or with a `static` cache."""
    if variant == "eager":
        return TransformersPeer(pair, "generate", "generate", max_new_tokens=max_new_tokens)
    if variant == "static":
        options = {"cache_implementation": "static"}
        return TransformersPeer(
            pair, "generate-static", "generate-static", max_new_tokens=max_new_tokens, options=options
        )
    raise ValueError(f"a variant of generate must be eager or static, but got {variant!r}")


def assisted(pair: Pair, variant: str, max_new_tokens: int) -> Contender:
    """Assisted generation at the constant draft length that the variant names."""
    (length,) = numbers("assisted", variant, 1)
    return TransformersPeer(
        pair, f"assisted-{length}", "assisted", max_new_tokens=max_new_tokens, assistant_tokens=length
    )


def lookup(pair: Pair, variant: str, max_new_tokens: int) -> Contender:
    """Prompt lookup: the variant names tokens to copy and, after a dash, the longest n-gram (else 2)."""
    tokens, *ngram = numbers("lookup", variant, 2)
    options = {"prompt_lookup_num_tokens": tokens, "max_matching_ngram_size": ngram[0] if ngram else 2}
    return TransformersPeer(
        pair, f"lookup-{variant}", "lookup", max_new_tokens=max_new_tokens, options=options
    )
