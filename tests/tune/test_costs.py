from __future__ import annotations

import json

import pytest

from phrasekit import generate
from phrasekit.lm import Pair
from phrasekit.lm.model import Session
from phrasekit.theory import Acceptance, ouroboros_speedup
from phrasekit.trace import measure
from phrasekit.tune.costs import Cost, CostTable, Work, measure_costs, predict
from phrasekit.tune.records import Cancelled
from tests import models

TABLE = CostTable(
    (Cost(1, 10, 4.0), Cost(3, 10, 8.0), Cost(1, 30, 6.0), Cost(3, 30, 10.0)),
    (Cost(1, 10, 1.0), Cost(3, 10, 2.0), Cost(1, 30, 1.0), Cost(3, 30, 4.0)),
)


@pytest.mark.parametrize(
    ("rows", "context", "ms"),
    [(1, 10, 4.0), (3, 30, 10.0), (2, 10, 6.0), (1, 20, 5.0), (2, 20, 7.0), (1.5, 10, 5.0)],
)
def test_costs_are_linear_between_the_cells(rows, context, ms):
    assert TABLE.ms("target", rows, context) == pytest.approx(ms)


def test_beyond_the_cells_the_nearest_holds():
    assert TABLE.ms("target", 0, 0) == 4.0
    assert TABLE.ms("target", 99, 99) == 10.0
    assert TABLE.ms("draft", 99, 20) == 3.0


def test_a_table_survives_json():
    assert CostTable.from_dict(json.loads(json.dumps(TABLE.as_dict()))) == TABLE


@pytest.mark.parametrize(
    "values",
    [None, {}, {"target": []}, {"target": [], "draft": []}, {"target": [{"rows": 1}], "draft": []}],
)
def test_other_values_are_no_table(values):
    with pytest.raises(ValueError, match="cost"):
        CostTable.from_dict(values)


@pytest.mark.parametrize(
    "cells", [(), (Cost(1, 10, 1.0), Cost(2, 20, 1.0)), (Cost(1, 10, 0.0),), (Cost(1, 1, 1.0),) * 2]
)
def test_a_table_with_gaps_or_no_times_is_refused(cells):
    with pytest.raises(ValueError, match="cost"):
        CostTable(cells)


def test_a_table_without_a_draft_says_so():
    with pytest.raises(ValueError, match="no times of a draft"):
        CostTable((Cost(1, 1, 1.0),)).ms("draft", 1, 1)


def test_every_cell_is_the_median_of_the_forwards_that_count(pair, monkeypatch):
    """A forward over r rows behind n cached ones takes r + n/100 s, the first two ten times as long."""
    now, calls = [0.0], {}
    forward = Session.forward

    def slow(self, pending, tokens, parents, *, rows=None):
        place = (id(self.model), len(tokens) + 1, self.length)
        calls[place] = calls.get(place, 0) + 1
        now[0] += (place[1] + place[2] / 100) * (10 if calls[place] <= 2 else 1)
        return forward(self, pending, tokens, parents, rows=rows)

    monkeypatch.setattr(Session, "forward", slow)
    table = measure_costs(pair, rows=(1, 4), contexts=(8, 16), repeats=3, clock=lambda: now[0])
    assert table.rows == (1, 4)
    assert table.contexts == (8, 16)
    assert table.ms("target", 4, 16) == pytest.approx(1e3 * 4.16)
    assert table.ms("draft", 1, 8) == pytest.approx(1e3 * 1.08)
    assert set(calls.values()) == {5}


def test_a_context_beyond_the_models_is_cut_to_theirs(pair):
    table = measure_costs(pair, rows=(1, 12), contexts=(16, 10_000), repeats=1)
    assert table.contexts == (16, models.CONTEXT - 12)


def test_without_a_draft_there_is_a_target_alone():
    table = measure_costs(Pair(target=models.target("llama")), rows=(1,), contexts=(4,), repeats=1)
    assert table.draft == ()


def test_measuring_can_be_cut_short_and_refuses_nonsense(pair):
    with pytest.raises(Cancelled):
        measure_costs(pair, rows=(1,), contexts=(4,), cancelled=lambda: True)
    with pytest.raises(ValueError, match="1 or more"):
        measure_costs(pair, rows=())
    with pytest.raises(ValueError, match="leave room"):
        measure_costs(pair, rows=(models.CONTEXT,), contexts=(4,))


def test_predictions_are_eq_6_and_the_time_of_all_forwards(pair):
    run = generate(pair, list(models.PROMPT), method="ouroboros", max_new_tokens=24)
    metrics, work = measure(run.trace), Work.of(run.trace)
    later = run.trace.iterations[1:]
    inner = [one for iteration in later for one in iteration.draft]
    assert (work.forwards, work.rows) == (len(later), sum(one.forward.rows for one in later))
    assert work.draft_forwards == len(inner) > 0
    found = predict(TABLE, metrics, work)
    context = work.cached / work.forwards
    one = TABLE.ms("target", 1, context)
    many = TABLE.ms("target", work.rows / work.forwards, context)
    draft = TABLE.ms("draft", work.draft_rows / work.draft_forwards, context)
    assert found.forwards == pytest.approx(work.emitted * one / (len(later) * many + len(inner) * draft))
    assert found.rows == pytest.approx(many / one)
    expected = ouroboros_speedup(
        Acceptance.of(metrics.hazard_by_position, metrics.acceptance_estimate),
        round(metrics.drafted / metrics.drafting),
        round(work.appended / work.forwards),
        c=metrics.tokens_per_draft_forward,
        t_draft=draft,
        t_target=one,
    )
    assert found.equation == pytest.approx(expected)
    assert f"{expected:.2f} times as fast by Eq. 6" in found.sentence


def test_plain_decoding_is_predicted_to_be_itself(pair):
    run = generate(pair, list(models.PROMPT), method="vanilla", max_new_tokens=8)
    found = predict(TABLE, measure(run.trace), Work.of(run.trace))
    assert (found.forwards, found.equation, found.draft) == (pytest.approx(1.0), None, None)
    assert found.sentence == (
        "By the cost table a target forward here takes 1.00 of one over a single row: 1.00 times if forwards "
        "were all that takes time."
    )


def test_a_run_of_one_iteration_predicts_nothing(pair):
    run = generate(pair, list(models.PROMPT), method="vanilla", max_new_tokens=1)
    assert predict(TABLE, measure(run.trace), Work.of(run.trace)) is None


def test_work_adds_up():
    one, two = Work(forwards=1, rows=2), Work(forwards=3, emitted=4)
    assert one + two == Work(forwards=4, rows=2, emitted=4)
