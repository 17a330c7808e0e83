"""FlashSpec's engine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch

from phrasekit.bench.contender import Account
from phrasekit.bench.peers.shared import numbers, unnamed_cache
from phrasekit.lm import Pair


class FlashSpecPeer:
    """FlashSpec's engine around the same modules: compiled where it can, eager on a CPU.

    Args:
        pair: models.
        variant: one of its strategies by name, `model-γ` or `lookup-γ`.
        max_new_tokens: limit.
    """

    family = "flashspec"
    origin = "flashspec"

    def __init__(self, pair: Pair, variant: str, max_new_tokens: int) -> None:
        self.name = f"flashspec-{variant}"
        self.hooked = pair.target.device.type == "cpu"  # it captures CUDA graphs
        self._device = pair.target.device
        self._limit = max_new_tokens
        self._engine = self._build(pair, variant)
        self.settings = {"strategy": variant, "compiled": self._engine.compiled}
        self._last: Any = None

    def renew(self) -> None:
        """See `Contender.renew`."""

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        """See `Contender.generate`."""
        ids = torch.tensor([list(prompt)], device=self._device)
        with unnamed_cache():
            self._last = self._engine.generate(ids, max_new_tokens=self._limit)
        tokens: list[int] = self._last.output_ids[0, : self._last.n_tokens_generated].tolist()
        return tokens

    def account(self) -> Account:
        """See `Contender.account`."""
        steps = tuple(step.emitted for step in self._last.arm_steps)
        # one forward reads the prompt before the first step
        return Account(steps=steps, target_forwards=None if self.hooked else 1 + len(steps))

    def _build(self, pair: Pair, variant: str) -> Any:
        package, engine = import_module("flashspec"), import_module("flashspec.engine")
        logging.getLogger("flashspec").setLevel(logging.ERROR)
        device, dtype = pair.target.device, pair.target.adapter.dtype
        target = engine.TargetModel(pair.target.name, device, dtype, model=pair.target.model)
        drafters, arms, strategy = [], None, "auto"
        if pair.draft is not None and not variant.startswith("lookup-"):
            drafters = [
                engine.HuggingFaceDrafter(
                    pair.draft.name, pair.draft.device, dtype, temperature=0.0, model=pair.draft.model
                )
            ]
        if variant.startswith(("model-", "lookup-")):
            (gamma,) = numbers("flashspec", variant.split("-", 1)[1], 1)
            drafters = drafters or [engine.NgramDrafter()]
            arms = [import_module("flashspec.engine.arms").ArmSpec(drafter=0, gamma=gamma)]
        else:
            strategy = variant
        config = package.FlashSpecConfig(
            device=str(device),
            dtype=str(dtype).removeprefix("torch."),
            drafter_strategy=strategy,
            eos_token_ids=tuple(sorted(pair.eos)),
            sampling=package.SamplingConfig(temperature=0.0),
        )
        return package.SpeculativeEngine(config, drafters, target, arms=arms)
