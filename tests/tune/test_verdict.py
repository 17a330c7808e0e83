from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit import generate
from phrasekit.bench.standings import Spread
from phrasekit.trace import measure
from phrasekit.tune.costs import Prediction, Work
from phrasekit.tune.ending import Ending
from phrasekit.tune.measure import Measured
from phrasekit.tune.verdict import Standing, judge, knob_words, limits_of
from tests import models


@pytest.fixture(scope="module")
def metrics():
    run = generate(models.pair_of("llama"), list(models.PROMPT), method="ouroboros", max_new_tokens=16)
    return replace(
        measure(run.trace),
        emitted=100,
        drafted=60,
        accepted=40,
        total_ms=100.0,
        target_ms=50.0,
        draft_ms=30.0,
    )


def standing(metrics, ratio, **changes) -> Standing:
    measured = Measured(ratio=Spread(*ratio), ms=Spread(1.0, 1.0, 1.0), metrics=metrics, work=Work())
    found = Standing(
        name="chosen",
        method="ouroboros",
        values={"gamma": 2, "window": 0},
        knobs={"gamma": 2, "window": 0, "beta": 6},
        measured=measured,
    )
    return replace(found, **changes)


def test_limits_are_what_one_thing_put_right_would_bring(metrics):
    prediction = Prediction(equation=None, forwards=2.0, rows=1.25, draft=0.2)
    assert limits_of(metrics, prediction) == pytest.approx(
        {
            "acceptance": 120 / 100,
            "drafting": 100 / 70,
            "own work": 100 / 80,
            "rows": 100 / (100 - 50 * 0.2),
        }
    )
    assert "rows" not in limits_of(metrics, None)


def test_lanes_that_overlap_give_no_negative_work(metrics):
    found = limits_of(replace(metrics, target_ms=80.0, draft_ms=60.0), None)
    assert found["own work"] == 1.0
    assert limits_of(replace(metrics, draft_ms=100.0), None)["drafting"] < float("inf")


def test_it_pays(metrics):
    verdict = judge(standing(metrics, (1.62, 1.58, 1.66)), prompts=8, repeats=3)
    assert verdict.speculate
    assert verdict.method == "ouroboros"
    assert verdict.sentence == (
        "Speculate, with ouroboros at γ 2, W 0: 1.62 times as fast as plain decoding on 8 held-out prompts "
        "(quartiles 1.58 to 1.66 over 3 repeats), with the same tokens; what limits it most is the cost of "
        "drafting: with a free draft it would be 1.43 times as fast as it is."
    )


def test_it_does_not_pay(metrics):
    verdict = judge(standing(metrics, (0.81, 0.80, 0.85)), prompts=1, repeats=1)
    assert not verdict.speculate
    assert verdict.method == "vanilla"
    assert verdict.sentence.startswith(
        "Stay with plain decoding: the best setting found, ouroboros at γ 2, W 0, is slower, 0.81 times as "
        "fast as plain "
        "decoding on 1 held-out prompt (one repeat)"
    )


@pytest.mark.parametrize("ratio", [(1.02, 1.01, 1.04), (1.01, 0.99, 1.02)])
def test_too_little_is_no_gain(metrics, ratio):
    verdict = judge(standing(metrics, ratio), prompts=8, repeats=3)
    assert (verdict.outcome, verdict.method) == ("plain decoding", "vanilla")
    assert "ouroboros at γ 2, W 0 makes too little difference" in verdict.sentence


@pytest.mark.parametrize("ratio", [(0.60, 0.39, 1.13), (1.10, 0.97, 1.2), (0.99, 0.97, 1.05)])
def test_quartiles_on_both_sides_of_1_tell_nothing_but_what_to_do(metrics, ratio):
    verdict = judge(standing(metrics, ratio), prompts=1, repeats=3)
    assert (verdict.outcome, verdict.speculate) == ("open", False)
    assert verdict.sentence.startswith("Whether speculation pays cannot be told from so few runs")
    assert "stay with" not in verdict.sentence.lower()
    assert verdict.sentence.endswith("Take more prompts, more tokens each or more repeats.")


def test_other_tokens_on_held_out_prompts_are_no_setting():
    failed = standing(None, (1, 1, 1), measured=None, failure="output differs at token 3")
    verdict = judge(failed, prompts=8, repeats=3)
    assert verdict.outcome == "plain decoding"
    assert verdict.ratio is None
    assert "output differs at token 3" in verdict.sentence


def test_nothing_measured_and_an_early_end_are_said(metrics):
    ended = Ending(tried=3, planned=17)
    assert judge(None, ending=ended).sentence == (
        "Nothing is decided: no setting was measured to the end. The search was ended after 3 of about 17 trials."
    )
    cut = Ending(tried=6, planned=34, untried=["hybrid"], budget=120.0, each=9.1, reserve=41.0)
    verdict = judge(standing(metrics, (2, 2, 2)), prompts=8, repeats=3, ending=cut)
    assert (verdict.outcome, verdict.partial) == ("speculate", True)
    assert verdict.sentence.endswith(
        " No further trial fits into the 120 seconds, as each takes about 9.1 and the held-out prompts about 41: "
        "6 of about 34 trials were made. Never tried: hybrid. Give it more seconds and search again."
    )
    unmeasured = judge(standing(None, (1, 1, 1), measured=None), ending=replace(ended, kept=True))
    assert unmeasured.outcome == "open"
    assert "was not measured on held-out prompts" in unmeasured.sentence
    assert unmeasured.sentence.endswith("Search again to go on from these trials.")


def test_a_setting_that_the_pair_has_is_told_as_such(metrics):
    verdict = judge(standing(metrics, (1.62, 1.58, 1.66)), prompts=8, repeats=3, known=True, tried=14)
    assert verdict.sentence.startswith(
        "Speculate, with ouroboros at γ 2, W 0, which is the default already and as good as any of the 14 "
        "tried: 1.62 times"
    )


def test_a_setting_that_is_ahead_on_the_held_out_prompts_is_told_and_not_taken(metrics):
    chosen = standing(metrics, (1.48, 1.47, 1.61))
    ahead = standing(metrics, (1.77, 1.74, 1.81), name="hybrid", method="hybrid", over=Spread(0.85, 0.8, 0.9))
    level = standing(metrics, (1.9, 1.2, 2.1), name="before", over=Spread(0.8, 0.7, 1.1))
    verdict = judge(chosen, prompts=8, repeats=3, others=[level, ahead])
    assert verdict.method == "ouroboros"
    assert verdict.sentence.endswith(
        " On these prompts hybrid at γ 2, W 0 was ahead of it, 1.77 times as fast as plain decoding; more "
        "prompts would tell which to take."
    )
    assert "On these prompts" not in judge(chosen, prompts=8, repeats=3, others=[level]).sentence


def test_knobs_go_by_their_symbols():
    assert knob_words({"gamma": 2, "beta": 6, "lookup": 10}) == "γ 2, β 6, lookup 10"
