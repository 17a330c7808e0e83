"""A whole search on a tiny pair, with a clock that says what each step took."""

from __future__ import annotations

import json
import threading
from dataclasses import FrozenInstanceError

import pytest

from phrasekit import Knobs
from phrasekit.lm import Pair
from phrasekit.tune import CostTable, Tuning, plan_algorithm1, plan_grid, report_of
from phrasekit.tune.tuning import Options
from tests.tune.conftest import COSTS, PROMPTS

QUICK = Options(max_new_tokens=8, repeats=2, final_repeats=2)
AXES = {"gamma": [1, 3], "window": [0, 2], "beta": [3, 5]}


def make(pair, time, *, options=QUICK, axes=None, costs=COSTS, **changes) -> Tuning:
    plans = changes.pop("plans", None) or [plan_algorithm1("ouroboros", pair, axes=axes or AXES)]
    return Tuning(pair, PROMPTS, plans=plans, options=options, clock=time, costs=costs, **changes)


def prefer(time, **best) -> None:
    """A step is cheaper the nearer its knobs are to these; plain decoding always takes 1 s."""

    def price(decoding):
        if decoding.method.name == "vanilla":
            return 1.0
        knobs = decoding.knobs.as_dict()
        away = sum(abs(knobs[name] - value) for name, value in best.items())
        return 0.5 + 0.4 * away

    time.price = price


def run(tuning):
    return list(tuning)


def test_algorithm1_ends_at_the_cheapest_setting_and_the_verdict_says_so(pair, time):
    prefer(time, gamma=3, window=0, beta=5)
    tuning = make(pair, time)
    run(tuning)
    assert tuning.best.values == {"gamma": 3, "window": 0, "beta": 5}
    assert [trial.stage for trial in tuning.trials] == ["before", "gamma", "gamma", "window", "beta", "gamma"]
    assert tuning.trials[0].values == {"gamma": 4, "window": 0, "beta": 6}  # what the pair had
    assert len(tuning.trials) == tuning.planned
    assert tuning.verdict.speculate
    assert tuning.verdict.values == tuning.best.values
    assert "γ 3, W 0, β 5" in tuning.verdict.sentence
    assert [one.name for one in tuning.held_out] == ["chosen", "before", "paper"]
    chosen, before, paper = tuning.held_out
    assert chosen.ratio.median > before.ratio.median > paper.ratio.median
    assert paper.over.median == pytest.approx(chosen.ratio.median / paper.ratio.median)
    assert tuning.verdict.prediction.forwards > 0


def test_a_trial_tells_everything(pair, time):
    prefer(time, gamma=1)
    tuning = make(pair, time)
    run(tuning)
    trial = tuning.trials[1]
    assert (trial.state, trial.identical, trial.failure) == ("complete", True, "")
    assert trial.plain_ms == 1000.0
    assert trial.ratio.median == pytest.approx(trial.plain_ms / trial.ms)
    assert trial.tokens_per_target_forward > 1
    assert trial.tokens_per_draft_forward >= 1
    assert Knobs().but(**trial.knobs).gamma == trial.values["gamma"]
    with pytest.raises(FrozenInstanceError):
        trial.state = "failed"


def test_progress_counts_rounds_and_trials_and_keeps_the_best(pair, time):
    prefer(time, gamma=3, window=0, beta=5)
    tuning = make(pair, time)
    seen = run(tuning)
    running = [one for one in seen if one.trial and one.trial.state == "running"]
    assert {one.rounds_planned for one in running} == {len(tuning.split.calibration) * 2}
    assert [one.rounds for one in running[:5]] == [0, 1, 2, 3, 4]
    best = [one.best.ratio.median for one in seen if one.best]
    assert best == sorted(best)
    held = [one for one in seen if one.phase == "held-out"]
    assert [one.rounds for one in held] == list(range(5))
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    assert [one.planned for one in seen] == [6] * len([one for one in seen if one.phase == "search"]) + [
        tuning.planned
    ] * len(held)


