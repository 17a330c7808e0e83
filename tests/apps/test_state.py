"""A link carries the whole state, and nothing in a link can do harm."""

from __future__ import annotations

import param
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.jobs.hub import PairSpec
from dashboard.visitor.options import Options
from dashboard.visitor.state import CURVES, GRIDS, LONGEST, NAMES, REACH, VERSION, Settings
from tests.apps.conftest import arguments


def fitting(name):
    """Every value that a setting takes."""
    known = Settings.param[name]
    if isinstance(known, param.Selector):
        found = st.sampled_from(list(known.objects))
    elif isinstance(known, param.Number):
        whole = isinstance(known, param.Integer)
        found = st.integers(*known.bounds) if whole else st.floats(*known.bounds)
    elif known.regex is None:
        found = st.text()
    else:
        found = st.from_regex(known.regex)
    return st.none() | found if known.allow_None else found


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({name: fitting(name) for name in NAMES}))
def test_a_link_gives_back_every_value(values):
    chosen, read = Settings(**values), Settings()
    assert len(chosen.query()) <= LONGEST
    assert read.read(arguments(chosen.query())) == []
    expected = {**values, **{name: getattr(Settings(), name) for name in chosen.unlinked}}
    assert read.as_dict() == expected


def test_nothing_in_a_link_is_without_bounds():
    """A number has ends, a choice has a list, a text has a length: of the server's options, or a pattern."""
    mine = Settings.of(Options())
    for name in NAMES:
        known = mine.param[name]
        if isinstance(known, param.Selector):
            assert known.objects
        elif isinstance(known, param.Number):
            assert None not in known.bounds
        else:
            assert Settings().read({name: [b"\x01" * 10]}) or known.regex
            assert mine.read({name: [b"x" * 600_000]})


def test_a_server_has_caps_of_its_own():
    options = Options(prompt_characters=20, new_tokens=50, pair=PairSpec(target="org/big", device="cuda:1"))
    mine = Settings.of(options)
    assert (mine.target, mine.device) == ("org/big", "cuda:1")
    assert (mine.tokens, mine.race_tokens, mine.search_tokens) == (50, 50, 40)
    for name, most in (("tokens", 50), ("race_tokens", 50), ("search_tokens", 50)):
        assert mine.read({name: [str(most + 1).encode()]})
        assert not mine.read({name: [str(most).encode()]})
    assert mine.read({"prompt": [b"x" * 21]})
    assert not mine.read({"prompt": [b"\n" * 20]})
    assert Settings.param["tokens"].bounds == (1, 512)


@pytest.mark.parametrize(("name", "letters"), [("prompt", 20_000), ("pasted", 20_000)])
def test_a_link_that_a_server_would_refuse_leaves_long_prompts_out(name, letters):
    long = Settings(**{name: "é" * letters}, gamma=7)
    assert len(long.query()) <= LONGEST
    assert long.unlinked == (("pasted", "prompt") if name == "prompt" else ("pasted",))
    read = Settings()
    assert read.read(arguments(long.query())) == []
    assert read.gamma == 7
    assert not Settings(pasted="a\n---\nb").unlinked


def test_a_link_says_its_version():
    assert arguments(Settings().query())["v"] == [VERSION.encode()]
    read = Settings()
    assert read.read({"v": [b"2"], "gamma": [b"5"]}) == [
        "This link is of version '2', but this page reads version 1."
    ]
    assert read.as_dict() == Settings().as_dict()


