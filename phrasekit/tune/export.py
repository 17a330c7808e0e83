"""A setting for use elsewhere: Python, YAML, a command line, and what transformers and vLLM have like it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phrasekit.bench.standings import PLAIN
from phrasekit.decode import Knobs
from phrasekit.methods import METHODS, named


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What to decode with.

    Attributes:
        method: name of the method.
        knobs: every knob, or those that matter; what is missing takes its default.
        target: hub name, folder or GGUF file; None is the embedded pair.
        draft: the same for the draft model.
        device: such as "cuda".
        dtype: such as "bfloat16"; None leaves it to the loader.
        max_new_tokens: limit.
        sampling: fields of `phrasekit.decode.Sampling` that are not at their defaults.

    Raises:
        ValueError: an unknown method or knob, or a knob outside its bounds.
    """

    method: str
    knobs: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    draft: str | None = None
    device: str = "cpu"
    dtype: str | None = None
    max_new_tokens: int = 128
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named(self.method)
        Knobs().but(**self.knobs)

    @property
    def told(self) -> dict[str, Any]:
        """The knobs worth writing: those that the method reads and that differ from the defaults."""
        default, reads = Knobs().as_dict(), METHODS[self.method].reads
        return {
            name: value
            for name, value in self.knobs.items()
            if name in reads and (value != default[name] or name in _ALWAYS.get(self.method, ()))
        }


@dataclass(frozen=True, slots=True)
class Export:
    """A setting in another form.

    Attributes:
        name: "python", "yaml", "command", "transformers" or "vllm".
        language: for highlighting.
        text: to copy; "" where there is no equivalent.
        note: what to know about it, or why there is none.
    """

    name: str
    language: str
    text: str
    note: str = ""

    @property
    def exists(self) -> bool:
        """Whether there is an equivalent."""
        return bool(self.text)


# Knobs that say what a method does even where they are at their default.
_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "speculative": ("gamma",),
    "prompt_lookup": ("lookup", "lookup_ngram"),
    "lookahead": ("window", "level", "guesses"),
    "cascade": ("gamma", "lookup"),
    "ouroboros": ("gamma", "window", "level", "guesses", "suffixes", "beta"),
    "hybrid": ("gamma", "guesses", "suffixes", "beta", "lookup", "lookup_ngram"),
}
_SHARED = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")  # the same in transformers
_PROMPT = "def fibonacci(n):"  # to be replaced by the reader's own
_NO_EQUIVALENT = "{} has no equivalent of {}: {}."
_WHY = "it takes drafts from a model or from the prompt, not from phrases that outlive them"


def exports(setting: Setting) -> tuple[Export, ...]:
    """The setting in every form, always in the same order."""
    return (
        as_python(setting),
        as_yaml(setting),
        as_command(setting),
        as_transformers(setting),
        as_vllm(setting),
    )


def as_python(setting: Setting) -> Export:
    """A script that decodes with it."""
    sources = [repr(source) for source in (setting.target, setting.draft) if source is not None]
    loading = [*sources, *_loading(setting)]
    knobs = ", ".join(f"{name}={value!r}" for name, value in setting.told.items())
    lines = [
        "import phrasekit as pk",
        "",
        f"pair = pk.load_pair({', '.join(loading)})",
        f"knobs = pk.Knobs({knobs})",
        "run = pk.generate(",
        "    pair,",
        f"    {_PROMPT!r},",
        f"    method={setting.method!r},",
        "    knobs=knobs,",
        f"    max_new_tokens={setting.max_new_tokens},",
        *[f"    {name}={value!r}," for name, value in setting.sampling.items()],
        ")",
        "print(run.text)",
    ]
    return Export("python", "python", "\n".join(lines) + "\n")


def as_yaml(setting: Setting) -> Export:
    """Every value by name; JSON scalars, which YAML reads alike."""
    lines = [f"method: {_scalar(setting.method)}", *_block("knobs", setting.told)]
    models = {
        "target": setting.target,
        "draft": setting.draft,
        "device": setting.device,
        "dtype": setting.dtype,
    }
    lines += _block("models", models)
    lines.append(f"max_new_tokens: {setting.max_new_tokens}")
    if setting.sampling:
        lines += _block("sampling", setting.sampling)
    return Export("yaml", "yaml", "\n".join(lines) + "\n", "null for target and draft is the embedded pair.")


