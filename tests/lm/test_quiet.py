"""Loading draws no bar, and leaves transformers' and the hub's bars as they were."""

from __future__ import annotations

import os
import warnings

import pytest
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from phrasekit import demo
from phrasekit.lm import load_model

DRAFT = demo.FOLDER / "draft"
HUB = logging.hf_hub_utils


@pytest.fixture(params=[True, False], ids=["hub's bars shown", "hub's bars hidden"])
def bars(request):
    """Bars of transformers switched on, whatever the environment says; all as before afterwards."""
    if os.environ.get("TQDM_DISABLE"):
        pytest.skip("TQDM_DISABLE hides every bar")
    before = (logging.is_progress_bar_enabled(), not HUB.are_progress_bars_disabled())
    _switch(True, request.param)
    if HUB.are_progress_bars_disabled() is request.param:
        pytest.skip("an environment variable decides over the hub's bars")
    yield request.param
    _switch(*before)


def _switch(own: bool, hub: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (logging.enable_progress_bar if own else logging.disable_progress_bar)()
        (HUB.enable_progress_bars if hub else HUB.disable_progress_bars)()


def test_loading_is_quiet_and_changes_no_switch(bars, capfd):
    AutoModelForCausalLM.from_pretrained(DRAFT)
    assert "Loading weights" in capfd.readouterr().err  # what would be seen
    load_model(DRAFT)
    assert capfd.readouterr() == ("", "")
    assert (logging.is_progress_bar_enabled(), not HUB.are_progress_bars_disabled()) == (True, bars)


def test_switches_are_restored_after_a_failure(bars, tmp_path):
    with pytest.raises(ValueError, match="must be a causal language model"):
        load_model(tmp_path)
    assert (logging.is_progress_bar_enabled(), not HUB.are_progress_bars_disabled()) == (True, bars)
