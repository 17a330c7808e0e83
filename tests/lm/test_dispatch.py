"""Models whose layers are dispatched over devices (transformers' `device_map`): exact, not refused.

No second device is needed for that: accelerate's hooks also stand around layers that wait on disk or in
main memory ("meta" in between), and the masks, positions and cached rows must follow them all the same.
"""

from __future__ import annotations

import pytest
import torch
from accelerate import cpu_offload, disk_offload, dispatch_model

import phrasekit as pk
from phrasekit.lm import LanguageModel
from phrasekit.lm.cache import TreeCache
from tests import models
from tests.equality import check
from tests.models import PROMPT, generated

TOKENS = 24
CPU = torch.device("cpu")


def split(model, folder) -> None:
    """Every second layer on another place, as `device_map="auto"` leaves it when memory is short."""
    parts, body = {}, model.base_model_prefix
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.ModuleList):
            parts |= {f"{name}.{i}": ("cpu", "disk")[i % 2] for i in range(len(module))}
    inner = {f"{body}.{name}" for name, _ in getattr(model, body).named_children()}
    others = inner | {name for name, _ in model.named_children()} - {body}
    parts |= {name: "cpu" for name in others if not any(part.startswith(f"{name}.") for part in parts)}
    dispatch_model(model, parts, main_device="cpu", offload_dir=folder)


def all_offloaded(model, folder) -> None:
    """The embedding too: where its weight lies says nothing about where it runs."""
    cpu_offload(model, execution_device=CPU)


def all_on_disk(model, folder) -> None:
    disk_offload(model, folder, execution_device=CPU)


def hooks_alone(model, folder) -> None:
    """Nothing moves, but every module runs inside a hook."""
    dispatch_model(model, {"": "cpu"}, force_hooks=True)


@pytest.mark.parametrize("dispatch", [split, all_offloaded, all_on_disk, hooks_alone])
def test_a_dispatched_target_is_exact(family, dispatch, tmp_path):
    made = models.build(family)
    dispatch(made, tmp_path)
    target = LanguageModel(made, name=f"tiny-{family}")
    assert target.device == CPU
    assert target.adapter.lean is None, "weights that come and go cannot be copied"
    pair = pk.Pair(target=target, draft=models.draft(family, "noisy"))
    for method in ("ouroboros", "lookahead"):
        run = pk.generate(pair, PROMPT, method=method, knobs=pk.Knobs(window=2), max_new_tokens=TOKENS)
        check(run, generated(family, TOKENS))


def test_a_model_dispatched_while_in_use_is_seen_by_the_next_sequence(tmp_path):
    made = models.build("llama")
    pair = pk.Pair(target=LanguageModel(made, name="tiny-llama"), draft=models.draft("llama", "noisy"))
    assert pair.target.adapter.lean is not None
    all_offloaded(made, tmp_path)
    check(pk.generate(pair, PROMPT, max_new_tokens=TOKENS), generated("llama", TOKENS))
    assert pair.target.adapter.lean is None


def test_layers_on_other_devices_gather_their_rows_there():
    """The index of accepted rows goes to each layer's own device."""
    cache = TreeCache(layers=2, capacity=8)
    places = (CPU, torch.device("meta"))
    for layer, place in zip(cache.layers, places, strict=True):
        rows = torch.arange(5.0, device=place).reshape(1, 1, 5, 1)
        layer.update(rows, rows)
    cache.commit([0, 2, 4])
    assert cache.layers[0].keys[0, 0, :3, 0].tolist() == [0, 2, 4]
    assert [layer.keys.device for layer in cache.layers] == list(places)
