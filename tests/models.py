"""Models for tests, made on the spot: tiny random transformers, and one that follows a script.

The transformers run in float64 with sdpa, where one-row and many-row forwards agree to 1e-13, so that
token equality needs no tolerance. Weights are large (0.4 instead of 0.02): the output of small random
weights falls into a loop after a few tokens, and a loop hides bugs in positions and caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from phrasekit.lm import LanguageModel, Pair

VOCABULARY = 96
CONTEXT = 512
WINDOW = 16  # of sliding layers: smaller than `PROMPT`
PROMPT = tuple((7 * i + i * i // 3) % VOCABULARY for i in range(24))
SCALE = 0.4

_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": CONTEXT,
    "initializer_range": SCALE,
    "tie_word_embeddings": False,
    "attn_implementation": "sdpa",
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}


def llama(**changes) -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**{**_SIZES, "num_key_value_heads": 2, **changes}))


def qwen3(**changes) -> PreTrainedModel:
    return Qwen3ForCausalLM(Qwen3Config(**{**_SIZES, "num_key_value_heads": 2, "head_dim": 8, **changes}))


def gemma3(**changes) -> PreTrainedModel:
    """Full and sliding layers mixed."""
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    mixed = {"num_hidden_layers": 3, "layer_types": kinds, "sliding_window": WINDOW}
    sizes = {**_SIZES, **mixed, "num_key_value_heads": 2, "head_dim": 8, "query_pre_attn_scalar": 8}
    return Gemma3ForCausalLM(Gemma3TextConfig(**{**sizes, **changes}))


def mistral(**changes) -> PreTrainedModel:
    """Every layer sliding."""
    sizes = {**_SIZES, "num_key_value_heads": 2, "sliding_window": WINDOW}
    return MistralForCausalLM(MistralConfig(**{**sizes, **changes}))


def gpt2(**changes) -> PreTrainedModel:
    """Learned absolute positions: a row beyond the context is an error, not a worse guess."""
    names = {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
    }
    sizes = {names.get(name, name): value for name, value in {**_SIZES, **changes}.items()}
    del sizes["intermediate_size"]
    return GPT2LMHeadModel(GPT2Config(**sizes))


def neox(**changes) -> PreTrainedModel:
    """Partial rotary positions, attention beside the feed-forward layer."""
    return GPTNeoXForCausalLM(GPTNeoXConfig(**{**_SIZES, **changes}))


FAMILIES: dict[str, Callable[..., PreTrainedModel]] = {
    "llama": llama,
    "qwen3": qwen3,
    "gemma3": gemma3,
    "mistral": mistral,
    "gpt2": gpt2,
    "neox": neox,
}
# How much noise on the weights makes a draft agree with its target at about 0.7 of positions.
NOISE = {"llama": 0.03, "qwen3": 0.06, "gemma3": 0.07, "mistral": 0.035, "gpt2": 0.04, "neox": 0.06}


def build(family: str, seed: int = 0, **changes) -> PreTrainedModel:
    """A new model of random weights, float64."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return FAMILIES[family](**changes).double().eval()


def noisy(model: PreTrainedModel, noise: float, seed: int = 1) -> PreTrainedModel:
    """A copy with noise on every weight, as large as `noise` times the weight's own spread."""
    copy = type(model)(model.config).to(model.dtype).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for new, old in zip(copy.parameters(), model.parameters(), strict=True):
            random = torch.randn(old.shape, generator=generator, dtype=old.dtype)
            spread = old.std() if old.numel() > 1 else old.new_zeros(())
            new.copy_(old + noise * spread * random)
    return copy


@lru_cache(maxsize=32)
def target(family: str) -> LanguageModel:
    return LanguageModel(build(family), name=f"tiny-{family}")


@lru_cache(maxsize=32)
def draft(family: str, kind: str) -> LanguageModel:
    """`kind`: "noisy" agrees often, "other" hardly ever, "same" always."""
    if kind == "noisy":
        return LanguageModel(noisy(target(family).model, NOISE[family]), name=f"noisy-{family}")
    if kind == "other":
        return LanguageModel(build(family, seed=99), name=f"other-{family}")
    return target(family)


@lru_cache(maxsize=32)
def pair_of(family: str, kind: str = "noisy", eos: frozenset[int] = frozenset()) -> Pair:
    return Pair(target=target(family), draft=draft(family, kind), eos=eos)


