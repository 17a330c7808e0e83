"""The lean forward says what transformers says, and steps aside when it cannot know."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM

import phrasekit as pk
from phrasekit.lm import LanguageModel
from phrasekit.lm.lean import LeanForward
from tests import models
from tests.models import PROMPT, VOCABULARY

TREE = [3, 4, 5, 6, 7, 8], [-1, -1, 0, 1, 1, 3]
ROPE = {"rope_theta": 10000.0}


def qwen2(**changes):
    sizes = {**models._SIZES, "num_key_value_heads": 2, "layer_types": None, **changes}
    return Qwen2ForCausalLM(Qwen2Config(**sizes))


CASES = {
    "llama": lambda: models.build("llama"),
    "all-heads": lambda: models.build("llama", num_key_value_heads=4),
    "one-key-head": lambda: models.build("llama", num_key_value_heads=1),
    "wide-heads": lambda: models.build("llama", head_dim=16),
    "biases": lambda: models.build("llama", attention_bias=True),
    "all-biases": lambda: models.build("llama", attention_bias=True, mlp_bias=True),
    "tied": lambda: models.build("llama", tie_word_embeddings=True),
    "linear-rope": lambda: models.build(
        "llama", rope_parameters={**ROPE, "rope_type": "linear", "factor": 4.0}
    ),
    "yarn": lambda: models.build(
        "llama",
        rope_parameters={**ROPE, "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
    ),
    "llama3-rope": lambda: models.build(
        "llama",
        rope_parameters={
            **ROPE,
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    ),
    "gelu": lambda: models.build("llama", hidden_act="gelu"),
    "mistral": lambda: models.build("mistral"),
    "mistral-full": lambda: models.build("mistral", sliding_window=None),
    "qwen3": lambda: models.build("qwen3"),
    "qwen3-mixed": lambda: models.build(
        "qwen3", use_sliding_window=True, sliding_window=6, max_window_layers=1
    ),
    "qwen2": lambda: qwen2().double().eval(),
    "qwen2-mixed": lambda: (
        qwen2(use_sliding_window=True, sliding_window=6, max_window_layers=1).double().eval()
    ),
}


def spread_biases(model) -> None:
    """transformers starts biases at zero, where a lost one would not show."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(
                    0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(name)))
                )


def logits(model: LanguageModel) -> torch.Tensor:
    session = model.session(64)
    session.prefill(PROMPT[:-1])
    found = [session.forward(PROMPT[-1:], *TREE)]
    session.commit(1, [1, 3, 5])
    found.append(session.forward([9], [], []))  # a single row
    found.append(session.forward([9], [1, 2], [-1, -1], rows=[0, 2]))
    return torch.cat(found)


def without(model: LanguageModel) -> torch.Tensor:
    """The same through transformers."""
    plain = LanguageModel(model.model, probe=False)
    plain.adapter.refresh = lambda: None
    plain.adapter.lean = None
    return logits(plain)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("case", CASES)
def test_every_variant_gives_the_logits_of_transformers(case, dtype):
    made = CASES[case]()
    spread_biases(made)
    model = LanguageModel(made.to(dtype))
    gap = (logits(model) - without(model)).abs().max()
    assert gap < {torch.float64: 1e-11, torch.float32: 2e-3}[dtype]


def test_the_usual_models_are_recognised_so_that_the_comparison_compares_something():
    lean = {case for case in CASES if LanguageModel(CASES[case]()).adapter.lean is not None}
    assert {
        "llama",
        "one-key-head",
        "biases",
        "tied",
        "mistral",
        "qwen3",
        "qwen2",
        "qwen2-mixed",
        "yarn",
    } <= lean
    assert "gelu" not in lean
    dynamic = {**ROPE, "rope_type": "dynamic", "factor": 2.0}
    assert LanguageModel(models.build("llama", rope_parameters=dynamic)).adapter.lean is None


def changed_in_place(model) -> None:
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight.mul_(1.5)


def changed_query(model) -> None:
    with torch.no_grad():
        model.model.layers[0].self_attn.q_proj.weight.add_(0.2)


