"""A key-value cache that a token tree can be written into and an accepted path kept from.

Rows `[0, length)` are committed. A forward writes its rows behind them; `commit` gathers the rows
that were accepted into place and `crop` forgets the rest by moving the length. Nothing is
reallocated unless the reserve runs out.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class TreeLayer(CacheLayerMixin):
    """Keys and values of one layer, `[1, heads, capacity, head_dim]`, allocated at first use."""

    is_croppable = True
    is_sliding = False  # full length also for sliding layers: the mask does the sliding

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.length = 0
        self.written = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate on the device and in the dtype of the first rows."""
        self.keys = key_states.new_zeros((*key_states.shape[:2], self.capacity, key_states.shape[-1]))
        self.values = value_states.new_zeros((*value_states.shape[:2], self.capacity, value_states.shape[-1]))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write rows behind the committed ones; return everything up to and including them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[-2]
        if end > self.capacity:
            self.grow(max(end, 2 * self.capacity))
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.written = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def grow(self, capacity: int) -> None:
        """Move to a larger allocation, keeping what is committed."""
        old_keys, old_values = self.keys, self.values
        self.capacity = capacity
        self.lazy_initialization(old_keys, old_values)
        self.keys[:, :, : self.length] = old_keys[:, :, : self.length]
        self.values[:, :, : self.length] = old_values[:, :, : self.length]

    def commit(self, rows: Tensor, first: int, end: int) -> None:
        """Gather `rows` into places `first` to `end`, all of them offsets behind `length`."""
        if self.is_initialized:
            source, place = (
                rows.to(self.keys.device) + self.length,
                slice(self.length + first, self.length + end),
            )
            self.keys[:, :, place] = self.keys.index_select(2, source)
            self.values[:, :, place] = self.values.index_select(2, source)

    def get_seq_length(self) -> int:
        """Committed rows."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Key length and offset of the mask for `query_length` new rows."""
        return self.length + query_length, 0

    def get_max_length(self) -> int:
        """No fixed maximum: the reserve grows."""
        return -1

    def get_max_cache_shape(self) -> int:
        """The same under the name that transformers before 5.20 asks for."""
        return -1


class TreeCache(Cache):
    """One `TreeLayer` a model layer, all with the same committed length."""

    def __init__(self, layers: int, capacity: int) -> None:
        super().__init__(layers=[TreeLayer(capacity) for _ in range(layers)])
        self.length = 0

    def commit(self, rows: list[int]) -> None:
        """Keep the written rows at these offsets behind `length`, in this order; forget the rest."""
        count = len(rows)
        if rows != list(range(count)):  # a leading chain already lies in place
            self._gather(rows)
        self._set_length(self.length + count)

    def crop(self, length: int) -> None:
        """Forget every row from `length` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"crop needs 0 <= length <= {self.length} (rows committed), but got {length}")
        if length < self.length:
            self._set_length(length)

    @torch.inference_mode()
    def _gather(self, rows: list[int]) -> None:
        # what leads already lies in place
        first = next(place for place, row in enumerate(rows) if row != place)
        index = torch.tensor(rows[first:])
        for layer in self.layers:
            layer.commit(index, first, len(rows))

    def _set_length(self, length: int) -> None:
        self.length = length
        for layer in self.layers:
            layer.length = length
