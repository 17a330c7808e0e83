"""Out of memory costs one tree and nothing else: the step is done again plainly and the trace says so."""

import pytest
import torch

import phrasekit as pk
from phrasekit.lm.model import Session
from tests import models


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=["gpu", "cpu"],
)
@pytest.mark.parametrize("method", ["lookahead", "ouroboros", "hybrid", "prompt_lookup"])
def test_a_tree_too_large_for_memory_is_dropped(
    monkeypatch: pytest.MonkeyPatch, method: str, error: Exception
) -> None:
    honest, refused = Session.forward, []

    def forward(self, pending, tokens, parents, *, rows=None):
        if len(tokens) > 8:
            refused.append(len(tokens))
            raise error
        return honest(self, pending, tokens, parents, rows=rows)

    monkeypatch.setattr(Session, "forward", forward)
    knobs = pk.Knobs(gamma=6, window=3, level=4, guesses=4, lookup=10)
    run = pk.generate(models.pair_of("llama"), models.PROMPT, method=method, knobs=knobs, max_new_tokens=96)
    assert run.tokens == models.generated("llama", 96)
    noted = [it for it in run.trace.iterations if "out of memory" in it.note]
    inner = [it for outer in run.trace.iterations for it in outer.draft if "out of memory" in it.note]
    assert refused
    assert len(noted) + len(inner) == len(refused)
    assert all(not it.tree.tokens for it in noted)


def test_other_errors_are_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(self, *_, **__):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(Session, "forward", forward)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        pk.generate(models.pair_of("llama"), models.PROMPT, method="lookahead", max_new_tokens=4)
