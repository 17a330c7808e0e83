"""A link carries the whole state, and nothing in a link can do harm."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from dashboard.state import NAMES, REACH, Settings


def arguments(query: str) -> dict[str, list[bytes]]:
    """As a server hands them over."""
    parsed = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    return {name: [value.encode() for value in values] for name, values in parsed.items()}


def test_a_link_gives_back_every_value():
    chosen = Settings(
        tab="tune",
        prompt='ä & b=c\n  "d" <script> +%20 ⏎',
        method="hybrid",
        gamma=7,
        window=3,
        level=4,
        guesses=9,
        suffixes=1,
        beta=5,
        lookup=12,
        temperature=0.7,
        top_p=0.9,
        seed=2**32 - 1,
        tokens=99,
        pool="kept",
        pace="full speed",
        step=4,
        target="org/model",
        draft="org/draft",
        device="cuda:1",
        dtype="bfloat16",
    )
    read = Settings()
    assert read.read(arguments(chosen.query())) == []
    assert read.as_dict() == chosen.as_dict()
    assert set(chosen.as_dict()) == set(NAMES)


def test_a_link_says_its_version():
    assert arguments(Settings().query())["v"] == [b"1"]
    read = Settings()
    assert read.read({"v": [b"2"], "gamma": [b"5"]}) == [
        "This link is of version '2', but this page reads version 1."
    ]
    assert read.as_dict() == Settings().as_dict()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", b"-1"),
        ("gamma", b"10000"),
        ("gamma", b"1e3"),
        ("gamma", b"\xff"),
        ("tokens", b"513"),
        ("temperature", b"nan"),
        ("temperature", b"inf"),
        ("temperature", b"-0.1"),
        ("top_p", b"0"),
        ("method", b"__class__"),
        ("tab", b"<script>"),
        ("pool", b"everybody"),
        ("seed", b"9" * 5000),
    ],
)
def test_a_value_that_does_not_fit_is_left_out_and_told(name, value):
    read = Settings()
    told = read.read({name: [value], "suffixes": [b"5"]})
    assert len(told) == 1
    assert told[0].startswith(f"{name} = ")
    assert len(told[0]) < 120
    assert read.suffixes == 5
    assert getattr(read, name) == getattr(Settings(), name)


def test_unknown_names_are_ignored():
    read = Settings()
    assert read.read({"theme": [b"dark"], "name": [b"x"], "bokeh-session-id": [b"y"], "gamma": []}) == []
    assert read.as_dict() == Settings().as_dict()


def test_sliders_take_tuned_knobs_as_far_as_they_reach():
    settings = Settings()
    settings.take_knobs({"gamma": 200, "beta": 2, "repair": "off", "lookup_ngram": 5})
    assert settings.gamma == REACH["gamma"][1]
    assert settings.beta == 2
