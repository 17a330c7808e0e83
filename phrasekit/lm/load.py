"""Load target and draft: hub names, local folders, GGUF files, or models already in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging as transformers_logging

from phrasekit import demo
from phrasekit.errors import TokenizerMismatchError
from phrasekit.lm.adapter import EXACT_ATTENTION
from phrasekit.lm.fingerprint import fingerprint
from phrasekit.lm.model import LanguageModel
from phrasekit.lm.progress import PROBE, TOKENIZER, WAIT, counted, tell

Source: TypeAlias = str | Path | PreTrainedModel
# What transformers and safetensors raise for files that are missing, damaged or something else.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError)
_BUILDING = Lock()


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A target, the draft models that work for it, and the tokenizer they share.

    Attributes:
        target: the model whose text it is.
        draft: proposes for the target; None for methods that need none.
        smaller: proposes for the draft (method "cascade"); None lets a lookup do it.
        tokenizer: shared by all; None when models were given without one: prompts are ids then.
        eos: end tokens of the target.
        defaults: tuned knobs by method, as plain values.
    """

    target: LanguageModel
    draft: LanguageModel | None = None
    smaller: LanguageModel | None = None
    tokenizer: Any = None
    eos: frozenset[int] = frozenset()
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """Tells pool files whose ids mean something else; see `phrasekit.lm.fingerprint`."""
        return fingerprint(self.tokenizer, self.target.vocabulary)

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a text, with the special tokens the tokenizer puts in front.

        Raises:
            ValueError: the pair has no tokenizer.
        """
        if self.tokenizer is None:
            raise ValueError(
                "a text prompt needs a tokenizer, but this pair has none; give token ids instead"
            )
        ids: list[int] = self.tokenizer(prompt)["input_ids"]
        return ids

    def encode_chat(self, messages: list[dict[str, str]]) -> list[int]:
        """Token ids of a conversation through the tokenizer's chat template.

        Raises:
            ValueError: the tokenizer has no chat template.
        """
        if getattr(self.tokenizer, "chat_template", None) is None:
            raise ValueError(
                "a conversation needs a tokenizer with a chat template, but this one has none; "
                "give a plain prompt"
            )
        encoded = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
        ids: list[int] = encoded["input_ids"]
        return ids


def load_pair(
    target: Source | None = None,
    draft: Source | None = None,
    *,
    smaller: Source | None = None,
    tokenizer: Any = None,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype | None = None,
    attention: str = "sdpa",
    trust_remote_code: bool = False,
) -> Pair:
    """Load models that decode together; without arguments the embedded pair.

    How far it has come is told to `phrasekit.lm.progress.watched`.

    Args:
        target: hub name, folder, GGUF file or loaded model.
        draft: the same, sharing the target's tokenizer; None for methods without a draft model.
        smaller: a second draft model for "cascade".
        tokenizer: the shared tokenizer, where it does not lie with the models.
        device: where the models go, for example "cuda"; loaded models stay where they are.
        dtype: for example "bfloat16"; None is float32 on a CPU and the checkpoint's own elsewhere.
        attention: "sdpa" or "eager", the implementations that take a tree's mask.
        trust_remote_code: run code that a model repository brings. Off unless you read that code.

    Raises:
        FileNotFoundError: a folder or file that does not exist.
        TypeError: a source that is neither a name, nor a path, nor a model.
        TokenizerMismatchError: draft and target have different tokenizers.
        UnsupportedModelError: a model that cannot verify trees exactly.
        ValueError: an argument outside its choices, or a source that is no causal language model.
    """
    if target is None and (draft is not None or smaller is not None):
        raise ValueError("a draft needs a target, but only a draft was given; name the target as well")
    check_device(device)
    options: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "attention": attention,
        "trust_remote_code": trust_remote_code,
    }
    defaults = {} if target is not None else demo.defaults()
    if target is None:
        target, draft = demo.FOLDER / "target", demo.FOLDER / "draft"
    sources = {"target": target, "draft": draft, "smaller": smaller}
    given = {role: source for role, source in sources.items() if source is not None}
    tokenizers = {
        role: tokenizer or load_tokenizer(source, trust_remote_code=trust_remote_code)
        for role, source in given.items()
    }
    shared = tokenizers["target"]
    for role, own in tokenizers.items():
        _check_same(own, shared, given[role], target)
    vocabulary = None if shared is None else len(shared)
    models: dict[str, LanguageModel] = {}
    for role, source in given.items():  # the target first: its vocabulary is everyone's
        models[role] = load_model(source, vocabulary=vocabulary, **options)
        vocabulary = models["target"].vocabulary
    return Pair(**models, tokenizer=shared, eos=_end_tokens(models["target"], shared), defaults=defaults)


def load_model(
    source: Source,
    *,
    vocabulary: int | None = None,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype | None = None,
    attention: str = "sdpa",
    trust_remote_code: bool = False,
) -> LanguageModel:
    """Load one model; see `load_pair` for the arguments."""
    if isinstance(source, PreTrainedModel):
        return LanguageModel(source, vocabulary=vocabulary)
    if attention not in EXACT_ATTENTION:
        raise ValueError(
            f"attention must be one of {', '.join(EXACT_ATTENTION)}, which take a tree's mask, but got "
            f"{attention!r}"
        )
    place, files = _locate(source)
    name = Path(str(source)).name
    try:
        with _alone(name), _without_bar(), counted(name) as counting:
            model = AutoModelForCausalLM.from_pretrained(
                place,
                dtype=_dtype(dtype, device),
                attn_implementation=attention,
                trust_remote_code=trust_remote_code,
                **({} if "gguf_file" in files else {"use_safetensors": True}),
                **files,
                **counting,
            )
    except UNREADABLE as error:
        raise ValueError(
            f"{source} must be a causal language model in safetensors or GGUF, but: {_brief(error)}"
        ) from error
    model = model.to(device)
    tell(name, PROBE)
    return LanguageModel(model, name=name, vocabulary=vocabulary)


def load_tokenizer(source: Source, *, trust_remote_code: bool = False) -> Any:
    """The tokenizer beside a model, or None for a model in memory without one."""
    if isinstance(source, PreTrainedModel):
        return None
    place, files = _locate(source)
    tell(Path(str(source)).name, TOKENIZER)
    try:
        return AutoTokenizer.from_pretrained(place, trust_remote_code=trust_remote_code, **files)
    except UNREADABLE as error:
        raise ValueError(f"{source} must be a model with a tokenizer, but: {_brief(error)}") from error


def _locate(source: Source) -> tuple[str, dict[str, str]]:
    """Folder or hub name, and the file inside it for GGUF."""
    if not isinstance(source, str | Path):
        raise TypeError(
            "a model must be a hub name, a folder, a GGUF file or a transformers model, but got "
            f"{source!r:.80}"
        )
    path = Path(str(source)).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise FileNotFoundError(f"a GGUF source must be a file, but {path} does not exist")
        return str(path.parent), {"gguf_file": path.name}
    looks_local = (
        isinstance(source, Path) or str(source).startswith((".", "/", "~")) or str(source).count("/") > 1
    )
    if looks_local and not path.is_dir():
        raise FileNotFoundError(f"a local model must be a folder, but {path} does not exist; check the path")
    return str(path) if path.is_dir() else str(source), {}


def _dtype(dtype: str | torch.dtype | None, device: str | torch.device) -> str | torch.dtype:
    if dtype is None:
        return torch.float32 if torch.device(device).type == "cpu" else "auto"
    if isinstance(dtype, torch.dtype) or dtype == "auto":
        return dtype
    found = getattr(torch, str(dtype), None)
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise ValueError(f"dtype must name a floating torch dtype such as 'bfloat16', but got {dtype!r}")
    return found


def check_device(device: str | torch.device) -> None:
    """Refuse a device that there is not.

    Raises:
        ValueError: no name of a device, or one that torch does not find.
    """
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise ValueError(f"device must be such as 'cpu', 'cuda' or 'cuda:1', but got {device!r}") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device {device!r} needs a CUDA build of torch and a GPU, but torch finds none; use 'cpu'"
        )


def _check_same(own: Any, shared: Any, source: Source, target: Source) -> None:
    """Same ids for the same strings; sizes may differ, since models pad their vocabularies."""
    if own is None or shared is None or own is shared:
        return
    if own.get_vocab() != shared.get_vocab() or own.eos_token_id != shared.eos_token_id:
        raise TokenizerMismatchError(
            f"draft and target must share a tokenizer, but {source} maps text to other ids than {target}; "
            "choose a draft of the same family"
        )


def _end_tokens(model: LanguageModel, tokenizer: Any) -> frozenset[int]:
    """Every end token: the generation config's, else the model config's, else the tokenizer's."""
    generation = getattr(model.model, "generation_config", None)
    for holder in (generation, model.model.config, tokenizer):
        found = getattr(holder, "eos_token_id", None)
        if found is not None:
            return frozenset([found] if isinstance(found, int) else found)
    return frozenset()


def _brief(error: Exception) -> str:
    """The beginning of a message; transformers lists every architecture it knows."""
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]} …"


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """One model at a time: it is built under settings of the process, and two would spoil each other."""
    if not _BUILDING.acquire(blocking=False):
        tell(name, WAIT)
        _BUILDING.acquire()
    try:
        yield
    finally:
        _BUILDING.release()


@contextmanager
def _without_bar() -> Iterator[None]:
    """No bar while weights are read, which in a notebook outlives its second; a download keeps its own."""
    hub = transformers_logging.hf_hub_utils
    shown, hub_shown = transformers_logging.is_progress_bar_enabled(), not hub.are_progress_bars_disabled()
    with warnings.catch_warnings():  # the hub warns where an environment variable decides
        warnings.simplefilter("ignore")
        transformers_logging.disable_progress_bar()
        if hub_shown:
            hub.enable_progress_bars()
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if shown:
                transformers_logging.enable_progress_bar()
            if not hub_shown:
                hub.disable_progress_bars()


def quiet() -> None:
    """No progress bars and notices of transformers; for a command line that has its own."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