@lru_cache(maxsize=256)
def generated(family: str, count: int, prompt: tuple[int, ...] = PROMPT) -> tuple[int, ...]:
    """What transformers' own greedy `generate` says."""
    return greedy(target(family).model, prompt, count)


def until(tokens: tuple[int, ...], end: int) -> tuple[int, ...]:
    """The tokens up to and including the first `end`."""
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


def greedy(
    model: PreTrainedModel, prompt: Sequence[int], count: int, eos: int | None = None
) -> tuple[int, ...]:
    ids = torch.tensor([list(prompt)])
    found = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=count,
        do_sample=False,
        eos_token_id=eos,
        pad_token_id=0,
    )
    return tuple(found[0, len(prompt) :].tolist())


class ScriptedModel:
    """Stands in for a `LanguageModel`: the next token is `script(prefix)`, in no time and on no tensors.

    Its session holds tokens where a real one holds keys and values, and is strict about the contract:
    what it says depends only on the rows that were kept, never on what the decoder believes.

    Args:
        script: the next token, or None for a row of NaN.
        vocabulary: size of the rows of logits.
        context: longest sequence.
    """

    def __init__(
        self,
        script: Callable[[tuple[int, ...]], int | None],
        *,
        vocabulary: int = 16,
        context: int | None = None,
    ) -> None:
        self.script = script
        self.vocabulary = vocabulary
        self.context = context
        self.name = "scripted"
        self.device = torch.device("cpu")
        self.device = torch.device("cpu")
        self.weights = 1
        self.forwards: list[int] = []  # rows of every forward
        self.sessions: list[ScriptedSession] = []

    def session(self, capacity: int) -> ScriptedSession:
        self.sessions.append(ScriptedSession(self))
        return self.sessions[-1]


class ScriptedSession:
    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.kept: list[int] = []
        self._rows: list[int] = []

    @property
    def length(self) -> int:
        return len(self.kept)

    def prefill(self, tokens: Sequence[int]) -> None:
        self.kept += tokens

    def forward(self, pending, tokens, parents, *, rows=None) -> Tensor:
        assert len(pending) > 0, "a forward needs the root"
        assert all(-1 <= parent < node for node, parent in enumerate(parents)), "parents come first"
        assert len(tokens) == len(parents)
        if self.model.context is not None:
            deepest = (
                len(self.kept) + len(pending) - 1 + max(map(depth_by(parents), range(len(tokens))), default=0)
            )
            assert deepest < self.model.context, "a row beyond the context"
        self._rows = [*pending, *tokens]
        self.model.forwards.append(len(self._rows))
        wanted = range(1 + len(tokens)) if rows is None else rows
        logits = torch.zeros(len(wanted), self.model.vocabulary)
        for place, row in enumerate(wanted):
            said = self.model.script((*self.kept, *pending, *self._path(row - 1, tokens, parents)))
            if said is None:
                logits[place] = torch.nan
            else:
                logits[place, said] = 9.0
        return logits

    def commit(self, pending: int, path: Sequence[int]) -> None:
        self.kept += [*self._rows[:pending], *(self._rows[pending + node] for node in path)]

    def crop(self, length: int) -> None:
        assert 0 <= length <= len(self.kept)
        del self.kept[length:]

    @staticmethod
    def _path(node: int, tokens: Sequence[int], parents: Sequence[int]) -> tuple[int, ...]:
        found: tuple[int, ...] = ()
        while node >= 0:
            found, node = (tokens[node], *found), parents[node]
        return found


def depth_by(parents: Sequence[int]) -> Callable[[int], int]:
    """Depth by walking up; a child of the root has depth 1."""

    def depth(node: int) -> int:
        steps = 0
        while node >= 0:
            node, steps = parents[node], steps + 1
        return steps

    return depth


def mixing(modulus: int, order: int = 2, salt: int = 0) -> Callable[[tuple[int, ...]], int]:
    """A script whose next token depends on the last `order` tokens and nothing else."""

    def script(prefix: tuple[int, ...]) -> int:
        state = salt
        for token in prefix[-order:]:
            state = (state * 31 + token * 7 + 3) % 1009
        return state % modulus

    return script


def follow(script: Callable[[tuple[int, ...]], int], prompt: Sequence[int], count: int) -> tuple[int, ...]:
    """Plain decoding of a script."""
    text = list(prompt)
    for _ in range(count):
        text.append(script(tuple(text)))
    return tuple(text[len(prompt) :])
