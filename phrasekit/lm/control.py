"""The trusted control: a model's own forwards, with its own cache and masks and none of ours.

What rounding does is measured here, never with a tree forward: a mask or position bug would inflate
its own tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from phrasekit.lm.model import LanguageModel


@torch.inference_mode()
def stepwise_logits(model: LanguageModel, prompt: Sequence[int], tokens: Sequence[int]) -> Tensor:
    """Logits `[len(tokens), vocabulary]` that chose each token, one token a forward, float32 or wider."""
    keyword = model.adapter.cache_keyword
    cache: dict[str, object] = {}
    found: list[Tensor] = []
    step = list(prompt)
    for token in tokens:
        output = model.model(input_ids=torch.tensor([step], device=model.device), use_cache=True, **cache)
        cache = {keyword: getattr(output, keyword)}
        found.append(_wide(output.logits[0, -1:, : model.vocabulary]))
        step = [token]
    return torch.cat(found)


@torch.inference_mode()
def block_logits(model: LanguageModel, prompt: Sequence[int], tokens: Sequence[int]) -> Tensor:
    """The same rows from one causal forward over everything."""
    ids = torch.tensor([[*prompt, *tokens]], device=model.device)
    logits = model.model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1, : model.vocabulary]
    return _wide(logits)


def _wide(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
