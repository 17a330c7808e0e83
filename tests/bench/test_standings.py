"""Medians, spreads, fastest settings and the ratios that people ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit.bench.report import report_family
from phrasekit.bench.runner import Runner
from phrasekit.bench.samples import merged
from phrasekit.bench.standings import Spread, fastest, spread
from phrasekit.trace import PhraseRecord, PoolRecord, Trace, measure
from tests.bench.conftest import FakeContender, task
from tests.trace.conftest import chain, drafting


def test_spread_is_the_median_and_its_quartiles():
    assert spread([]) is None
    assert spread([2.0]) == Spread(2.0, 2.0, 2.0)
    assert spread([3.0, 1.0, 2.0]) == Spread(2.0, 1.5, 2.5)


def test_ratios_are_taken_within_a_repeat(clock):
    """A machine that becomes twice as slow for all changes no ratio."""
    pace = [1.0]

    class Drifting(FakeContender):
        def generate(self, prompt):
            before = self._clock.now
            tokens = super().generate(prompt)
            self._clock.now = before + (self._clock.now - before) * pace[0]
            return tokens

        def renew(self):
            pace[0] = 2.0 if self.renewed else 1.0
            super().renew()

    plain, fast = Drifting("vanilla", clock, 0.2), Drifting("speculative", clock, 0.1, origin="phrasekit")
    contenders, tasks = [plain, fast], [task(0), task(5)]
    outcome = Runner(contenders=contenders, tasks=tasks, repeats=2, clock=clock).run()
    standing = report_family("code", contenders, tasks, outcome, repeats=2).standings[1]
    assert standing.tokens_per_second.low < 0.9 * standing.tokens_per_second.high
    assert standing.times_plain == Spread(pytest.approx(2.0), pytest.approx(2.0), pytest.approx(2.0))


def test_a_peer_stands_at_its_fastest_setting_and_ours_is_compared_with_that(clock):
    contenders = [
        FakeContender("generate", clock, 0.4),
        FakeContender("assisted-2", clock, 0.3, family="assisted"),
        FakeContender("assisted-4", clock, 0.2, family="assisted"),
        FakeContender("vanilla", clock, 0.4, origin="phrasekit"),
        FakeContender("speculative", clock, 0.1, origin="phrasekit"),
    ]
    tasks = [task(0)]
    outcome = Runner(contenders=contenders, tasks=tasks, repeats=1, clock=clock).run()
    told = report_family("code", contenders, tasks, outcome, repeats=1)
    assert told.reference == "generate"
    assert [one.name for one in fastest(told.standings)] == [
        "generate",
        "assisted-4",
        "vanilla",
        "speculative",
    ]
    found = {(one.faster, one.slower): one.times.median for one in told.comparisons}
    assert found == {
        ("vanilla", "generate"): pytest.approx(1.0),
        ("speculative", "assisted-4"): pytest.approx(2.0),
    }


def test_without_generate_plain_decoding_is_the_reference(clock):
    contenders = [FakeContender("vanilla", clock, 0.1, origin="phrasekit"), FakeContender("b", clock, 0.1)]
    outcome = Runner(contenders=contenders, tasks=[task(0)], repeats=1, clock=clock).run()
    told = report_family("code", contenders, [task(0)], outcome, repeats=1)
    assert (told.reference, told.standings[0].times_generate) == ("vanilla", None)


def test_merged_metrics_are_those_of_all_traces_together():
    pool = PoolRecord(lookups=3, hits=2, inserted=(PhraseRecord(1, (4, 5), "committed"),), size=7)
    short = replace(drafting(2.0), tree=chain((4, 5), ("draft", "phrase")), picks=(4, 9, 6), path=(0,))
    short = replace(short, emitted=(4, 9), kinds=("draft", "target"), draft=(drafting(1.0, pool=pool),))
    long = replace(drafting(4.0), tree=chain((4, 5, 6), ("draft",) * 3), picks=(4, 5, 6, 7), path=(0, 1, 2))
    long = replace(long, index=1, emitted=(4, 5, 6, 7), kinds=("draft",) * 3 + ("target",), pool=pool)
    traces = [
        Trace(method="x", prompt=(1,), iterations=(short, long)),
        Trace(method="x", prompt=(1,), iterations=(replace(short, phases={"forward": 8.0, "learn": 1.0}),)),
    ]
    together = merged([measure(trace) for trace in traces])
    assert together == measure(*traces)
    assert (together.drafted_by_position, together.pool_size) == ((3, 3, 1), 7)
    assert merged([]) is None
