from __future__ import annotations

import pytest

from phrasekit import Knobs
from phrasekit.lm import Pair
from phrasekit.methods import METHODS
from phrasekit.tune import PAPER, plan_algorithm1, plan_grid
from phrasekit.tune.axes import AXES, check_axes, choices, uses
from phrasekit.tune.strategy import Point
from tests import models


def test_ouroboros_is_searched_in_the_order_of_the_paper(pair):
    plan = plan_algorithm1("ouroboros", pair)
    assert list(plan.axes) == ["gamma", "window", "beta"]
    assert plan.name == "algorithm1"


def test_every_method_but_plain_decoding_has_something_to_search(pair):
    for name in METHODS:
        if name != "vanilla":
            plan = plan_algorithm1(name, pair)
            for point in plan.strategy():
                assert plan.knobs(point).as_dict().keys() == Knobs().as_dict().keys()
                break
    with pytest.raises(ValueError, match="vanilla has none left"):
        plan_algorithm1("vanilla", pair)


def test_the_usual_axes_are_knobs_within_their_bounds():
    for axes in AXES.values():
        for name, values in axes.items():
            assert list(values) == sorted(set(values))
            for value in values:
                Knobs().but(**{name: value})
    Knobs().but(**PAPER)


def test_the_first_point_is_what_the_pair_has(pair):
    tuned = Pair(target=pair.target, draft=pair.draft, defaults={"ouroboros": {"gamma": 3, "beta": 5}})
    first = next(plan_algorithm1("ouroboros", tuned).strategy())
    assert first == Point({"gamma": 3, "window": 0, "beta": 5}, "before")


def test_a_phrase_is_long_enough_for_its_suffix(pair):
    plan = plan_algorithm1("ouroboros", pair, fixed={"level": 4})
    assert plan.knobs(Point({"beta": 8}, "beta")).level == 8
    assert plan.knobs(Point({"beta": 3}, "beta")).level == 4
    told = plan_grid("ouroboros", pair, {"beta": [8], "level": [5]})
    assert told.knobs(Point({"beta": 8, "level": 5}, "grid")).level == 5  # asked for, so it holds


def test_a_fixed_knob_is_not_searched_and_stays(pair):
    plan = plan_algorithm1("ouroboros", pair, fixed={"window": 2, "suffixes": 1})
    assert list(plan.axes) == ["gamma", "beta"]
    assert plan.start.window == 2
    assert plan.knobs(Point({"gamma": 1, "beta": 3}, "gamma")).suffixes == 1


def test_given_axes_replace_the_usual_ones(pair):
    plan = plan_algorithm1("ouroboros", pair, axes={"gamma": [5, 5, 7], "guesses": [0, 2]})
    assert plan.axes["gamma"] == (5, 7)
    assert list(plan.axes) == ["gamma", "window", "beta", "guesses"]


def test_an_ablation_searches_what_it_leaves_on(pair):
    assert list(plan_algorithm1("ouroboros-no-phrase-drafting", pair).axes) == ["gamma", "beta"]
    with pytest.raises(ValueError, match="fixes window at 0"):
        check_axes("ouroboros-no-phrase-drafting", {"window": [1, 2]})


@pytest.mark.parametrize(
    ("axes", "fixed", "message"),
    [
        ({}, {}, "has none left"),
        ({"gamma": []}, {}, "has none left"),
        ({"speed": [1]}, {}, "knobs must be among"),
        ({"gamma": [-1]}, {}, "gamma"),
        ({"gamma": [1]}, {"gamma": 2}, "both"),
        ({"gamma": list(range(40)), "window": list(range(40))}, {}, "1600"),
    ],
)
def test_bad_grids_are_refused(pair, axes, fixed, message):
    with pytest.raises(ValueError, match=message):
        plan_grid("ouroboros", pair, axes, fixed=fixed)


def test_a_method_without_its_draft_is_refused():
    alone = Pair(target=models.target("llama"))
    with pytest.raises(ValueError, match="draft model"):
        plan_algorithm1("ouroboros", alone)
    with pytest.raises(ValueError, match="method must be one of"):
        check_axes("nothing", {})


def test_knobs_that_are_no_numbers_have_choices():
    assert choices("gamma") is None
    assert choices("cut_to_gamma") == (False, True)
    assert "paper" in choices("repair")


def test_a_knob_that_changes_nothing_is_refused():
    with pytest.raises(ValueError, match="speculative has no use for beta"):
        check_axes("speculative", {"beta": [3, 4]})
    check_axes("ouroboros-no-repair", {"beta": [3, 4]})


@pytest.mark.parametrize("method", ["speculative", "prompt_lookup", "lookahead", "cascade", "ouroboros"])
def test_knobs_said_to_be_of_no_use_change_no_iteration(method, pair):
    from phrasekit import generate

    def shape(**changes):
        knobs = METHODS[method].settle(METHODS[method].knobs.but(**changes))
        trace = generate(pair, list(models.PROMPT), method=method, knobs=knobs, max_new_tokens=20).trace
        return [
            (one.tree, one.window, [(inner.tree, inner.window) for inner in one.draft])
            for one in trace.iterations
        ]

    other = {"beta": 3, "lookup": 3, "lookup_ngram": 1, "gamma": 7, "window": 2, "guesses": 1, "suffixes": 1}
    plain = shape()
    for name, value in other.items():
        if not uses(method, name):
            assert shape(**{name: value}) == plain, name
