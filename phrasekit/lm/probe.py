"""Start-up probe: does this model, with this attention and our cache, verify trees exactly?

A root with two children and a grandchild is run as one tree and each of its paths as plain tokens
without cache or mask. If a sibling is visible, a position is off or a mask is ignored, the logits
differ by far more than one-row and many-row forwards of the same tokens do. How much rounding is
ordinary is measured on the model itself, but not believed beyond what its dtype explains: a model that
looks ahead would inflate it. Half precision rounds so coarsely that a difference must also be small
beside what a model without a mask would show.
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
SLACK = 64  # times the ordinary difference that is refused whatever its cause
PLAIN = 4  # times that difference that passes whatever a missing mask would do
SHARE = 16  # a difference between the two must stay this many times under that of a missing mask
CREDIBLE = 256  # units in the last place at the top logit that rounding may come to
FAILURES = (RuntimeError, ValueError, TypeError, IndexError, AttributeError, NotImplementedError)


def verify_trees(model: LanguageModel) -> float:
    """Largest logit difference between the tree and its paths.

    Raises:
        UnsupportedModelError: it exceeds what rounding explains, or the model takes no tree at all.
    """
    try:
        difference, rounding, effect = _measure(model)
    except torch.OutOfMemoryError:
        raise
    except FAILURES as error:
        raise UnsupportedModelError(
            "a model must take rows with their own positions, a 4-D mask and a cache, but "
            f"{model.name} fails: {error}; use a model with rotary or learned positions"
        ) from error
    if not (difference <= SLACK * rounding and difference <= max(PLAIN * rounding, effect / SHARE)):
        raise UnsupportedModelError(
            f"a token tree must give the logits of its paths, but with {model.name} they differ by "
            f"{difference:.2g} (ordinary rounding here: {rounding:.2g}); load it with "
            "attn_implementation='sdpa', or use a model whose attention layers take a 4-D mask"
        )
    return difference


@torch.inference_mode()
def _measure(model: LanguageModel) -> tuple[float, float, float]:
    """Difference between tree and paths, ordinary rounding, and what a model without a mask would show."""
    prompt = [token % model.vocabulary for token in (1, 5, 2, 7, 3, 11, 4, 13)]
    nodes = [token % model.vocabulary for token in (6, 9, 8)]
    root = len(prompt) - 1
    session = model.session(capacity=16)
    session.prefill(prompt[:-1])
    tree = session.forward(prompt[-1:], nodes, PARENTS)
    alone, unmasked = _plain(model, prompt)[-1], _plain(model, [*prompt, *nodes])[root:]
    difference = control = effect = 0.0
    for path in PATHS:
        rows = [0, *(node + 1 for node in path)]
        plain = _plain(model, [*prompt, *(nodes[node] for node in path)])[root:]
        control = max(control, _gap(plain[0], alone))
        difference = max(difference, _gap(tree[rows], plain))
        effect = max(effect, _gap(unmasked[rows], plain))
    step = torch.finfo(tree.dtype).eps * float(tree.abs().max())
    if model.adapter.config._attn_implementation == "eager":
        step = max(step, 1e-7)  # eager attention takes its softmax in float32 whatever the dtype
    return difference, max(step, min(control, CREDIBLE * step, effect / SHARE / PLAIN)), effect


def _plain(model: LanguageModel, tokens: list[int]) -> Tensor:
    """Logits of an ordinary causal forward, `[len(tokens), vocabulary]`: the trusted control."""
    ids = torch.tensor([tokens], device=model.device)
    logits: Tensor = model.model(input_ids=ids, use_cache=False).logits[0, :, : model.vocabulary]
    return logits


def _gap(left: Tensor, right: Tensor) -> float:
    return float((left - right).abs().max())
