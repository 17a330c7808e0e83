"""Knobs: what is allowed, and that everything else is refused by name."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasekit import Knobs
from phrasekit.decode.knobs import BOUNDS, FLAGS, REPAIRS
from tests.strategies import knob_settings

NAMES = [field.name for field in fields(Knobs)]
junk = st.one_of(
    st.none(),
    st.floats(),
    st.text(),
    st.binary(),
    st.lists(st.integers()),
    st.complex_numbers(),
    st.just(object()),
)


@given(knob_settings)
def test_settings_survive_their_plain_form(knobs):
    assert Knobs(**knobs.as_dict()) == knobs
    assert knobs.but() == knobs


def test_every_knob_has_its_bounds():
    assert {*BOUNDS, *FLAGS, "repair"} == set(NAMES)


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_inside_and_one_further_is_outside(name):
    low, high = BOUNDS[name]
    for value in (low, high):
        assert getattr(Knobs(**{name: value}), name) == value
    for value in (low - 1, high + 1, -(10**30), 10**30):
        with pytest.raises(ValueError, match=rf"\b{name}\b.*{value}"):
            Knobs(**{name: value})


@given(st.sampled_from(NAMES), junk)
def test_a_value_of_another_type_is_refused_by_name(name, value):
    if name == "repair" and value in REPAIRS:
        return
    with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
        Knobs(**{name: value})
    with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
        Knobs().but(**{name: value})


@pytest.mark.parametrize("name", BOUNDS)
def test_true_is_not_a_number(name):
    with pytest.raises(TypeError, match=name):
        Knobs(**{name: True})


@pytest.mark.parametrize("name", FLAGS)
def test_a_number_is_not_a_flag(name):
    with pytest.raises(TypeError, match=name):
        Knobs(**{name: 1})


def test_an_unknown_knob_is_refused_by_name():
    with pytest.raises(ValueError, match="gama"):
        Knobs().but(gama=3)


def test_knobs_never_change_in_place():
    with pytest.raises(FrozenInstanceError):
        Knobs().gamma = 3


def test_any_knob_may_be_changed_in_a_copy():
    assert Knobs().but(repair="off", gamma=9, cut_to_gamma=True) == Knobs(
        repair="off", gamma=9, cut_to_gamma=True
    )
