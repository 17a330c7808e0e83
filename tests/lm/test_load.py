"""Loading: what works, and one clear error for everything that does not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTModel,
)
from transformers.utils import logging as transformers_logging

import phrasekit as pk
from phrasekit import demo
from phrasekit.errors import TokenizerMismatchError, UnsupportedModelError
from phrasekit.lm import load_model, load_pair
from phrasekit.lm.load import quiet
from tests import models
from tests.models import PROMPT

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def tiny(vocabulary: int = 4096, seed: int = 0, **changes) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, initializer_range=0.4, **sizes, **changes))


def save(model, folder: Path, *, tokenizer: bool = True) -> Path:
    model.save_pretrained(folder)
    if tokenizer:
        for name in TOKENIZER_FILES:
            shutil.copy(demo.FOLDER / "target" / name, folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """Folders that load: a target, a draft, one with more rows than tokens."""
    home = tmp_path_factory.mktemp("models")
    save(tiny(), home / "target")
    save(tiny(seed=1), home / "draft")
    save(tiny(4224, seed=2), home / "padded")
    return home


@pytest.fixture
def copy(home, tmp_path) -> Path:
    """A target folder to damage."""
    return Path(shutil.copytree(home / "target", tmp_path / "copy"))


@pytest.fixture(scope="module")
def embedded() -> pk.Pair:
    return load_pair()


def test_the_embedded_pair(embedded):
    assert embedded.target.vocabulary == embedded.draft.vocabulary == len(embedded.tokenizer)
    assert embedded.target.adapter.dtype == torch.float32, "half-precision files, single-precision arithmetic"
    assert embedded.eos == {embedded.tokenizer.eos_token_id}
    assert embedded.smaller is None
    assert embedded.encode("def f(x):")


@pytest.mark.parametrize("as_text", [str, Path], ids=["str", "Path"])
def test_folders(home, as_text):
    pair = load_pair(as_text(home / "target"), as_text(home / "draft"), smaller=as_text(home / "padded"))
    assert pair.target.name == "target"
    assert (pair.draft.vocabulary, pair.smaller.vocabulary) == (4096, 4096)
    run = pk.generate(pair, "import os", method="cascade", max_new_tokens=12)
    assert run.tokens == models.greedy(pair.target.model, pair.encode("import os"), 12)


@pytest.mark.parametrize(
    ("target", "draft"), [("padded", "draft"), ("target", "padded"), ("padded", "padded")]
)
@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_padded_vocabularies_of_different_size_work(home, target, draft, temperature):
    """Qwen2.5: 151,936 rows against 152,064 for one tokenizer; vllm#10913, Qwen3#326."""
    pair = load_pair(home / target, home / draft)
    size = len(pair.tokenizer)
    runs = [
        pk.generate(pair, "import os", method=method, max_new_tokens=40, temperature=temperature).tokens
        for method in ("vanilla", "ouroboros", "speculative")
    ]
    assert runs[0] == runs[1] == runs[2]
    assert max(runs[0]) < size


def test_models_in_memory_need_no_tokenizer():
    made = models.build("llama")
    pair = load_pair(made, models.noisy(made, 0.03))
    assert pair.tokenizer is None
    assert pk.generate(pair, PROMPT, max_new_tokens=20).tokens == models.greedy(made, PROMPT, 20)
    with pytest.raises(ValueError, match="tokenizer.*token ids"):
        pk.generate(pair, "text")
    with pytest.raises(ValueError, match=r"(?i)stop.*tokenizer"):
        pk.generate(pair, PROMPT, stop="x")
    with pytest.raises(ValueError, match=r"chat template"):
        pk.generate(pair, [{"role": "user", "content": "x"}])


@pytest.mark.parametrize(
    "place", ["/nowhere/at/all", "./nowhere", "~/nowhere-at-all", Path("nowhere"), "a/b/c"]
)
def test_a_folder_that_is_not_there(home, place):
    for arguments in ((place,), (home / "target", place), (home / "target", home / "draft", place)):
        with pytest.raises(FileNotFoundError, match="nowhere|a/b/c"):
            load_pair(*arguments[:2], smaller=arguments[2] if len(arguments) > 2 else None)


