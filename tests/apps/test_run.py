"""A run whose knobs and method move writes the target's own text, and its trace is sound."""

from __future__ import annotations

from time import monotonic

import pytest

from dashboard.jobs.job import CANCELLED, DONE, FAILED
from dashboard.jobs.proof import PlainRun, compare
from dashboard.jobs.run import LiveRun, Plan
from dashboard.tabs.tune.lanes import ROW, row, speed
from dashboard.tabs.tune.prose import piece
from phrasekit import generate
from phrasekit.trace import faults, load_trace, save_trace
from tests.apps.conftest import PROMPT

WILD = [
    {"method": "ouroboros", "knobs": {"gamma": 7}},
    {"method": "ouroboros", "knobs": {"gamma": 1, "suffixes": 0, "window": 4}},
    {"method": "hybrid", "knobs": {"lookup": 16}},
    {"method": "vanilla", "knobs": {}},
    {"method": "lookahead", "knobs": {"window": 3, "level": 3}},
    {"method": "ouroboros", "knobs": {"beta": 3}},
]


def drive(run, pair, changes=()):
    """Take a run through its steps, with a change after every other one."""
    left, steps = list(changes), 0
    while not run.over:
        run.step(pair)
        steps += 1
        if left and run.active and steps % 2 == 0:
            run.change(**left.pop(0))
    return run


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.9, "seed": 7}])
def test_whatever_moves_the_text_is_that_of_plain_decoding(pair, sampling, tmp_path):
    plan = Plan(prompt=PROMPT, max_new_tokens=64, **sampling)
    run = drive(LiveRun(plan, owner="me"), pair, WILD)
    plain = drive(PlainRun(plan, tokens=64, owner="me"), pair)
    assert run.status == plain.status == DONE
    assert run.tokens == generate(pair, PROMPT, method="vanilla", max_new_tokens=64, **sampling).tokens
    verdict = compare(run.tokens, plain.tokens)
    assert str(verdict) == "Output unchanged: identical to plain decoding (64 tokens checked)."
    assert list(faults(run.trace)) == []
    save_trace(run.trace, tmp_path / "run.jsonl")
    assert load_trace(tmp_path / "run.jsonl") == run.trace


def test_a_change_holds_from_the_next_iteration_on_with_a_mark(pair):
    run = LiveRun(Plan(prompt=PROMPT, max_new_tokens=48), owner="me")
    run.step(pair)
    before = run.knobs
    assert before is not None
    run.change(method="ouroboros", knobs={"gamma": before.gamma + 3, "beta": 4})
    assert run.wanted is not None
    assert run.iterations[-1].knobs["gamma"] == before.gamma
    run.step(pair)
    assert run.wanted is None
    assert run.iterations[-1].knobs["gamma"] == before.gamma + 3
    (mark,) = run.marks
    assert mark.iteration == 1
    assert mark.text.split(", ") == [f"γ {before.gamma} → {before.gamma + 3}", f"β {before.beta} → 4"]
    run.change(method="ouroboros", knobs={"gamma": before.gamma + 3, "beta": 4})
    run.step(pair)
    assert len(run.marks) == 1


def test_another_method_goes_on_behind_the_text(pair):
    run = drive(LiveRun(Plan(prompt=PROMPT, max_new_tokens=40), owner="me"), pair, [WILD[2]])
    assert run.method == "hybrid"
    assert [mark.text for mark in run.marks] == ["ouroboros → hybrid"]
    assert len(run.tokens) == 40
    assert [one.index for one in run.iterations] == list(range(len(run.iterations)))


def test_an_untouched_plan_takes_the_pairs_own_knobs(pair):
    tuned = pair.defaults["ouroboros"]
    settled = Plan(prompt=PROMPT).settled(pair).as_dict()
    assert {name: settled[name] for name in tuned} == dict(tuned)


def test_cancel_keeps_what_was_made(pair):
    run = LiveRun(Plan(prompt=PROMPT, max_new_tokens=64), owner="me")
    run.step(pair)
    run.step(pair)
    run.cancel()
    run.step(pair)
    assert run.status == CANCELLED
    assert len(run.iterations) == 2
    assert run.trace.finish_reason == "cancelled"
    assert list(faults(run.trace)) == []


def test_a_prompt_too_long_is_refused_in_words(pair):
    run = LiveRun(Plan(prompt="word " * 60, prompt_tokens=20), owner="me")
    with pytest.raises(ValueError, match="at most 20 tokens here, but this one has"):
        run.step(pair)


def test_a_pace_waits_between_iterations(pair):
    run = LiveRun(Plan(prompt=PROMPT, max_new_tokens=32, pace=4.0), owner="me")
    before = monotonic()
    run.step(pair)
    assert run.due >= before + 1 / 4
    while run.active:
        run.step(pair)
    assert run.due == 0


def test_rows_are_the_numbers_of_the_trace(pair):
    run = drive(LiveRun(Plan(prompt=PROMPT, max_new_tokens=48), owner="me"), pair)
    rows = [dict(zip(ROW, row(one), strict=True)) for one in run.iterations]
    metrics = run.trace.metrics()
    assert sum(one["tokens"] for one in rows) == metrics.emitted
    assert sum(one["drafted"] for one in rows) == metrics.drafted
    assert sum(one["draft_forwards"] for one in rows) == metrics.draft_forwards
    assert sum(one["hits"] for one in rows) == metrics.hits
    assert sum(one["lookups"] for one in rows) == metrics.lookups
    assert sum(one["misplaced"] for one in rows) == metrics.matches - metrics.accepted
    assert speed([row(one) for one in run.iterations]) == pytest.approx(metrics.tokens_per_second, rel=0.01)
    assert speed([]) == 0


def test_model_text_never_becomes_markup(pair):
    run = drive(LiveRun(Plan(prompt=PROMPT, max_new_tokens=8), owner="me"), pair)
    hostile = dict.fromkeys(run.texts, "<img src=x onerror=alert(1)>\u202e\"'&")
    shown = piece(run.iterations[0], hostile, "<script>")
    assert "<img" not in shown
    assert "<script" not in shown
    assert "\u202e" not in shown
    assert "&lt;img" in shown


def test_a_run_that_fails_keeps_its_message(pair):
    run = LiveRun(Plan(prompt=PROMPT, method="cascade", temperature=0.0), owner="me")
    run.fail(ValueError("rule, given, do"))
    assert (run.status, run.message) == (FAILED, "rule, given, do")