def test_held_out_prompts_are_never_calibrated_on(pair, time):
    seen = {"search": set(), "held-out": set()}
    tuning = make(pair, time)
    phase = "search"
    time.intrude = lambda decoding: seen[phase].add(decoding._prompt)
    for progress in tuning:
        phase = progress.phase
    assert seen["search"] == set(tuning.split.calibration)
    assert seen["held-out"] == set(tuning.split.held_out)


def test_a_gain_that_noise_could_make_changes_nothing(pair, time):
    """γ 3 is 1 % faster than what the pair has: not enough."""
    time.price = lambda decoding: {"vanilla": 1.0}.get(decoding.method.name, 0.5)
    tuned = Pair(
        target=pair.target, draft=pair.draft, defaults={"ouroboros": {"gamma": 3, "window": 0, "beta": 5}}
    )
    tuning = make(tuned, time)
    run(tuning)
    assert tuning.chosen.stage == "before"
    tried = f"as good as any of the {len(tuning.trials)} tried"
    assert f"which is the default already and {tried}" in tuning.verdict.sentence
    assert [one.name for one in tuning.held_out] == ["chosen", "paper"]


def test_where_it_does_not_pay_plain_decoding_wins(pair, time):
    time.price = lambda decoding: 1.0 if decoding.method.name == "vanilla" else 20.0
    tuning = make(pair, time)
    run(tuning)
    assert not tuning.verdict.speculate
    assert tuning.verdict.sentence.startswith("Stay with plain decoding: the best setting found")
    assert "is slower" in tuning.verdict.sentence


def test_several_methods_meet_on_the_held_out_prompts(pair, time):
    def price(decoding):
        fast = decoding.method.name == "speculative" and decoding.knobs.gamma == 2
        return {"vanilla": 1.0}.get(decoding.method.name, 0.2 if fast else 0.9)

    time.price = price
    plans = [
        plan_grid("ouroboros", pair, {"gamma": [1, 2]}, fixed={"window": 0}),
        plan_grid("speculative", pair, {"gamma": [2]}),
    ]
    tuning = make(pair, time, plans=plans)
    run(tuning)
    assert tuning.verdict.method == "speculative"
    assert [one.name for one in tuning.held_out] == ["chosen", "ouroboros", "before"]
    assert {trial.stage for trial in tuning.trials} == {"before", "grid"}
    order = [trial.method for trial in tuning.trials]
    assert order[:2] == ["ouroboros", "speculative"]  # each at its default, before anything else


def test_a_trial_with_other_tokens_is_a_failure_that_is_shown_and_never_chosen(pair, time, monkeypatch):
    from phrasekit.api import Decoding

    tokens = Decoding.tokens

    def lying(self):
        right = tokens.fget(self)
        wrong = self.method.name == "ouroboros" and self.knobs.gamma == 3
        return (*right[:2], (right[2] + 1) % 96, *right[3:]) if wrong else right

    monkeypatch.setattr(Decoding, "tokens", property(lying))
    prefer(time, gamma=3)  # and it would be the fastest
    tuning = make(pair, time)
    run(tuning)
    failed, *others = [trial for trial in tuning.trials if trial.failure]
    assert {trial.values["gamma"] for trial in (failed, *others)} == {3}
    assert (failed.state, failed.failure, failed.identical) == ("failed", "differs", False)
    assert "differs from plain decoding" in failed.reason
    assert failed.score is None
    assert tuning.best.values["gamma"] != 3


def test_a_trial_that_breaks_is_a_failure_and_the_search_goes_on(pair, time):
    def intrude(decoding):
        if decoding.method.name == "ouroboros" and decoding.knobs.window == 2:
            raise RuntimeError("no memory")

    time.intrude = intrude
    tuning = make(pair, time)
    run(tuning)
    broken = [trial for trial in tuning.trials if trial.failure]
    assert {trial.reason for trial in broken} == {"RuntimeError: no memory"}
    assert all(trial.values["window"] == 2 for trial in broken)
    assert tuning.verdict.values["window"] == 0


