"""Heat, warm-up and race, family after family."""

from __future__ import annotations

import pytest

from phrasekit.bench.heat import evenly, run_heat, several_settings
from phrasekit.bench.runner import Runner
from phrasekit.bench.suite import Suite
from phrasekit.bench.table import draw_report, terminal
from tests.bench.conftest import FakeContender, task


def start(clock):
    return lambda who, what: Runner(contenders=who, tasks=what, repeats=1, clock=clock)


def field(clock, **changes):
    return [
        FakeContender("generate", clock, 0.1),
        FakeContender("assisted-2", clock, 0.3, family="assisted"),
        FakeContender("assisted-4", clock, 0.2, family="assisted", **changes),
        FakeContender("gamma=1", clock, 0.2, family="ouroboros", origin="phrasekit"),
        FakeContender("gamma=2", clock, 0.1, family="ouroboros", origin="phrasekit"),
    ]


def test_a_peer_goes_on_at_its_fastest_setting_and_all_others_as_they_are(clock):
    contenders = field(clock)
    assert [one.name for one in several_settings(contenders)] == ["assisted-2", "assisted-4"]
    heat = run_heat(contenders, [task(0)], start(clock))
    assert [one.name for one in heat.entered] == ["generate", "assisted-4", "gamma=1", "gamma=2"]
    assert heat.speeds == {"assisted-2": pytest.approx(10 / 3), "assisted-4": pytest.approx(5.0)}
    assert not contenders[0].calls


def test_without_prompts_for_a_heat_everybody_races(clock):
    contenders = field(clock)
    assert run_heat(contenders, [], start(clock)).entered == tuple(contenders)


def test_a_setting_that_fails_is_left_behind_with_its_reason(clock):
    def fail(call):
        raise RuntimeError("no such thing")

    heat = run_heat(field(clock, on_call=fail), [task(0)], start(clock))
    assert "assisted-2" in {one.name for one in heat.entered}
    assert heat.failures == {"assisted-4": "RuntimeError: no such thing"}


@pytest.mark.parametrize("heat", [0, 1])
def test_the_bar_knows_how_many_generations_there_are(clock, data, pair, heat):
    contenders, seen = field(clock), []
    suite = Suite(
        families=("code",), prompts=2, repeats=2, warmup=1, heat=heat, max_new_tokens=4, recording=False
    )
    suite.run(pair, contenders, settings={}, progress=seen.append)
    assert len(seen) == suite.generations(contenders)


def test_an_interrupted_heat_gives_a_report_that_says_so(clock, data, pair, capsys):
    def interrupt(call):
        raise KeyboardInterrupt

    suite = Suite(families=("code", "qa"), prompts=2, max_new_tokens=4)
    report = suite.run(pair, field(clock, on_call=interrupt), settings={}, progress=lambda _: None)
    assert report.partial
    assert len(report.families) == 1
    terminal().print(draw_report(report))
    shown = capsys.readouterr().out
    assert "PARTIAL" in shown
    assert "Nothing was finished." in shown


def test_a_family_without_spare_prompts_warms_up_on_its_first(data, pair):
    for prompts, warmup in ((4, "HumanEval/0"), (2, "HumanEval/2")):
        counted, (spare,) = Suite(prompts=prompts, warmup=1).tasks(pair, "code")
        assert (len(counted), spare.id) == (prompts, warmup)


def test_a_heat_takes_prompts_from_all_over():
    tasks = [task(n) for n in range(20)]
    assert [one.id for one in evenly(tasks, 4)] == ["p0", "p5", "p10", "p15"]
    assert evenly(tasks[:2], 6) == tasks[:2]
    assert evenly(tasks, 0) == []
