"""Bugs to inject: what a broken engine would do, so that the checks can be seen to fail.

Each takes a `MonkeyPatch`. They are the known failures of this field: rows not moved after a partial
acceptance (llama.cpp PR#4484), positions off (transformers#30042), masks ignored (transformers
PR#30311), masks wrong below the diagonal (FastDeploy PR#3514).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from phrasekit.lm import adapter
from phrasekit.lm.adapter import Adapter
from phrasekit.lm.cache import TreeCache
from phrasekit.lm.mask import depths

Bug = Callable[[pytest.MonkeyPatch], None]


def siblings_visible(patch: pytest.MonkeyPatch) -> None:
    """A row also sees the siblings before it."""

    def seen(parents: tuple[int, ...]) -> torch.Tensor:
        size = len(parents)
        return torch.tensor([[parents[a] == parents[b] and b < a for b in range(size)] for a in range(size)])

    _widen(patch, seen)


def mask_ignored(patch: pytest.MonkeyPatch) -> None:
    """Every row sees every row before it, as `is_causal` would have it."""
    _widen(patch, lambda parents: torch.ones(len(parents), len(parents), dtype=torch.bool).tril(-1))


def positions_by_row(patch: pytest.MonkeyPatch) -> None:
    """Rows are numbered in order of appearance: right for chains, wrong for trees."""
    _place(patch, lambda parents: range(len(parents)))


def positions_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """Every row but the first stands one too far."""
    _place(patch, lambda parents: [d + (row > 0) for row, d in enumerate(depths(parents))])


def compaction_skipped(patch: pytest.MonkeyPatch) -> None:
    """Accepted rows stay where they were written."""
    patch.setattr(TreeCache, "commit", lambda self, rows: self._set_length(self.length + len(rows)))


def neighbours_kept(patch: pytest.MonkeyPatch) -> None:
    """Rows are gathered from one place too early."""
    right = TreeCache.commit
    patch.setattr(TreeCache, "commit", lambda self, rows: right(self, [max(0, row - 1) for row in rows]))


def _place(patch: pytest.MonkeyPatch, places: Callable[[tuple[int, ...]], Sequence[int]]) -> None:
    patch.setattr(
        Adapter, "_positions", lambda self, parents, cached: [at + cached for at in places(parents)]
    )


def _widen(patch: pytest.MonkeyPatch, seen: Callable[[tuple[int, ...]], torch.Tensor]) -> None:
    for name in ("full_mask", "sliding_mask"):
        right = getattr(adapter, name)

        def wrong(parents, cached, *rest, right=right, **options):
            mask = right(parents, cached, *rest, **options)
            mask[0, 0, :, cached:][seen(parents)] = 0
            return mask

        patch.setattr(adapter, name, wrong)


IN_ONE_FORWARD: dict[str, Bug] = {
    bug.__name__: bug for bug in (siblings_visible, mask_ignored, positions_by_row, positions_off_by_one)
}
ALL: dict[str, Bug] = {
    **IN_ONE_FORWARD,
    **{bug.__name__: bug for bug in (compaction_skipped, neighbours_kept)},
}
