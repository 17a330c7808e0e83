"""Start-up probe: does this model, with this attention and our cache, verify trees exactly?

A root with two children and a grandchild is run as one tree and each of its paths as plain tokens
without cache or mask. If a sibling is visible, a position is off or a mask is ignored, the logits
differ by far more than one-row and many-row forwards of the same tokens do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from phrasekit.errors import UnsupportedModelError

if TYPE_CHECKING:
    from phrasekit.lm.model import LanguageModel

# A three-node tree behind a root: two siblings and a child of the second.
PARENTS = (-1, -1, 1)
PATHS = ((0,), (1, 2))
SLACK = 16  # times the difference that an ordinary block forward already shows
STEPS = 16  # and never under this many units in the last place at the top logit


@torch.inference_mode()
def verify_trees(model: LanguageModel) -> float:
    """Largest logit difference between the tree and its paths.

    Raises:
        UnsupportedModelError: it exceeds what rounding explains.
    """
    prompt = [token % model.vocabulary for token in (1, 5, 2, 7, 3, 11, 4, 13)]
    nodes = [token % model.vocabulary for token in (6, 9, 8)]
    session = model.session(capacity=16)
    session.prefill(prompt[:-1])
    tree = session.forward(prompt[-1:], nodes, PARENTS)
    difference = control = 0.0
    for path in PATHS:
        plain = _plain(model, [*prompt, *(nodes[node] for node in path)])
        alone = _plain(model, prompt)[-1]
        control = max(control, _gap(plain[len(prompt) - 1], alone))
        rows = torch.stack([tree[0], *(tree[node + 1] for node in path)])
        difference = max(difference, _gap(rows, plain[len(prompt) - 1 :]))
    step = torch.finfo(tree.dtype).eps * max(1.0, float(tree.abs().max()))
    # eager attention takes its softmax in float32 whatever the dtype
    step = max(step, 1e-7) if model.adapter.config._attn_implementation == "eager" else step
    if not difference <= max(SLACK * control, STEPS * step):
        raise UnsupportedModelError(
            f"a token tree must give the logits of its paths, but with {model.name} they differ by "
            f"{difference:.2g} (ordinary rounding here: {control:.2g}); load it with "
            "attn_implementation='sdpa', or use a model whose attention layers take a 4-D mask"
        )
    return difference


def _plain(model: LanguageModel, tokens: list[int]) -> Tensor:
    """Logits of an ordinary causal forward, `[len(tokens), vocabulary]`: the trusted control."""
    ids = torch.tensor([tokens], device=model.device)
    return model.model(input_ids=ids, use_cache=False).logits[0, :, : model.vocabulary]


def _gap(left: Tensor, right: Tensor) -> float:
    return float((left - right).abs().max())