def replaced(model) -> None:
    layer = model.model.layers[0]
    layer.self_attn.v_proj.weight = nn.Parameter(layer.self_attn.v_proj.weight.detach() * 2)


class Adapted(nn.Module):
    """As a LoRA layer: looks like the linear layer it wraps, and adds to it."""

    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner
        self.weight = inner.weight
        self.bias = inner.bias
        self.extra = nn.Parameter(torch.full_like(inner.weight, 0.05))
        self.in_features = inner.in_features

    def forward(self, hidden):
        return self.inner(hidden) + hidden @ self.extra.T


def adapted(model) -> None:
    layer = model.model.layers[1]
    layer.self_attn.k_proj = Adapted(layer.self_attn.k_proj)


def hooked(model) -> None:
    model.model.layers[0].mlp.register_forward_hook(lambda module, args, output: output * 0.5)


def hooked_before(model) -> None:
    model.model.layers[0].register_forward_pre_hook(lambda module, args: (args[0] * 0.9, *args[1:]))


def wrapped(model) -> None:
    """As accelerate's and others' hooks do: a forward of the instance's own."""
    mlp = model.model.layers[0].mlp
    inside = mlp.forward
    mlp.forward = lambda hidden: inside(hidden) * 0.5


def another_dtype(model) -> None:
    model.float()


CHANGES = (changed_in_place, changed_query, replaced, adapted, hooked, hooked_before, wrapped, another_dtype)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_seen_by_the_next_sequence(change):
    """Fused copies of weights must not outlive the weights."""
    model = LanguageModel(models.build("llama"))
    before = logits(model)
    change(model.model)
    after = logits(model)
    assert (after - before).abs().max() > 1e-9
    assert (after - without(model)).abs().max() < (1e-3 if change is another_dtype else 1e-11)


def test_a_hook_that_was_removed_is_forgotten():
    model = LanguageModel(models.build("llama"))
    before = logits(model)
    handle = model.model.model.layers[0].mlp.register_forward_hook(lambda module, args, output: output * 0.5)
    assert (logits(model) - before).abs().max() > 1e-6
    handle.remove()
    assert torch.equal(logits(model), before)


def test_sequences_beyond_the_context_length_of_the_tables():
    """Nothing stops a session there; positions go on as they do in transformers."""
    model = LanguageModel(models.build("llama", max_position_embeddings=8))
    tokens = [(3 * i) % VOCABULARY for i in range(70)]
    session = model.session(8)
    session.prefill(tokens)
    found = session.forward([1], [2], [-1])
    due = model.model(input_ids=torch.tensor([[*tokens, 1, 2]]), use_cache=False).logits[0, -2:]
    assert torch.allclose(found, due, atol=1e-11)


def test_training_mode_and_gradients_are_not_disturbed():
    """The lean copies are detached: the model can still be trained beside its use here."""
    made = models.build("llama")
    pair = pk.Pair(target=LanguageModel(made))
    pk.generate(pair, list(PROMPT), method="vanilla", max_new_tokens=3)
    loss = made(input_ids=torch.tensor([PROMPT]), labels=torch.tensor([PROMPT])).loss
    loss.backward()
    assert made.model.layers[0].self_attn.q_proj.weight.grad.abs().sum() > 0


def changed_norm(model) -> None:
    with torch.no_grad():
        model.model.norm.weight.mul_(1.1)


def swapped_layer(model) -> None:
    model.model.layers[0], model.model.layers[1] = model.model.layers[1], model.model.layers[0]


def hooked_head(model) -> None:
    model.lm_head.register_forward_hook(lambda module, args, output: output)


@pytest.mark.parametrize("change", [*CHANGES, changed_norm, swapped_layer, hooked_head])
def test_whatever_changes_makes_it_stale_and_nothing_else_does(change):
    made = models.build("llama")
    lean = LeanForward.recognise(made)
    made(input_ids=torch.tensor([PROMPT]))
    made.eval()
    assert not lean.stale()
    change(made)
    assert lean.stale()
