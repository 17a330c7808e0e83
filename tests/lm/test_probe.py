"""The start-up probe: no sound model is refused, no unsound one gets through."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BartConfig,
    BartForCausalLM,
    BartForConditionalGeneration,
    BertConfig,
    BertLMHeadModel,
    BloomConfig,
    GPTNeoConfig,
    Lfm2Config,
    LlamaConfig,
    LlamaModel,
    MambaConfig,
    Qwen3NextConfig,
    RwkvConfig,
    T5Config,
    T5ForConditionalGeneration,
)

from phrasekit.errors import UnsupportedModelError
from phrasekit.lm import LanguageModel, load_model
from tests import models
from tests.engine import bugs

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_sound_models_pass(family, dtype, attention):
    for seed, spread in ((0, 0.02), (2, 0.4)):
        model = models.build(family, seed, initializer_range=spread, attn_implementation=attention)
        assert LanguageModel(model.to(dtype)).vocabulary == models.VOCABULARY


@pytest.mark.parametrize("bug", bugs.IN_ONE_FORWARD.values(), ids=bugs.IN_ONE_FORWARD)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_an_unsound_forward_is_refused(family, bug, dtype, monkeypatch):
    """transformers PR#30311, PR#27539, FastDeploy PR#3514: masks and positions that are quietly dropped.

    In bfloat16 too, where rounding is large enough to hide a bug from a careless bound.
    """
    model = models.build(family).to(dtype)
    LanguageModel(model)
    bug(monkeypatch)
    with pytest.raises(UnsupportedModelError, match=r"differ by .*attn_implementation='sdpa'"):
        LanguageModel(model)


def test_a_model_that_looks_ahead_cannot_excuse_itself():
    """The rounding measured on the model under test must not be believed without a bound."""
    for spread, dtypes in ((0.3, (torch.float64, torch.float32, torch.bfloat16)), (0.02, (torch.float64,))):
        torch.manual_seed(0)
        sizes = {"vocab_size": 96, "intermediate_size": 64, "initializer_range": spread, **SMALL}
        model = BertLMHeadModel(BertConfig(**sizes))
        for dtype in dtypes:
            with pytest.raises(UnsupportedModelError):
                LanguageModel(model.to(dtype))


RECURRENT = {
    "mamba": lambda: MambaConfig(vocab_size=96, hidden_size=32, num_hidden_layers=2),
    "rwkv": lambda: RwkvConfig(vocab_size=96, hidden_size=32, num_hidden_layers=2),
    "lfm2": lambda: Lfm2Config(vocab_size=96, layer_types=["conv", "full_attention"], **SMALL),
    "qwen3-next": lambda: Qwen3NextConfig(
        vocab_size=96, head_dim=8, num_experts=4, layer_types=["linear_attention", "full_attention"], **SMALL
    ),
}


@pytest.mark.parametrize("config", RECURRENT.values(), ids=RECURRENT)
def test_recurrent_models_are_refused_for_what_they_are(config):
    """transformers PR#46937, #49036, vllm#44296: siblings in one forward are consecutive to a recurrence."""
    with pytest.raises(UnsupportedModelError, match="siblings.*attention"):
        LanguageModel(AutoModelForCausalLM.from_config(config()))


@pytest.mark.parametrize(
    "model",
    [
        lambda: T5ForConditionalGeneration(
            T5Config(vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4)
        ),
        lambda: BartForConditionalGeneration(
            BartConfig(
                vocab_size=96, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2
            )
        ),
        lambda: LlamaModel(LlamaConfig(vocab_size=96, intermediate_size=64, **SMALL)),
    ],
    ids=["t5", "bart", "no-head"],
)
def test_what_is_no_decoder_only_language_model_is_refused(model):
    with pytest.raises(UnsupportedModelError, match="decoder-only causal language model.*ForCausalLM"):
        LanguageModel(model())


@pytest.mark.parametrize(
    "attention", ["flash_attention_2", "flash_attention_3", "flex_attention", "paged|sdpa"]
)
def test_attention_without_4d_masks_is_refused_with_what_to_do(attention):
    """Dao-AILab/flash-attention#1576: the kernel takes no mask, and nothing says so."""
    model = models.build("llama")
    model.config._attn_implementation = attention
    with pytest.raises(UnsupportedModelError, match=r"4-D mask.*attn_implementation='sdpa'") as raised:
        LanguageModel(model)
    assert attention in str(raised.value)
    with pytest.raises(ValueError, match=r"attention must be one of sdpa, eager"):
        load_model("/nowhere", attention=attention)


UNFIT = {
    "bloom (positions in the mask)": lambda: AutoModelForCausalLM.from_config(
        BloomConfig(vocab_size=96, hidden_size=32, n_layer=2, n_head=4)
    ),
    "gpt-neo (local attention by row)": lambda: AutoModelForCausalLM.from_config(
        GPTNeoConfig(
            vocab_size=96,
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=8,
        )
    ),
    "bart decoder (positions by row)": lambda: BartForCausalLM(
        BartConfig(vocab_size=96, d_model=32, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=32)
    ),
}


@pytest.mark.parametrize("make", UNFIT.values(), ids=UNFIT)
def test_architectures_that_cannot_take_a_tree_get_one_clear_error(make):
    torch.manual_seed(0)
    with pytest.raises(UnsupportedModelError):
        LanguageModel(make().float())