def test_a_gguf_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r"GGUF.*nothing\.gguf"):
        load_pair("nothing.gguf")


def test_a_draft_alone_is_no_pair(home):
    with pytest.raises(ValueError, match="draft needs a target"):
        load_pair(None, home / "draft")


def encoder_decoder(folder: Path) -> None:
    save(
        T5ForConditionalGeneration(
            T5Config(vocab_size=4096, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
        ),
        folder,
    )


def pictures(folder: Path) -> None:
    save(
        ViTModel(
            ViTConfig(
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                image_size=32,
            )
        ),
        folder,
    )


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def listed_config(folder: Path) -> None:
    (folder / "config.json").write_text("[1, 2]")


def unknown_type(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-model"}))


def no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def pickled_weights(folder: Path) -> None:
    """Loading it could run anything."""
    (folder / "model.safetensors").unlink()
    torch.save(tiny().state_dict(), folder / "pytorch_model.bin")


def cut_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def garbage_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)


def other_shapes(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 32}))


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def no_tokenizer(folder: Path) -> None:
    for name in TOKENIZER_FILES:
        (folder / name).unlink()


DAMAGES = (
    encoder_decoder,
    pictures,
    no_config,
    broken_config,
    listed_config,
    unknown_type,
    no_weights,
    pickled_weights,
    cut_weights,
    garbage_weights,
    other_shapes,
    broken_tokenizer,
    no_tokenizer,
)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("role", ["target", "draft"])
def test_a_folder_that_holds_something_else(damage, role, copy, home):
    """One error, which names the folder."""
    damage(copy)
    sources = (copy, None) if role == "target" else (home / "target", copy)
    with pytest.raises(ValueError, match=r"copy|T5ForConditionalGeneration") as raised:
        load_pair(*sources)
    assert len(str(raised.value)) < 600


def test_code_of_a_repository_is_not_run_unless_asked_for(copy):
    """vLLM CVE-2026-4944, CVE-2026-22807: a flag that did not reach every loader."""
    marker = copy / "ran"
    (copy / "mine.py").write_text(
        f"open({str(marker)!r}, 'w').close()\nclass Config: pass\nclass Model: pass\n"
    )
    config = json.loads((copy / "config.json").read_text())
    mine = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model", "AutoTokenizer": "mine.Model"}
    (copy / "config.json").write_text(json.dumps({**config, "model_type": "mine", "auto_map": mine}))
    with pytest.raises(ValueError, match="copy"):
        load_pair(copy)
    assert not marker.exists()


# --- tokenizers -------------------------------------------------------------------------------------


