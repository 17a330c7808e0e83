"""How likely every emitted token was, by the target itself."""

from __future__ import annotations

import pytest
import torch

import phrasekit as pk
from phrasekit.methods import METHODS
from phrasekit.trace import faults, load_trace, save_trace
from phrasekit.trace.integrity import iteration_faults
from tests.models import PROMPT, generated, pair_of

FAMILY, COUNT = "llama", 24
NAMES = [name for name, method in METHODS.items() if "-no-" not in name and not method.corpus]


def due(tokens: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities of the tokens by one forward of the transformers model."""
    ids = torch.tensor([[*PROMPT, *tokens]])
    logits = pair_of(FAMILY).target.model(ids).logits[0, len(PROMPT) - 1 : -1]
    return logits.log_softmax(-1)[torch.arange(len(tokens)), torch.tensor(tokens)]


@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "top_p": 0.9, "seed": 5}])
@pytest.mark.parametrize("method", NAMES)
def test_they_are_the_target_s_own(method, options):
    run = pk.generate(
        pair_of(FAMILY), PROMPT, method=method, max_new_tokens=COUNT, probabilities=True, **options
    )
    found = [one for iteration in run.trace.iterations for one in iteration.logprobs]
    assert torch.allclose(torch.tensor(found).double(), due(run.tokens), atol=1e-5)
    assert list(faults(run.trace)) == []
    if not options:
        assert run.tokens == generated(FAMILY, COUNT)


def test_nobody_pays_for_them_unasked(tmp_path):
    run = pk.generate(pair_of(FAMILY), PROMPT, method="ouroboros", max_new_tokens=COUNT)
    assert all(iteration.logprobs == () for iteration in run.trace.iterations)
    save_trace(run.trace, tmp_path / "t.jsonl")
    assert "logprobs" not in (tmp_path / "t.jsonl").read_text()


def test_they_survive_a_file(tmp_path):
    run = pk.generate(pair_of(FAMILY), PROMPT, method="lookahead", max_new_tokens=COUNT, probabilities=True)
    save_trace(run.trace, tmp_path / "t.jsonl")
    assert load_trace(tmp_path / "t.jsonl") == run.trace


def test_wrong_ones_are_named():
    run = pk.generate(pair_of(FAMILY), PROMPT, method="vanilla", max_new_tokens=2, probabilities=True)
    one = run.trace.iterations[0]
    fields = {name: getattr(one, name) for name in one.__dataclass_fields__}
    for bad in ((-1.0, -2.0), (0.5,)):
        broken = type(one)(**{**fields, "logprobs": bad})
        assert any("logprobs" in fault for fault in iteration_faults(broken))