def test_cancelling_ends_it_within_one_iteration_and_keeps_what_is_there(pair, time):
    tuning = make(pair, time)
    at = []

    def intrude(decoding):
        if len(tuning.trials) == 1 and decoding.method.name == "ouroboros" and not at:
            at.append(len(time.steps))
            threading.Thread(target=tuning.cancel).start()
            while not tuning.cancelled:
                pass

    time.intrude = intrude
    run(tuning)
    assert len(time.steps) == at[0] + 1  # the iteration that was under way
    assert [trial.failure for trial in tuning.trials] == ["", "cancelled"]
    assert tuning.verdict.partial
    assert tuning.verdict.outcome == "open"
    assert tuning.verdict.sentence.startswith("Nothing is decided: ouroboros at")
    assert tuning.verdict.sentence.endswith("The search was ended after 2 of about 6 trials.")


def test_cancelling_on_the_held_out_prompts_leaves_no_half_numbers(pair, time):
    tuning = make(pair, time)
    for progress in tuning:
        if progress.phase == "held-out" and progress.rounds == 1:
            tuning.cancel()
    assert tuning.held_out == ()
    assert tuning.verdict.ratio is None
    assert tuning.verdict.sentence.startswith("Nothing is decided")
    assert "was not measured on held-out prompts" in tuning.verdict.sentence


def test_somebody_else_can_stop_it_before_it_begins(pair, time):
    tuning = make(pair, time, stopped=lambda: True, costs=None)
    run(tuning)
    assert (tuning.trials, tuning.costs, time.steps) == ((), None, [])
    assert "no setting was measured" in tuning.verdict.sentence


def test_leaving_the_loop_tells_the_study(pair, time, tmp_path):
    path = tmp_path / "trials.journal"
    for progress in make(pair, time, study=path):
        if progress.rounds == 1:
            break
    tuning = make(pair, time, study=path)
    run(tuning)
    assert not any(trial.reused for trial in tuning.trials)
    assert "cancelled" in path.read_text()


def test_a_budget_begins_no_trial_that_it_cannot_end(pair, time):
    options = Options(max_new_tokens=8, repeats=1, final_repeats=1, budget=1e-6)
    tuning = make(pair, time, options=options)
    run(tuning)
    assert tuning.trials == ()
    assert tuning.verdict.partial
    assert "No trial fits into the 1e-06 seconds: 0 of about 6 trials are there." in tuning.verdict.sentence
    assert "Never tried: ouroboros. Give it more seconds and search again." in tuning.verdict.sentence
    enough = Options(max_new_tokens=8, repeats=1, final_repeats=1, budget=3600)
    tuning = make(pair, time, options=enough)
    run(tuning)
    assert len(tuning.trials) == tuning.planned


def test_a_budget_that_ends_a_search_says_what_would_go_on(pair, time, tmp_path, monkeypatch):
    now = iter(range(10_000))
    monkeypatch.setattr("phrasekit.tune.tuning.monotonic", lambda: float(next(now)))
    plans = [plan_algorithm1(name, pair) for name in ("ouroboros", "speculative")]
    options = Options(max_new_tokens=8, repeats=1, final_repeats=1, budget=100)
    path = tmp_path / "trials.journal"
    tuning = make(pair, time, options=options, plans=plans, study=path)
    run(tuning)
    tried = len(tuning.trials)
    assert {trial.method for trial in tuning.trials[:2]} == {"ouroboros", "speculative"}
    ending = tuning.verdict.ending
    assert (ending.tried, ending.untried) == (tried, [])
    assert tried < ending.planned == tuning.planned
    assert "No further trial fits into the 100 seconds, as each takes about" in tuning.verdict.sentence
    assert tuning.verdict.sentence.endswith("and search again to go on from these trials.")
    again = make(pair, time, options=options, plans=plans, study=path)
    run(again)
    assert [trial.reused for trial in again.trials[:tried]] == [True] * tried
    assert len(again.trials) > tried


