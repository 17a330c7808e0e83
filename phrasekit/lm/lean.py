"""The same forward with less around it, for the Llama-shaped families.

A decode step of a small model spends most of its time in Python and in small kernels. Where a model
is exactly what this file expects (class, plain linear layers, static rotary embedding, no hooks),
its weights are run directly: query, key and value in one product, gate and up in one, one rotation
for query and key. The start-up probe compares the result with the model's own forward; whatever is
not recognised runs through transformers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from phrasekit.lm.cache import TreeCache

FAMILIES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
STATIC_ROTARY = ("default", "linear", "llama3", "yarn")
FUSED_BYTES = 1 << 28  # fused copies of the weights only while they stay under this


@dataclass(frozen=True, slots=True)
class Block:
    """Weights of one layer, ready to multiply; `qkv` and `gate_up` are fused copies."""

    source: Any
    qkv: Tensor
    qkv_bias: Tensor | None
    gate_up: Tensor


class LeanForward:
    """Runs a recognised model on rows of a token tree.

    Use `recognise` to make one; it returns None where the model must run through transformers.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        config = model.config
        attention = model.model.layers[0].self_attn
        self.head_dim = int(attention.head_dim)
        self.heads = int(config.num_attention_heads)
        self.key_heads = int(config.num_key_value_heads)
        self.scaling = float(attention.scaling)
        self.signature = _signature(model)
        self.blocks = [_block(layer) for layer in model.model.layers]
        self._rotary: tuple[Tensor, Tensor] | None = None

    @classmethod
    def recognise(cls, model: Any) -> LeanForward | None:
        """A lean forward for `model`, or None."""
        return cls(model) if _recognised(model) else None

    def stale(self) -> bool:
        """Whether the model's weights, place or hooks have changed since this was made."""
        return _signature(self.model) != self.signature or _hooked(self.model)

    def forward(
        self, ids: Tensor, positions: Tensor, masks: dict[int, Tensor | None], cache: TreeCache
    ) -> Tensor:
        """Hidden states `[rows, width]` after the last norm.

        Args:
            ids: `[rows]`.
            positions: `[rows]`, absolute.
            masks: additive `[1, 1, rows, keys]` by window (0 for layers that see everything); None
                for a single row that sees everything.
            cache: takes the new rows behind its committed ones.
        """
        rows = ids.shape[0]
        hidden = F.embedding(ids, self.model.model.embed_tokens.weight)
        cos, sin = self._rotation(positions, cache.layers[0].length + rows)
        for block, layer in zip(self.blocks, cache.layers, strict=True):
            source = block.source
            window = int(getattr(source.self_attn, "sliding_window", None) or 0)
            mask = masks[window] if window in masks else next(iter(masks.values()))
            hidden = hidden + self._attend(
                block, _norm(source.input_layernorm, hidden), cos, sin, mask, layer
            )
            gate, up = F.linear(_norm(source.post_attention_layernorm, hidden), block.gate_up).chunk(
                2, dim=-1
            )
            hidden = hidden + F.linear(
                F.silu(gate) * up, source.mlp.down_proj.weight, source.mlp.down_proj.bias
            )
        return _norm(self.model.model.norm, hidden)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of these rows."""
        return F.linear(hidden, self.model.lm_head.weight)

    def _attend(
        self, block: Block, hidden: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, layer: Any
    ) -> Tensor:
        attention = block.source.self_attn
        mixed = (
            F.linear(hidden, block.qkv, block.qkv_bias).view(len(hidden), -1, self.head_dim).transpose(0, 1)
        )
        turning, values = mixed[: self.heads + self.key_heads], mixed[self.heads + self.key_heads :]
        if hasattr(attention, "q_norm"):
            turning = torch.cat(
                (attention.q_norm(turning[: self.heads]), attention.k_norm(turning[self.heads :]))
            )
        # rotate-half: the sine table carries the sign, so that a roll is enough
        turned = torch.addcmul(turning * cos, turning.roll(self.head_dim // 2, -1), sin)
        keys, seen = layer.update(turned[None, self.heads :], values[None])
        mixed = F.scaled_dot_product_attention(
            turned[None, : self.heads],
            keys,
            seen,
            attn_mask=mask,
            scale=self.scaling,
            enable_gqa=self.heads != self.key_heads,
        )
        return F.linear(mixed[0].transpose(0, 1).flatten(1), attention.o_proj.weight, attention.o_proj.bias)

    def _rotation(self, positions: Tensor, reach: int) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine `[rows, head_dim]` from tables that grow by doubling."""
        weight = self.model.model.embed_tokens.weight
        deepest = max(
            reach, int(self.model.config.max_position_embeddings or 0) if self._rotary is None else 0
        )
        if self._rotary is None or len(self._rotary[0]) < reach:
            every = torch.arange(2 * deepest, device=weight.device)[None]
            cos, sin = self.model.model.rotary_emb(weight[:1], every)
            sign = torch.ones_like(sin[0, 0])
            sign[: self.head_dim // 2] = -1
            self._rotary = cos[0], sin[0] * sign
        return self._rotary[0][positions], self._rotary[1][positions]


def _block(layer: Any) -> Block:
    attention, mlp = layer.self_attn, layer.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    biases = [projection.bias for projection in projections]
    return Block(
        source=layer,
        qkv=torch.cat([projection.weight.detach() for projection in projections]),
        qkv_bias=None if biases[0] is None else torch.cat([bias.detach() for bias in biases]),
        gate_up=torch.cat((mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach())),
    )


def _norm(module: Any, hidden: Tensor) -> Tensor:
    if hidden.dtype == torch.float32:  # other dtypes round in the module's own order
        return F.rms_norm(hidden, hidden.shape[-1:], module.weight, module.variance_epsilon)
    normed: Tensor = module(hidden)
    return normed


def _recognised(model: Any) -> bool:
    if type(model).__name__ not in FAMILIES or type(model).__module__.split(".")[0] != "transformers":
        return False
    config, layers = model.config, model.model.layers
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    linears = [module for layer in layers for module in layer.modules() if hasattr(module, "in_features")]
    return (
        config._attn_implementation == "sdpa"
        and config.hidden_act == "silu"
        and rope in STATIC_ROTARY
        and all(type(module) is nn.Linear for module in linears)
        and not getattr(layers[0].mlp.gate_proj, "bias", None) is not None
        and 2 * sum(module.weight.nbytes for module in linears) // 3 < FUSED_BYTES
        and len({parameter.device for parameter in model.parameters()}) == 1
        and not _hooked(model)
    )


def _hooked(model: Any) -> bool:
    return any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def _signature(model: Any) -> tuple[tuple[int, int], ...]:
    """Changes with every in-place edit, move or replacement of a weight."""
    return tuple((parameter.data_ptr(), _version(parameter)) for parameter in model.parameters())


def _version(parameter: Tensor) -> int:
    return 0 if parameter.is_inference() else parameter._version