def test_another_tokenizer_is_refused_and_both_are_named(home, tmp_path):
    folder = save(tiny(64), tmp_path / "words", tokenizer=False)
    words = Tokenizer(WordLevel({f"w{i}": i for i in range(64)}, unk_token="w0"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    with pytest.raises(TokenizerMismatchError, match=r"words.*target"):
        load_pair(home / "target", folder)
    assert issubclass(TokenizerMismatchError, ValueError)


def test_a_tokenizer_with_another_end_token_is_another(home, tmp_path):
    folder = Path(shutil.copytree(home / "draft", tmp_path / "other"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "eos_token": "a"}))
    with pytest.raises(TokenizerMismatchError, match="other"):
        load_pair(home / "target", folder)


def test_a_tokenizer_given_by_hand_stands_for_all(home, tmp_path, embedded):
    folder = save(tiny(), tmp_path / "bare", tokenizer=False)
    pair = load_pair(folder, home / "draft", tokenizer=embedded.tokenizer)
    assert pair.tokenizer is embedded.tokenizer


@pytest.mark.parametrize(
    ("generation", "config", "due"),
    [([7, 9], 3, {7, 9}), (5, None, {5}), (None, [3, 4], {3, 4}), (None, 3, {3}), (None, None, {0})],
)
def test_every_end_token_is_found(home, tmp_path, generation, config, due):
    """Llama 3 and Qwen list several in the generation config only (ipex-llm PR#9963, lorax PR#456)."""
    made = tiny(eos_token_id=config)
    made.generation_config.eos_token_id = generation
    pair = load_pair(save(made, tmp_path / "ends"))
    assert pair.eos == due
    assert load_pair(made).eos == (due if due != {0} else frozenset())


# --- options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", torch.float16, "auto", None])
def test_dtypes(home, dtype):
    due = {"float64": torch.float64, "bfloat16": torch.bfloat16, torch.float16: torch.float16}
    model = load_model(home / "target", dtype=dtype)
    assert model.adapter.dtype == due.get(dtype, torch.float32)


@pytest.mark.parametrize("dtype", ["int8", "float99", "nn", "", 5, "Tensor", "bool"])
def test_a_bad_dtype_is_refused_by_name(home, dtype):
    with pytest.raises((TypeError, ValueError), match=rf"dtype.*{re.escape(repr(dtype))}"):
        load_pair(home / "target", dtype=dtype)


@pytest.mark.parametrize(
    "device", ["tpu?", "", "cpu:x", "cuda" if not torch.cuda.is_available() else "cuda:99", None, 1.5]
)
def test_a_bad_device_is_refused_by_name(home, device):
    with pytest.raises((TypeError, ValueError), match="device"):
        load_pair(home / "target", device=device)


@pytest.mark.parametrize("attention", ["flash_attention_2", "flex_attention", "", None, 3])
def test_a_bad_attention_is_refused_by_name(home, attention):
    with pytest.raises((TypeError, ValueError), match="attention must be one of sdpa, eager"):
        load_pair(home / "target", attention=attention)


def test_eager_attention_is_as_good(home):
    eager, sdpa = (load_pair(home / "target", attention=name, dtype="float64") for name in ("eager", "sdpa"))
    assert eager.target.adapter.config._attn_implementation == "eager"
    tokens = [
        pk.generate(pair, "import os", method="lookahead", max_new_tokens=30).tokens for pair in (eager, sdpa)
    ]
    assert tokens[0] == tokens[1]


def test_what_is_no_source_is_refused():
    for source in (5, object(), torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="hub name"):
            load_pair(source)


def test_unsupported_is_a_value_error():
    assert issubclass(UnsupportedModelError, ValueError)


class Chatty:
    """A tokenizer with a chat template, as far as a pair needs it."""

    chat_template = "{{ messages }}"

    def decode(self, ids, **options):
        return " ".join(map(str, ids))

    def apply_chat_template(self, messages, *, add_generation_prompt, return_dict):
        assert add_generation_prompt
        return {"input_ids": [len(message["content"]) for message in messages]}


def test_a_conversation_goes_through_the_chat_template():
    pair = pk.Pair(target=models.target("llama"), tokenizer=Chatty())
    assert pair.encode_chat([{"role": "user", "content": "abc"}]) == [3]
    run = pk.generate(pair, [{"role": "user", "content": "abc"}], method="vanilla", max_new_tokens=1)
    assert run.trace.prompt == (3,)


def test_a_conversation_needs_a_template(embedded):
    with pytest.raises(ValueError, match="chat template"):
        embedded.encode_chat([{"role": "user", "content": "a"}])
    with pytest.raises(ValueError, match="needs a tokenizer"):
        pk.Pair(target=models.target("llama")).encode("a")


def test_a_command_line_can_have_transformers_quiet():
    before = transformers_logging.get_verbosity()
    try:
        quiet()
        assert transformers_logging.get_verbosity() == transformers_logging.ERROR
        assert not transformers_logging.is_progress_bar_enabled()
    finally:
        transformers_logging.set_verbosity(before)
        transformers_logging.enable_progress_bar()
