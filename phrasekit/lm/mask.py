"""Which row may look at which: ancestor matrices, and the masks made from them.

A forward feeds p pending tokens (a chain) and n tree nodes behind them as q = p + n rows. A row sees
every committed row, itself and its ancestors. Repeated shapes are computed once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

REMEMBERED_ROWS = 128  # larger shapes are prompts: seldom the same twice, and heavy to keep


@lru_cache(maxsize=1024)
def ancestors(parents: tuple[int, ...]) -> Tensor:
    """Boolean `[q, q]`: row i may attend to row j (itself or an ancestor).

    Args:
        parents: parent row of every row, −1 for one that follows the committed context;
            `parents[i] < i`.
    """
    size = len(parents)
    seen = np.zeros((size, size), dtype=bool)
    if parents == tuple(range(-1, size - 1)):
        seen[:] = np.tri(size, dtype=bool)
        return torch.from_numpy(seen)
    for row, parent in enumerate(parents):
        if parent >= 0:
            seen[row, : parent + 1] = seen[parent, : parent + 1]
        seen[row, row] = True
    return torch.from_numpy(seen)


@lru_cache(maxsize=1024)
def depths(parents: tuple[int, ...]) -> tuple[int, ...]:
    """Distance of every row from the committed context; the first row has depth 0."""
    found: list[int] = []
    for parent in parents:
        found.append(found[parent] + 1 if parent >= 0 else 0)
    return tuple(found)


@lru_cache(maxsize=256)
def blocked(parents: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Additive `[q, q]` form of `ancestors`: 0 where a row may look, the dtype's minimum elsewhere."""
    seen = ancestors(parents) if len(parents) <= REMEMBERED_ROWS else ancestors.__wrapped__(parents)
    shape = len(parents), len(parents)
    return torch.zeros(shape, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min).to(device)


def full_mask(parents: tuple[int, ...], cached: int, *, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Additive `[1, 1, q, cached + q]` mask for layers that see the whole context."""
    block = (blocked if len(parents) <= REMEMBERED_ROWS else blocked.__wrapped__)(parents, dtype, device)
    return F.pad(block, (cached, 0))[None, None]


def sliding_mask(
    parents: tuple[int, ...], cached: int, window: int, *, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """The same for layers that see only the last `window` positions, their own included."""
    mask = full_mask(parents, cached, dtype=dtype, device=device)
    own = torch.tensor(depths(parents), device=device) + cached
    keys = torch.cat((torch.arange(cached, device=device), own))
    too_far = keys[None, :] <= own[:, None] - window
    return mask.masked_fill_(too_far, torch.finfo(dtype).min)