# A value that does not fit, for every setting.
HOSTILE = {
    "tab": [b"<script>", b"Step", b""],
    "prompt": [b"x" * 8001],
    "method": [b"__class__", b"ouroboros\n"],
    "temperature": [b"nan", b"inf", b"-0.1", b"2.01", b""],
    "top_p": [b"0", b"nan"],
    "seed": [b"9" * 5000, b"-1", b"4294967296"],
    "tokens": [b"513", b"0", b"1e3"],
    "pool": [b"everybody"],
    "pace": [b"0"],
    "schedule": [b"processes"],
    "compared": [b"evil", b"now,evil", b"ouroboros,", b"ouroboros\n", b",".join([b"ouroboros"] * 9)],
    "prompts": [b"/etc/passwd"],
    "race_tokens": [b"513", b"-1"],
    "passes": [b"10", b"0"],
    "words": [b"x" * 81, b"a\nb"],
    "sort": [b"kept; drop"],
    "searched": [b"evil", b",".join([b"ouroboros"] * 5)],
    "strategy": [b"random"],
    "budget": [b"7201", b"-1"],
    "search_prompts": [b"everything"],
    "search_tokens": [b"257", b"3"],
    "repeats": [b"10", b"0"],
    "study": [b"../evil", b"/etc/passwd", b"a 2026-01-01 10.00.00/../x", b"a 2026-01-01 10.00.00\n"],
    "grid": [b"gamma,evil", b"seed", b",".join([b"gamma"] * 7)],
    **{f"grid_{name}": [b"1," * 41, b"1\n2"] for name in ("gamma", "window", "level")},
    **{f"grid_{name}": [b"1," * 41, b"1\x002"] for name in ("guesses", "suffixes", "beta")},
    "pasted": [b"x" * (64 * 8000 + 1)],
    **{f"curve_{name}": [b"nan", b"-1", str(most + 1).encode()] for name, (_, most) in CURVES.items()},
    "step": [b"-1", b"100001"],
    "target": [b"x" * 1001, b"a\0b"],
    "draft": [b"x" * 1001, b"a\nb"],
    "device": [b"cuda:9999", b"../x", b"cpu\n", b""],
    "dtype": [b"os.system", b"x" * 25],
    **{name: [str(most + 1).encode(), b"-1", b"\xff"] for name, (_, most) in REACH.items()},
}


def test_every_setting_is_attacked():
    assert set(HOSTILE) == set(NAMES)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in HOSTILE for value in HOSTILE[name]])
def test_a_value_that_does_not_fit_is_left_out_and_told(name, value):
    read = Settings.of(Options())
    other = "suffixes" if name != "suffixes" else "gamma"
    told = read.read({name: [value], other: [b"5"]})
    assert len(told) == 1
    assert told[0].startswith(f"{name} = ")
    assert len(told[0]) < 220
    assert getattr(read, other) == 5
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


TRANSIENT = ["One", "Prompt", "The other"]  # of Compare: which lanes of a race to look at


def moved(widget):
    """Another value for a widget, as a visitor would give it, and where it is put."""
    value = widget.value
    if "value_throttled" in widget.param:
        return ("value", "value_throttled"), widget.end if value != widget.end else widget.start
    if "options" in widget.param:
        options = widget.options.values() if isinstance(widget.options, dict) else widget.options
        other = next((one for one in options if one != value), value)
        return ("value",), value[:-1] if isinstance(value, list) else other
    if isinstance(value, int):
        return ("value",), value + 1
    return ("value_input", "value"), f"{value}1"


def test_whatever_a_visitor_changes_is_in_the_link(hub):
    import panel_material_ui as pmui

    from dashboard.frame.page import Dashboard

    gives = (pmui.Button, pmui.FileDownload, pmui.FileInput)
    chosen = Settings(strategy="grid", search_prompts="pasted", grid=",".join(GRIDS), compared="pearl")
    hub.place(chosen.spec).wait(30)
    page = Dashboard(hub, Options(models=("org/one", "org/two"), any_model=True), chosen)
    page.session.settings.param.update(device="cuda:7")
    widgets = [
        one
        for root in (page.layout, page.files.layout)
        for one in root.select(pmui.widgets.base.MaterialWidget)
        if "value" in one.param and one.label and not isinstance(one, gives)
    ]
    kept = []
    for widget in dict.fromkeys(widgets):  # the run bar stands on two tabs
        before = chosen.query()
        places, value = moved(widget)
        with param.edit_constant(widget):
            for place in filter(widget.param.__contains__, places):
                setattr(widget, place, value)
        if chosen.query() == before:
            kept.append(widget.label)
    assert len(widgets) > 40
    assert sorted(kept) == TRANSIENT


def test_a_pool_is_sorted_in_every_order_that_a_link_may_ask_for():
    from dashboard.tabs.pool.rows import SORTS
    from dashboard.visitor.state import ORDERS

    assert tuple(SORTS) == ORDERS
