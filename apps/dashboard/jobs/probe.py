"""What there is to know about a loaded pair, the start-up probe's numbers included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch

from dashboard.jobs.words import count_short, megabytes
from phrasekit.lm.probe import verify_trees


def facts_of(pair: Any) -> Iterator[tuple[str, str]]:
    """Names and values, in words; runs the probe of each model once."""
    models = [("target", pair.target), ("draft", pair.draft), ("smaller draft", pair.smaller)]
    for role, model in models:
        if model is None:
            continue
        weights = list(model.model.parameters())
        size = sum(one.numel() * one.element_size() for one in weights)
        yield (
            role,
            f"{model.name}, {count_short(sum(one.numel() for one in weights))} parameters, {megabytes(size)}",
        )
    target = pair.target
    cpu = f", {torch.get_num_threads()} of {os.cpu_count()} cores" if target.device.type == "cpu" else ""
    yield "device", f"{target.device}{cpu}"
    yield "dtype", str(target.adapter.dtype).removeprefix("torch.")
    yield "vocabulary", f"{target.vocabulary} tokens"
    yield "context", f"{target.context} tokens" if target.context else "the model does not say"
    for role, model in models:
        if model is not None:
            yield (
                f"probe of the {role}",
                f"a token tree gives the logits of its paths, up to {verify_trees(model):.1e}: passed",
            )
