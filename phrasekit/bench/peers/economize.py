"""economize's decoder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch

from phrasekit.bench.contender import Account
from phrasekit.bench.peers.shared import numbers, unnamed_cache
from phrasekit.lm import Pair


class EconomizePeer:
    """economize's decoder on the same target; it loads the draft model from its folder itself.

    Args:
        pair: models.
        variant: `draft-γ`, `lookup-tokens` or `hybrid-tokens-γ`.
        max_new_tokens: limit.
    """

    family = "economize"
    origin = "economize"
    hooked = False  # it runs the layers without the model's own forward

    def __init__(self, pair: Pair, variant: str, max_new_tokens: int) -> None:
        self.name = f"economize-{variant}"
        kind, _, sizes = variant.partition("-")
        kinds = {"draft": 1, "lookup": 1, "hybrid": 2}
        if kind not in kinds:
            raise ValueError(
                f"a variant of economize must start with {', '.join(kinds)}, but got {variant!r}"
            )
        tokens, *gamma = numbers("economize", sizes, kinds[kind])
        package = import_module("economize")
        self._device = pair.target.device
        self._limit = max_new_tokens
        self._ends = sorted(pair.eos) or None
        decoding = package.DecodeConfig(cycle_length=tokens + 1, cuda_graphs=self._device.type == "cuda")
        self._model = package.apply(
            pair.target.model, self._technique(pair, kind, tokens, *gamma), decoding=decoding
        )
        self.settings = {"technique": kind, "tokens": tokens, "gamma": gamma[0] if gamma else tokens}
        self._last: Any = None

    def renew(self) -> None:
        """See `Contender.renew`."""

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        """See `Contender.generate`."""
        ids = torch.tensor(list(prompt), device=self._device)
        with unnamed_cache():
            self._last = self._model.decode(ids, self._limit, stop=self._ends)
        tokens: list[int] = self._last.tokens.tolist()
        return tokens

    def account(self) -> Account:
        """See `Contender.account`."""
        cost = self._last.cost
        drafts = sum(event.module == "draft_model" for event in cost.events)
        return Account(target_forwards=cost.count("exact"), draft_forwards=drafts)

    def _technique(self, pair: Pair, kind: str, tokens: int, gamma: int = 3) -> Any:
        techniques = import_module("economize.techniques")
        lookup = techniques.lookup.LookupConfig(max_proposal=tokens)
        if kind == "lookup":
            return lookup
        if pair.draft is None:
            raise ValueError(f"economize-{kind} needs a draft model, but the pair has none")
        draft = techniques.draft_model.DraftModelConfig(model=pair.draft.model.name_or_path)
        if kind == "draft":
            return draft
        return techniques.hybrid.HybridConfig(fallback=draft, max_proposal=tokens, max_drafts=gamma)
