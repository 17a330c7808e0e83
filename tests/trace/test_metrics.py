"""Numbers of a run, checked against values worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings

from phrasekit.trace import Branch, Trace, TreeRecord, measure
from tests.strategies import traces


def test_counts(story):
    found = measure(story)
    assert (found.iterations, found.emitted) == (4, 10)
    assert found.emitted_by_origin == {"draft": 3, "phrase": 1, "suffix": 2, "target": 4}
    assert (found.drafting, found.drafted, found.accepted, found.matches) == (3, 8, 4, 6)
    assert found.rejections == 2  # the third iteration's draft was accepted whole: nothing observed
    assert (found.draft_forwards, found.inner_forwards) == (4, 5)
    assert found.dropped == 1


def test_rates(story):
    found = measure(story)
    assert found.block_efficiency == 10 / 4
    assert found.mean_accepted == 4 / 3
    assert found.acceptance_rate == 4 / 8
    assert found.acceptance_estimate == 4 / (4 + 2)
    assert found.misplaced == (6 - 4) / 3
    assert found.mean_matches == 6 / 3
    assert found.tokens_per_draft_forward == 8 / 4
    assert found.draft_forwards_per_token == 4 / 10
    assert found.rows_per_target_forward == (6 + 4 + 1) / 3


def test_positions(story):
    found = measure(story)
    assert found.drafted_by_position == (3, 3, 2)
    assert found.accepted_by_position == (2, 2, 0)
    assert found.acceptance_by_position == (2 / 3, 2 / 3, 0.0)


def test_hazard_is_censored_by_full_acceptance(story):
    found = measure(story)
    # position 2 was tested once: the first mistake of one draft hid it, and another draft ended before
    assert found.tested_by_position == (3, 2, 1)
    assert found.hazard_by_position == (1 / 3, 0.0, 1.0)


def test_hazard_is_none_where_nothing_was_tested(misplaced):
    found = measure(Trace("m", (60,), (misplaced,)))
    assert found.hazard_by_position == (1.0, None, None)
    assert found.acceptance_by_position == (0.0, 0.0, 0.0)


def test_suffix_counts_only_where_the_whole_draft_was_accepted(story, lengthened):
    assert (measure(story).suffix_rounds, measure(story).mean_suffix_accepted) == (1, 2.0)
    broken = replace(
        lengthened, picks=(20, 99, 30, 32, 61, 60), path=(0,), emitted=(20, 99), kinds=("draft", "target")
    )
    found = measure(Trace("m", (50,), (broken,)))
    assert (found.suffix_rounds, found.suffix_accepted, found.mean_suffix_accepted) == (0, 0, None)


def test_a_branch_beside_the_draft_is_no_suffix(lengthened):
    beside = replace(lengthened.tree, branches=(Branch("phrase", 4, (0, 1, 2)),))
    assert measure(Trace("m", (50,), (replace(lengthened, tree=beside),))).suffix_rounds == 0


def test_guesses_without_a_draft_count_as_suffixes(vanilla):
    tree = TreeRecord((5, 6), (-1, 0), ("phrase", "phrase"), (1, 1), branches=(Branch("phrase", 1, (0, 1)),))
    guessed = replace(
        vanilla, tree=tree, picks=(5, 9, 0), path=(0,), emitted=(5, 9), kinds=("phrase", "target")
    )
    found = measure(Trace("m", (70,), (guessed,)))
    assert (found.suffix_rounds, found.mean_suffix_accepted, found.drafted) == (1, 1.0, 0)


def test_pool(story):
    found = measure(story)
    assert (found.target_lookups, found.target_hits, found.target_hit_rate) == (1, 1, 1.0)
    assert (found.draft_lookups, found.draft_hits, found.draft_hit_rate) == (2, 1, 0.5)
    assert (found.lookups, found.hits, found.hit_rate) == (3, 2, 2 / 3)
    assert (found.pool_inserted, found.pool_evicted, found.pool_growth) == (2, 1, 1)
    assert found.pool_size == 4


def test_pool_size_may_come_from_the_draft_side(partial):
    assert measure(Trace("m", (7, 8), (partial,))).pool_size == 3


def test_times(story):
    found = measure(story)
    assert found.phase_ms == {"propose": 8.5, "forward": 8.0, "walk": 0.5, "commit": 1.0, "learn": 2.0}
    assert (found.total_ms, found.target_ms, found.draft_ms) == (20.0, 8.0, 4.0)
    assert found.overhead_share == pytest.approx(0.4)
    assert found.tokens_per_second == 10 / 0.020
    assert (found.decode_emitted, found.decode_ms) == (7, 10.0)
    assert found.decode_tokens_per_second == 7 / 0.010


def test_overlapping_forwards_leave_no_negative_overhead(vanilla):
    parallel = replace(vanilla, phases={"forward": 0.5})
    assert measure(Trace("m", (70,), (parallel,))).overhead_share == 0.0


@pytest.mark.parametrize("runs", [(), (Trace("m", (1,)),)])
def test_nothing_measured_has_no_rates(runs):
    values = measure(*runs).as_dict()
    rates = {name for name, value in values.items() if value is None}
    assert rates == {
        *("acceptance_estimate", "acceptance_rate", "block_efficiency", "mean_accepted", "mean_matches"),
        *("misplaced", "mean_suffix_accepted", "tokens_per_draft_forward", "draft_forwards_per_token"),
        *("hit_rate", "target_hit_rate", "draft_hit_rate", "rows_per_target_forward"),
        *("overhead_share", "tokens_per_second", "decode_tokens_per_second"),
    }
    assert not any(value for name, value in values.items() if name not in rates)


def test_several_runs_count_as_one(story):
    once, twice = measure(story), measure(story, story)
    assert (twice.emitted, twice.tested_by_position) == (20, (6, 4, 2))
    assert twice.block_efficiency == once.block_efficiency
    assert twice.hazard_by_position == once.hazard_by_position


def test_as_dict_holds_counts_and_rates(story):
    values = measure(story).as_dict()
    assert values["emitted"] == 10
    assert values["block_efficiency"] == 2.5
    assert json.loads(json.dumps(values))["hazard_by_position"] == [1 / 3, 0.0, 1.0]


@settings(max_examples=40, deadline=None)
@given(traces())
def test_numbers_hang_together(trace):
    found = measure(trace)
    assert sum(found.emitted_by_origin.values()) == found.emitted == len(trace.tokens)
    assert sum(found.drafted_by_position) == found.drafted
    assert sum(found.accepted_by_position) == found.accepted <= found.matches <= found.drafted
    assert sum(found.tested_by_position) == found.accepted + found.rejections
    assert found.draft_forwards <= found.inner_forwards
    rates = [found.acceptance_rate, found.acceptance_estimate, found.hit_rate, found.overhead_share]
    rates += [*found.acceptance_by_position, *found.hazard_by_position]
    assert all(0 <= rate <= 1 for rate in rates if rate is not None)
    assert all(math.isfinite(value) for value in found.as_dict().values() if isinstance(value, float))
