"""Everything that depends on the transformers version or a model's own ways, and nothing else.

Works with transformers 5.17 to 5.24; what differs between them:

- the cache argument of `forward` is `cache` (5.2x) or `past_key_values` (before);
- a model with one kind of attention layer takes a 4-D mask, one that mixes full and sliding layers
  a dict with one mask per kind.
"""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from phrasekit.errors import UnsupportedModelError
from phrasekit.lm.cache import TreeCache
from phrasekit.lm.lean import LeanForward
from phrasekit.lm.mask import depths, full_mask, sliding_mask

FULL, SLIDING = "full_attention", "sliding_attention"
EXACT_ATTENTION = ("sdpa", "eager")


class Adapter:
    """Calls one transformers model on rows of a token tree.

    Attributes:
        device: takes the input ids.
        dtype: of the hidden states, hence of the masks.

    Raises:
        UnsupportedModelError: the architecture or its attention cannot verify a tree.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._locate()
        self.config = model.config.get_text_config(decoder=True)
        self.layer_kinds = self._layer_kinds()
        self._refuse_what_cannot_verify()
        parameters = inspect.signature(model.forward).parameters
        self.cache_keyword = "cache" if "cache" in parameters else "past_key_values"
        self.keeps_logits = "logits_to_keep" in parameters
        self.lean = LeanForward.recognise(model)

    @property
    def layers(self) -> int:
        """Number of layers that keep a cache."""
        return int(self.config.num_hidden_layers)

    @property
    def context(self) -> int | None:
        """Longest sequence that the model decodes the same in one row as in many, or None for any.

        That is what it was made for, but with "longrope" only up to the position where all rows of a
        forward change to other rotary frequencies as soon as one of them has passed it.
        """
        longest: int | None = getattr(self.config, "max_position_embeddings", None)
        rope = getattr(self.config, "rope_parameters", None) or {}
        if rope.get("rope_type") == "longrope" and rope.get("original_max_position_embeddings"):
            switch = int(rope["original_max_position_embeddings"])
            return switch if longest is None else min(longest, switch)
        return longest

    @cached_property
    def window(self) -> int:
        """Positions a sliding layer sees, its own included."""
        return int(getattr(self.config, "sliding_window", 0) or 0)

    def forward(
        self,
        tokens: list[int],
        parents: tuple[int, ...],
        cache: TreeCache,
        keep: int | list[int],
    ) -> Tensor:
        """Logits of the last `keep` rows, or of the rows listed, on the model's device."""
        # one transfer for both
        rows = torch.tensor([tokens, self._positions(parents, cache.length)], device=self.device)
        ids, positions = rows.unbind()
        if self.lean is not None:
            hidden = self.lean.forward(ids, positions, self._masks_by_window(parents, cache.length), cache)
            return self.lean.head(self._kept(hidden, keep))
        wanted = keep if isinstance(keep, int) else torch.tensor(keep, device=self.device)
        output = self.model(
            input_ids=ids[None],
            attention_mask=self._masks(parents, cache.length),
            position_ids=positions[None],
            use_cache=True,
            **{self.cache_keyword: cache},
            **({"logits_to_keep": wanted} if self.keeps_logits else {}),
        )
        logits: Tensor = output.logits[0]
        return logits if self.keeps_logits else self._kept(logits, keep)

    def refresh(self) -> None:
        """Take note of weights, hooks or places that changed since the last sequence."""
        self._locate()
        if self.lean is None or self.lean.stale():
            self.lean = LeanForward.recognise(self.model)

    def _locate(self) -> None:
        embedding = self.model.get_input_embeddings()
        self.device = _runs_on(embedding) or embedding.weight.device
        self.dtype = embedding.weight.dtype

    def _positions(self, parents: tuple[int, ...], cached: int) -> list[int]:
        return [depth + cached for depth in depths(parents)]

    def _kept(self, rows: Tensor, keep: int | list[int]) -> Tensor:
        if not isinstance(keep, int):
            return rows[torch.tensor(keep, device=self.device)]
        return rows if keep == len(rows) else rows[-keep:]

    def _masks(self, parents: tuple[int, ...], cached: int) -> Tensor | dict[str, Tensor]:
        masks = {kind: self._mask(kind, parents, cached) for kind in self.layer_kinds}
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _masks_by_window(self, parents: tuple[int, ...], cached: int) -> dict[int, Tensor | None]:
        """The same keyed by window, 0 for none; a single row that sees everything needs none."""
        alone = len(parents) == 1
        return {
            0 if kind == FULL else self.window: None
            if alone and kind == FULL
            else self._mask(kind, parents, cached)
            for kind in self.layer_kinds
        }

    def _mask(self, kind: str, parents: tuple[int, ...], cached: int) -> Tensor:
        if kind == FULL:
            return full_mask(parents, cached, dtype=self.dtype, device=self.device)
        return sliding_mask(parents, cached, self.window, dtype=self.dtype, device=self.device)

    def _layer_kinds(self) -> frozenset[str]:
        kinds = getattr(self.config, "layer_types", None)
        if kinds:
            return frozenset(kinds)
        sliding = getattr(self.config, "sliding_window", None) and getattr(
            self.config, "use_sliding_window", True
        )
        return frozenset({SLIDING if sliding else FULL})

    def _refuse_what_cannot_verify(self) -> None:
        name, config = type(self.model).__name__, self.model.config
        if getattr(config, "is_encoder_decoder", False) or not self.model.can_generate():
            raise UnsupportedModelError(
                f"a target or draft must be a decoder-only causal language model, but got {name}; "
                "load one whose class name ends in ForCausalLM"
            )
        recurrent = self.layer_kinds - {FULL, SLIDING}
        if getattr(self.model, "_is_stateful", False) or recurrent:
            found = ", ".join(sorted(recurrent)) or "a recurrent state"
            raise UnsupportedModelError(
                f"verifying a token tree needs attention in every layer, but {name} has {found}: siblings in "
                "one forward would be read as consecutive tokens; use a pure attention model"
            )
        attention = getattr(self.config, "_attn_implementation", "eager")
        if attention not in EXACT_ATTENTION:
            raise UnsupportedModelError(
                "verifying a token tree needs an explicit 4-D mask, which "
                f"attn_implementation={attention!r} ignores; load {name} with attn_implementation='sdpa'"
            )


def _runs_on(module: Any) -> torch.device | None:
    """Where accelerate makes a module run, or None; weights it offloaded lie on "meta" until then."""
    hook = getattr(module, "_hf_hook", None)
    places = [getattr(one, "execution_device", None) for one in getattr(hook, "hooks", (hook,))]
    return next((torch.device(place) for place in places if place is not None), None)