def as_command(setting: Setting) -> Export:
    """A call of `phrasekit generate`."""
    words = ["phrasekit", "generate", "PROMPT", "--method", setting.method]
    for name, value in setting.told.items():
        words += _flag(name, value)
    for name, source in (("target", setting.target), ("draft", setting.draft), ("dtype", setting.dtype)):
        words += [] if source is None else _flag(name, source)
    words += [] if setting.device == "cpu" else _flag("device", setting.device)
    words += _flag("max_new_tokens", setting.max_new_tokens)
    for name, value in setting.sampling.items():
        words += _flag(name, value)
    return Export("command", "sh", shlex.join(words) + "\n")


def as_transformers(setting: Setting) -> Export:
    """Options of transformers' `generate`."""
    options: dict[str, str] = {
        "max_new_tokens": str(setting.max_new_tokens),
        **_transformers_sampling(setting),
    }
    before: list[str] = []
    if setting.method == "speculative":
        options["assistant_model"] = "assistant"
        gamma = int(setting.knobs.get("gamma", Knobs().gamma))
        before = [
            "# the draft's own generation config counts; with confidence 0 every draft is as long as asked",
            f"assistant.generation_config.num_assistant_tokens = {gamma}",
            'assistant.generation_config.num_assistant_tokens_schedule = "constant"',
            "assistant.generation_config.assistant_confidence_threshold = 0.0",
        ]
        note = "assistant is the draft model, loaded with AutoModelForCausalLM."
    elif setting.method == "prompt_lookup":
        options["prompt_lookup_num_tokens"] = str(setting.knobs.get("lookup", Knobs().lookup))
        options["max_matching_ngram_size"] = str(setting.knobs.get("lookup_ngram", Knobs().lookup_ngram))
        note = ""
    elif setting.method == PLAIN:
        note = "Plain decoding is what generate does without further options."
    else:
        return Export(
            "transformers", "python", "", _NO_EQUIVALENT.format("transformers", setting.method, _WHY)
        )
    arguments = ", ".join(f"{name}={value}" for name, value in options.items())
    text = "\n".join([*before, f"output = model.generate(**inputs, {arguments})"]) + "\n"
    return Export("transformers", "python", text, note)


def as_vllm(setting: Setting) -> Export:
    """The speculative config of vLLM."""
    knobs = {**Knobs().as_dict(), **setting.knobs}
    if setting.method == "speculative":
        config: dict[str, object] = {
            "method": "draft_model",
            "model": setting.draft or "path/to/draft",
            "num_speculative_tokens": knobs["gamma"],
        }
        note = "" if setting.draft else "Put the folder of the draft model in."
    elif setting.method == "prompt_lookup":
        config = {
            "method": "ngram",
            "num_speculative_tokens": knobs["lookup"],
            "prompt_lookup_max": knobs["lookup_ngram"],
            "prompt_lookup_min": 1,
        }
        note = ""
    elif setting.method == PLAIN:
        return Export("vllm", "sh", "", "Plain decoding needs no speculative config; leave it out.")
    else:
        return Export("vllm", "sh", "", _NO_EQUIVALENT.format("vLLM", setting.method, _WHY))
    if not config["num_speculative_tokens"]:
        return Export("vllm", "sh", "", "vLLM drafts at least one token; leave its speculative config out.")
    words = ["vllm", "serve", setting.target or "path/to/target", "--speculative-config", json.dumps(config)]
    return Export("vllm", "sh", shlex.join(words) + "\n", note)


def _loading(setting: Setting) -> list[str]:
    given = {"device": None if setting.device == "cpu" else setting.device, "dtype": setting.dtype}
    return [f"{name}={value!r}" for name, value in given.items() if value is not None]


def _transformers_sampling(setting: Setting) -> dict[str, str]:
    given = setting.sampling
    if not given.get("temperature"):
        return {"do_sample": "False"}
    # without top_k transformers would take 50
    return {"do_sample": "True", "top_k": "0"} | {
        name: repr(given[name]) for name in _SHARED if name in given
    }


def _flag(name: str, value: object) -> list[str]:
    dashed = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{dashed}" if value else f"--no-{dashed}"]
    return [f"--{dashed}", str(value)]


def _block(name: str, values: Mapping[str, Any]) -> list[str]:
    if not values:
        return [f"{name}: {{}}"]
    return [f"{name}:", *(f"  {key}: {_scalar(value)}" for key, value in values.items())]


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
