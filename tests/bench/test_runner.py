"""The schedule: who runs when, what counts, what is kept."""

from __future__ import annotations

import pytest

from phrasekit.bench.report import report_family
from phrasekit.bench.runner import Runner
from tests.bench.conftest import FakeContender, task

TASKS = [task(0), task(10), task(20)]


def report(contenders, outcome, repeats=2):
    return report_family("code", contenders, TASKS, outcome, repeats=repeats)


def test_everybody_runs_every_prompt_in_turns_and_warm_up_does_not_count(clock):
    order = []
    contenders = [FakeContender(name, clock, 0.1) for name in "abc"]
    runner = Runner(
        contenders=contenders, tasks=TASKS, repeats=2, warmup=[task(90)], clock=clock, progress=order.append
    )
    outcome = runner.run()
    assert "".join(order) == "abc" + "abcbcacab" + "bcacababc"
    assert [c.renewed for c in contenders] == [2, 2, 2]
    assert (len(outcome.samples), outcome.repeats, outcome.partial) == (18, 2, False)
    assert {sample.task for sample in outcome.samples} == {"p0", "p10", "p20"}


def test_the_clock_gives_speeds_and_ratios(clock):
    fast, slow = FakeContender("generate", clock, 0.1), FakeContender("vanilla", clock, 0.2)
    outcome = Runner(contenders=[fast, slow], tasks=TASKS, repeats=2, clock=clock).run()
    first, second = report([fast, slow], outcome).standings
    assert first.tokens_per_second.median == pytest.approx(10.0)
    assert second.tokens_per_second.median == pytest.approx(5.0)
    assert second.times_generate.median == pytest.approx(0.5)
    assert first.times_plain.median == pytest.approx(2.0)
    assert (first.tokens_per_target_forward, first.draft_forwards_per_token) == (2.0, 0.25)
    assert (first.differing, second.differing, second.prompts) == (0, 0, 3)


@pytest.mark.parametrize(
    "lie",
    [
        lambda right: right[:-1],
        lambda right: [*right, 0],
        lambda right: [*right[:-1], -1] if right[0] == 11 else right,
    ],
)
def test_a_liar_is_found(clock, lie):
    honest, liar = FakeContender("generate", clock, 0.1), FakeContender("liar", clock, 0.01, lie=lie)
    outcome = Runner(contenders=[honest, liar], tasks=TASKS, repeats=1, clock=clock).run()
    told = report([honest, liar], outcome, repeats=1)
    assert told.standings[1].differing in (1, 3)
    assert told.wrong == ("liar",)


def test_one_who_lies_in_the_last_repeat_only_is_found(clock):
    calls = []
    late = FakeContender(
        "late", clock, 0.1, lie=lambda right: calls.append(1) or (right if len(calls) < 6 else [0])
    )
    honest = FakeContender("generate", clock, 0.1)
    outcome = Runner(contenders=[honest, late], tasks=TASKS, repeats=2, clock=clock).run()
    assert report([honest, late], outcome).standings[1].differing == 1


def test_an_interruption_keeps_finished_rounds_only(clock):
    def interrupt(call):
        if call == 4:  # the second prompt of the second repeat
            raise KeyboardInterrupt

    steady, broken = FakeContender("vanilla", clock, 0.1), FakeContender("b", clock, 0.1, on_call=interrupt)
    outcome = Runner(contenders=[steady, broken], tasks=TASKS, repeats=2, clock=clock).run()
    assert (outcome.repeats, outcome.partial) == (1, True)
    assert len(outcome.samples) == 2 * (3 + 1)
    told = report([steady, broken], outcome)
    assert told.prompts == 3
    assert told.standings[1].tokens_per_second.median == pytest.approx(10.0)


def test_an_interruption_in_the_first_repeat_leaves_what_there_is(clock):
    def interrupt(call):
        if call == 2:
            raise KeyboardInterrupt

    steady, broken = FakeContender("vanilla", clock, 0.1), FakeContender("b", clock, 0.1, on_call=interrupt)
    outcome = Runner(contenders=[steady, broken], tasks=TASKS, repeats=3, clock=clock).run()
    told = report([steady, broken], outcome, repeats=3)
    assert (outcome.repeats, told.prompts) == (0, 2)
    assert told.standings[0].tokens_per_second is not None


def test_one_that_fails_leaves_and_the_others_go_on(clock):
    def fail(call):
        if call == 3:
            raise RuntimeError("no more")

    steady, frail = FakeContender("vanilla", clock, 0.1), FakeContender("frail", clock, 0.1, on_call=fail)
    outcome = Runner(contenders=[steady, frail], tasks=TASKS, repeats=2, clock=clock).run()
    assert outcome.failures == {"frail": "RuntimeError: no more"}
    first, second = report([steady, frail], outcome).standings
    assert (first.prompts, second.prompts) == (3, 0)
    assert (second.failure, second.tokens_per_second) == ("RuntimeError: no more", None)


def test_the_devices_are_waited_for_around_every_generation(clock):
    waits = []
    lone = FakeContender("vanilla", clock, 0.1)
    Runner(contenders=[lone], tasks=TASKS, repeats=1, clock=clock, synchronize=lambda: waits.append(1)).run()
    assert len(waits) == 6


def test_contenders_need_names_of_their_own_and_work(clock):
    twins = [FakeContender("a", clock, 0.1), FakeContender("a", clock, 0.1)]
    with pytest.raises(ValueError, match="names of their own, but got a, a"):
        Runner(contenders=twins, tasks=TASKS)
    with pytest.raises(ValueError, match="but got 0 and 3"):
        Runner(contenders=twins[:1], tasks=[])
