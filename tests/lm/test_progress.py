"""Who watches is told every step of loading; who does not, is not, and bars stay as they were."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from transformers.utils import logging as transformers_logging

from phrasekit import demo
from phrasekit.lm import load_model, load_pair
from phrasekit.lm.progress import DOWNLOAD, PROBE, TOKENIZER, WAIT, WEIGHTS, Loading, counted, watched

DRAFT = demo.FOLDER / "draft"


def steps(told):
    return list(dict.fromkeys((one.name, one.step) for one in told))


def test_a_pair_tells_its_steps_in_order_and_counts_its_tensors():
    told = []
    with watched(told.append):
        pair = load_pair()
    assert steps(told) == [
        ("target", TOKENIZER),
        ("draft", TOKENIZER),
        ("target", WEIGHTS),
        ("target", PROBE),
        ("draft", WEIGHTS),
        ("draft", PROBE),
    ]
    for name, model in (("target", pair.target), ("draft", pair.draft)):
        counts = [(one.done, one.total) for one in told if (one.name, one.step) == (name, WEIGHTS)]
        tensors = len(list(model.model.named_parameters()))
        assert counts == [(number, tensors) for number in range(1, tensors + 1)]


def test_nobody_is_told_afterwards_and_a_hook_of_ones_own_stays():
    told, made = [], []

    def mine(factory, args, kwargs):
        made.append(kwargs.get("desc"))
        return factory(*args, **kwargs)

    before = transformers_logging.set_tqdm_hook(mine)
    try:
        with watched(told.append):
            load_model(DRAFT)
        count = len(told)
        load_model(DRAFT)
        assert transformers_logging.set_tqdm_hook(before) is mine
    finally:
        transformers_logging.set_tqdm_hook(before)
    assert len(told) == count > 0
    assert made == ["Loading weights"]  # of the second time


def test_models_that_are_loaded_at_once_do_not_spoil_each_other():
    """transformers builds a model under settings of the whole process: weights stayed empty without a turn."""
    names = ("target", "draft") * 3
    together = Barrier(len(names))

    def load(name):
        told = []
        with watched(told.append):
            together.wait(30)
            return told, load_model(demo.FOLDER / name)

    with ThreadPoolExecutor(len(names)) as threads:
        found = list(threads.map(load, names))
    for name, (told, model) in zip(names, found, strict=True):
        assert {one.name for one in told} == {name}
        alone = load_model(demo.FOLDER / name).model.state_dict()
        loaded = model.model.state_dict()
        assert loaded.keys() == alone.keys()
        assert all(torch.equal(loaded[key], alone[key]) for key in alone)
    assert any(one.step == WAIT for told, _ in found for one in told)


def test_a_failure_ends_the_watch(tmp_path):
    told = []
    with pytest.raises(ValueError, match="causal language model"), watched(told.append):
        load_model(tmp_path)
    load_model(DRAFT)
    assert not told


def test_a_download_is_told_in_bytes_and_only_where_its_end_is_known():
    told = []
    with watched(told.append), counted("org-model") as given:
        bar = given["tqdm_class"]
        files = bar(total=3, desc="Fetching 3 files")
        line = bar(total=100, unit="B", desc="Downloading bytes", bar_format="{desc}: {bar}| {n_fmt}B")
        with bar(total=100, initial=20, unit="B", unit_scale=True, desc="model.safetensors") as disk:
            line.update(70)
            disk.update(30)
            disk.set_postfix_str("1 MB/s")
            disk.update(50)
        files.update(1)
    assert told == [Loading("org-model", DOWNLOAD, 50, 100), Loading("org-model", DOWNLOAD, 100, 100)]
