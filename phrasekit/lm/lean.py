"""The same forward with less around it, for the Llama-shaped families.

A decode step of a small model spends most of its time in Python and in small kernels. Where a model
is exactly what this file expects (class, plain linear layers, static rotary embedding, no hooks),
its weights are run directly: query, key and value in one product, gate and up in one, one rotation
for query and key. The start-up probe compares the result with the model's own forward; whatever is
not recognised runs through transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from phrasekit.lm.cache import TreeCache

FAMILIES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
STATIC_ROTARY = ("default", "linear", "llama3", "yarn")
FUSED_BYTES = 1 << 28  # fused copies of the weights only while they stay under this


Norm = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Block:
    """One layer, ready to multiply: looking a weight up in its module costs as much as a small kernel.

    Attributes:
        before_attention: norm.
        qkv: weight and bias of query, key and value in one, a fused copy.
        heads_norm: norms of query and key, where the family has them.
        out: weight and bias behind the attention.
        window: positions the layer sees, 0 for all.
        before_mlp: norm.
        gate_up: weight of gate and up in one, a fused copy.
        down: weight and bias behind the activation.
    """

    before_attention: Norm
    qkv: tuple[Tensor, Tensor | None]
    heads_norm: tuple[Norm, Norm] | None
    out: tuple[Tensor, Tensor | None]
    window: int
    before_mlp: Norm
    gate_up: Tensor
    down: tuple[Tensor, Tensor | None]


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
        self._parts = _parts(model)
        self.blocks = [_block(layer) for layer in model.model.layers]
        self._embedding = model.model.embed_tokens.weight
        self._last_norm = _norm(model.model.norm)
        self._head = model.lm_head.weight
        self._rotary: Tensor | None = None  # a row a position: cosine and signed sine

    @classmethod
    def recognise(cls, model: Any) -> LeanForward | None:
        """A lean forward for `model`, or None."""
        return cls(model) if _recognised(model) else None

    def stale(self) -> bool:
        """Whether the model's weights, place or hooks have changed since this was made."""
        return not all(part.intact() for part in self._parts)

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
        hidden = F.embedding(ids, self._embedding)
        cos, sin = self._rotation(positions, cache.length + len(ids))
        only = next(iter(masks.values())) if len(masks) == 1 else None
        for block, layer in zip(self.blocks, cache.layers, strict=True):
            mask = only if len(masks) == 1 else masks[block.window]
            hidden = hidden + self._attend(block, block.before_attention(hidden), cos, sin, mask, layer)
            gate, up = F.linear(block.before_mlp(hidden), block.gate_up).chunk(2, dim=-1)
            hidden = hidden + F.linear(F.silu(gate) * up, *block.down)
        return self._last_norm(hidden)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of these rows."""
        return F.linear(hidden, self._head)

    def _attend(
        self, block: Block, hidden: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, layer: Any
    ) -> Tensor:
        heads = self.heads
        mixed = F.linear(hidden, *block.qkv).view(hidden.shape[0], -1, self.head_dim).transpose(0, 1)
        turning, values = mixed[: heads + self.key_heads], mixed[heads + self.key_heads :]
        if block.heads_norm is not None:
            query_norm, key_norm = block.heads_norm
            turning = torch.cat((query_norm(turning[:heads]), key_norm(turning[heads:])))
        # rotate-half: the sine table carries the sign, so that a roll is enough
        turned = torch.addcmul(turning * cos, turning.roll(self.head_dim // 2, -1), sin)
        keys, seen = layer.update(turned[None, heads:], values[None])
        mixed = F.scaled_dot_product_attention(
            turned[None, :heads],
            keys,
            seen,
            attn_mask=mask,
            scale=self.scaling,
            enable_gqa=heads != self.key_heads,
        )
        return F.linear(mixed[0].transpose(0, 1).flatten(1), *block.out)

    def _rotation(self, positions: Tensor, reach: int) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine `[rows, head_dim]` from a table that grows by doubling."""
        weight = self._embedding
        deepest = max(
            reach, int(self.model.config.max_position_embeddings or 0) if self._rotary is None else 0
        )
        if self._rotary is None or self._rotary.shape[0] < reach:
            every = torch.arange(2 * deepest, device=weight.device)[None]
            cos, sin = self.model.model.rotary_emb(weight[:1], every)
            sign = torch.ones_like(sin[0, 0])
            sign[: self.head_dim // 2] = -1
            self._rotary = torch.cat((cos[0], sin[0] * sign), dim=-1)
        cosine, sine = F.embedding(positions, self._rotary).chunk(2, dim=-1)
        return cosine, sine


def _block(layer: Any) -> Block:
    attention, mlp = layer.self_attn, layer.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    biases = [projection.bias for projection in projections]
    bias = None if biases[0] is None else torch.cat([one.detach() for one in biases])
    return Block(
        before_attention=_norm(layer.input_layernorm),
        qkv=(torch.cat([projection.weight.detach() for projection in projections]), bias),
        heads_norm=(_norm(attention.q_norm), _norm(attention.k_norm))
        if hasattr(attention, "q_norm")
        else None,
        out=(attention.o_proj.weight, attention.o_proj.bias),
        window=int(getattr(attention, "sliding_window", None) or 0),
        before_mlp=_norm(layer.post_attention_layernorm),
        gate_up=torch.cat((mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach())),
        down=(mlp.down_proj.weight, mlp.down_proj.bias),
    )


def _norm(module: Any) -> Norm:
    """One kernel in float32; other dtypes round in the module's own order."""
    weight, epsilon = module.weight, module.variance_epsilon
    if weight.dtype != torch.float32:
        return cast(Norm, module)
    shape = list(weight.shape)
    return lambda hidden: torch.rms_norm(hidden, shape, weight, epsilon)


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
    return any(_surrounded(module) for module in model.modules())


def _surrounded(module: nn.Module) -> bool:
    """Whether something runs around a module: torch's hooks, or a forward of its own as accelerate sets."""
    return bool(module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))


@dataclass(frozen=True, slots=True)
class Part:
    """A module as it was: walking a model anew for every sequence takes five times as long.

    Attributes:
        module: which.
        children: its own modules.
        weights: its own parameters, where their numbers lay and how often they had been edited.
    """

    module: nn.Module
    children: list[nn.Module | None]
    weights: list[tuple[int, int, int]]

    def intact(self) -> bool:
        """Whether nothing was hooked, replaced, moved or edited in place."""
        module = self.module
        return (
            not _surrounded(module)
            and list(module._modules.values()) == self.children
            and _weights(module) == self.weights
        )


def _parts(model: nn.Module) -> list[Part]:
    return [Part(module, list(module._modules.values()), _weights(module)) for module in model.modules()]


def _weights(module: nn.Module) -> list[tuple[int, int, int]]:
    return [
        (id(weight), weight.data_ptr(), _version(weight))
        for weight in module._parameters.values()
        if weight is not None
    ]


def _version(parameter: Tensor) -> int:
    return 0 if parameter.is_inference() else parameter._version