def test_the_fastest_method_is_searched_first(pair, time):
    time.price = lambda decoding: {"vanilla": 1.0, "speculative": 0.3}.get(decoding.method.name, 0.9)
    plans = [plan_algorithm1("ouroboros", pair, axes=AXES), plan_algorithm1("speculative", pair)]
    tuning = make(pair, time, plans=plans)
    run(tuning)
    order = [trial.method for trial in tuning.trials]
    assert order[:3] == ["ouroboros", "speculative", "speculative"]
    assert order.index("ouroboros", 1) == len(order) - order[::-1].index("speculative")


def test_costs_are_measured_where_none_are_given(pair, time):
    tuning = make(pair, time, costs=None)
    time.now = 0.0

    def tick():
        time.now += 0.001
        return time.now

    tuning._clock = tick
    assert next(iter(tuning)).phase == "costs"
    tuning = Tuning(pair, PROMPTS, plans=[plan_grid("speculative", pair, {"gamma": [1]})], options=QUICK)
    run(tuning)
    assert isinstance(tuning.costs, CostTable)
    assert tuning.costs.ms("target", 1, 32) > 0


def test_a_search_can_sample(pair, time):
    options = Options(max_new_tokens=8, repeats=1, final_repeats=1, sampling={"temperature": 0.8, "seed": 5})
    tuning = make(pair, time, options=options)
    run(tuning)
    assert all(trial.identical for trial in tuning.trials)


def test_a_search_without_any_token_says_so(time):
    from tests import models

    pair = Pair(target=models.target("llama"), draft=models.draft("llama", "noisy"), eos=frozenset(range(96)))
    tuning = make(pair, time)
    run(tuning)
    assert tuning.verdict is not None  # every prompt ends at once; nothing is divided by nothing


def test_a_search_runs_once(pair, time):
    tuning = make(pair, time)
    run(tuning)
    with pytest.raises(RuntimeError, match="runs once"):
        run(tuning)


def test_the_report_is_plain_json(pair, time):
    tuning = make(pair, time)
    run(tuning)
    told = json.loads(json.dumps(report_of(tuning).as_dict(), allow_nan=False))
    assert told["schema"] == "phrasekit-tune"
    assert len(told["trials"]) == len(tuning.trials)
    assert (told["verdict"]["outcome"], told["verdict"]["speculate"]) == ("speculate", True)
    assert told["verdict"]["sentence"] == tuning.verdict.sentence
    assert CostTable.from_dict(told["costs"]) == COSTS
    assert told["settings"]["plans"][0]["axes"] == AXES
    assert [one["name"] for one in told["held_out"]] == [one.name for one in tuning.held_out]
    assert told["environment"]["target"] == "tiny-llama"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"repeats": 0}, "repeats"),
        ({"final_repeats": 0}, "repeats"),
        ({"clock": "sun"}, "clock must be one of"),
        ({"budget": 0}, "budget"),
        ({"budget": float("nan")}, "budget"),
        ({"sampling": {"rule": "rejection"}}, "rule 'match'"),
        ({"sampling": {"temperature": -1.0}}, "temperature"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Options(**options)


def test_bad_plans_and_prompts_are_refused(pair):
    plan = plan_algorithm1("speculative", pair)
    with pytest.raises(ValueError, match="one plan per method, but got none"):
        Tuning(pair, PROMPTS, plans=[])
    with pytest.raises(ValueError, match="one plan per method, but got speculative, speculative"):
        Tuning(pair, PROMPTS, plans=[plan, plan])
    with pytest.raises(ValueError, match="2 different prompts"):
        Tuning(pair, PROMPTS[:1], plans=[plan])
