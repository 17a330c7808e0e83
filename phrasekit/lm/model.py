"""One language model behind one door: any decoder-only Hugging Face model, target or draft alike."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from phrasekit.lm.adapter import Adapter
from phrasekit.lm.cache import TreeCache
from phrasekit.lm.probe import verify_trees

PREFILL_ROWS = 512  # longer prompts go in pieces, so that no mask is larger than this many rows


class LanguageModel:
    """A transformers causal LM that verifies token trees.

    Attributes:
        model: the transformers model, in eval mode.
        name: what to call it in traces and errors.
        vocabulary: token ids that may be proposed and emitted; rows of logits are cut to it.
        context: longest sequence, or None where the model does not say.

    Raises:
        UnsupportedModelError: the model cannot verify trees exactly (see `phrasekit.lm.probe`).
    """

    def __init__(
        self, model: Any, *, name: str = "", vocabulary: int | None = None, probe: bool = True
    ) -> None:
        self.model = model.eval()
        self.adapter = Adapter(model)
        self.name = name or type(model).__name__
        self.vocabulary = min(vocabulary or self.adapter.config.vocab_size, self.adapter.config.vocab_size)
        self.context = self.adapter.context
        self.lock = threading.RLock()  # one forward at a time through one model
        if probe:
            verify_trees(self)

    @cached_property
    def weights(self) -> int:
        """Number of parameters: what a row costs, roughly."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def device(self) -> torch.device:
        """Device of the input embedding."""
        return self.adapter.device

    def session(self, capacity: int) -> Session:
        """An empty sequence with room for `capacity` rows."""
        self.adapter.refresh()
        return Session(self, capacity)

    def __repr__(self) -> str:
        """Short, so that a notebook never prints the weights."""
        return f"LanguageModel({self.name}, vocabulary={self.vocabulary}, device={self.device})"


class Session:
    """One sequence in one model: its cache, its committed length, and forwards behind it."""

    def __init__(self, model: LanguageModel, capacity: int) -> None:
        self.model = model
        self.cache = TreeCache(model.adapter.layers, capacity)

    @property
    def length(self) -> int:
        """Rows committed to the cache."""
        return self.cache.length

    @torch.inference_mode()
    def prefill(self, tokens: Sequence[int]) -> None:
        """Commit `tokens` without asking for a pick."""
        for start in range(0, len(tokens), PREFILL_ROWS):
            piece = list(tokens[start : start + PREFILL_ROWS])
            self._rows(piece, tuple(range(-1, len(piece) - 1)), keep=1)
            self.cache.commit(list(range(len(piece))))

    @torch.inference_mode()
    def forward(
        self,
        pending: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        *,
        rows: Sequence[int] | None = None,
    ) -> Tensor:
        """Feed pending tokens and the tree behind them; commit nothing.

        Args:
            pending: committed tokens not yet in the cache; the last one is the tree's root.
            tokens: token id of every tree node.
            parents: parent node of every tree node, −1 for the root; `parents[i] < i`.
            rows: rows that need logits, 0 for the root and i + 1 for node i; None for all.

        Returns:
            Logits `[rows, vocabulary]` on the model's device.
        """
        root = len(pending) - 1
        shape = (*range(-1, root), *[parent + root + 1 for parent in parents])
        keep = 1 + len(tokens) if rows is None else [row + root for row in rows]
        return self._rows([*pending, *tokens], shape, keep=keep)

    def commit(self, pending: int, path: Sequence[int]) -> None:
        """Keep the cache rows of the last forward's pending tokens and of the nodes on `path`."""
        self.cache.commit([*range(pending), *(pending + node for node in path)])

    def crop(self, length: int) -> None:
        """Forget every committed row from `length` on."""
        self.cache.crop(length)

    def _rows(self, tokens: list[int], parents: tuple[int, ...], keep: int | list[int]) -> Tensor:
        with self.model.lock:
            logits = self.model.adapter.forward(tokens, parents, self.cache, keep)
        size = self.model.vocabulary
        return logits if logits.shape[-1] == size else logits[:, :size]
