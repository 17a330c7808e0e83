"""The tables of options agree with what they set."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature

import click
import pytest

from phrasekit import decoder
from phrasekit.cli.generate import generate
from phrasekit.cli.knobs import KNOBS, REPAIRS, describe, read_changes
from phrasekit.cli.request import RULES, SCHEDULES, SETTINGS
from phrasekit.decode import Knobs, Limits, Sampling, picker
from phrasekit.decode import knobs as rules
from phrasekit.trace import records


def test_every_knob_is_an_option_of_its_type():
    kinds = {"int": int, "bool": bool}
    typed = {name: kind if kind in (int, bool) else "str" for name, (kind, _) in KNOBS.items()}
    assert typed == {field.name: kinds.get(str(field.type), "str") for field in fields(Knobs)}
    assert REPAIRS == rules.REPAIRS
    options = {option.name: option for option in generate.params if isinstance(option, click.Option)}
    assert all(options[name].default is None for name in KNOBS)  # the pair's tuned ones hold


def test_settings_have_the_library_s_defaults():
    known = {field.name: field for record in (Sampling, Limits) for field in fields(record)}
    run = {"schedule", "probabilities"}  # of the run: neither of sampling nor limits
    for name, (kind, default, _) in SETTINGS.items():
        if name in run:
            assert default == signature(decoder).parameters[name].default
        else:
            typed = "str" if isinstance(kind, click.Choice) else kind.__name__
            assert (typed, default) == (str(known[name].type), known[name].default)
    assert known.keys() - {"eos", "stop", "bad_words"} | run == SETTINGS.keys()
    assert RULES == picker.RULES
    assert ("", *SCHEDULES) == records.SCHEDULES


def test_changes_are_read():
    assert read_changes("gamma=5, window=0  cut-to-gamma=on repair=off") == {
        "gamma": 5,
        "window": 0,
        "cut_to_gamma": True,
        "repair": "off",
    }
    assert read_changes("cut_to_gamma=no") == {"cut_to_gamma": False}


@pytest.mark.parametrize("line", ["gamma", "gamma=", "=5", "gamma=5 beta"])
def test_what_is_no_change_is_refused(line):
    with pytest.raises(ValueError, match="must look like gamma=5"):
        read_changes(line)


@pytest.mark.parametrize(
    ("line", "error"), [("gamma=x", TypeError), ("cut_to_gamma=maybe", TypeError), ("zeta=1", ValueError)]
)
def test_bad_values_reach_the_rules_of_knobs(line, error):
    with pytest.raises(error, match="but got"):
        Knobs().but(**read_changes(line))


def test_the_main_knobs_are_told_by_symbol():
    assert describe(Knobs(gamma=7, beta=3).as_dict()) == "γ 7  W 0  N 6  G 4  K 3  β 3"
    assert describe({}) == ""
