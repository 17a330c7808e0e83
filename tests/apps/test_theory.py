"""Closed forms under sliders, and where the run stands."""

from __future__ import annotations

from dataclasses import replace

import panel as pn
import param
import pytest

from dashboard.parts.runbar import RunBar
from dashboard.tabs.theory.curves import GAMMAS, KEY, OUROBOROS, PEARL, SPECULATIVE, Numbers, curves_view
from dashboard.tabs.theory.tab import TheoryTab
from phrasekit.trace.summary import counted
from tests.apps.conftest import finish, until

NUMBERS = Numbers(alpha=0.8, c=2.0, ratio=0.25, beta=3)


def tab_of(session):
    session.settings.tab = "theory"
    return TheoryTab(session, RunBar(session))


def expected(length: int) -> float:
    return 0.8 * (1 - 0.8**length) / 0.2


@pytest.mark.parametrize("gamma", [1, 4, 16])
def test_the_curves_are_the_papers_equations(gamma):
    assert NUMBERS.speculative(gamma) == pytest.approx((expected(gamma) + 1) / (gamma * 0.25 + 1))
    assert NUMBERS.ouroboros(gamma) == pytest.approx((expected(gamma + 3) + 1) / (gamma * 0.125 + 1))


def test_the_ceilings():
    assert NUMBERS.ceiling == pytest.approx(4)
    assert NUMBERS.double == pytest.approx(8)
    assert max(map(NUMBERS.pearl, GAMMAS)) <= 4


def test_the_table_twin_has_every_gamma():
    view = curves_view(NUMBERS, None, "")
    assert [row[0] for row in view.table.rows] == list(GAMMAS)
    assert "C = 4.00" in view.sentence


def test_the_sliders_begin_at_the_run_shown(visitor):
    tab = tab_of(visitor())
    run = tab._run()
    assert tab.numbers.c == pytest.approx(run.c, abs=0.01)
    assert tab.numbers.ratio == pytest.approx(run.t_draft / run.t_target, abs=0.01)
    assert "By the clock" in tab.sentence.object


def test_a_slider_moves_the_curves(visitor):
    tab = tab_of(visitor())
    before = tab.drawing.figure["data"]
    tab.sliders["alpha"].value = 0.3
    assert tab.drawing.figure["data"] != before
    assert "α = 0.30" in tab.sentence.object


def release(slider, value):
    """Move a slider, as a visitor does."""
    with param.edit_constant(slider):
        slider.param.update(value=value, value_throttled=value)


def test_opened_after_a_run_it_has_the_numbers_of_that_run(visitor):
    session = visitor(tab="tune", tokens=16)
    tab = TheoryTab(session, RunBar(session))
    recorded = tab.numbers
    session.start()
    finish(session)
    session.settings.tab = "theory"
    run = tab._run()
    assert tab.numbers.c != recorded.c
    assert (tab.numbers.beta, tab.numbers.c) == (run.beta, pytest.approx(run.c, abs=0.01))
    assert counted(run.beta, "suffix token") in tab.told.object


def test_lines_and_signs_are_told(visitor):
    tab = tab_of(visitor())
    names = [one["text"] for one in tab.drawing.figure["layout"]["annotations"]]
    for curve in (SPECULATIVE, OUROBOROS, PEARL):
        assert f"<b>{curve}</b>" in names
    markup = " ".join(pane.object for pane in tab.layout.select(pn.pane.HTML))
    for sign, _, words in KEY:
        assert f"{sign}</b> {words}" in markup


def test_sliders_follow_the_run_until_one_is_moved(visitor):
    session = visitor(tokens=16)
    tab = tab_of(session)
    recorded = tab.numbers
    session.start()
    finish(session)
    ran = tab.numbers
    assert ran != recorded
    assert session.settings.curve_alpha is None
    release(tab.sliders["alpha"], 0.3)
    assert (session.settings.curve_alpha, session.settings.curve_c) == (0.3, ran.c)
    session.start()
    finish(session)
    assert tab.numbers == replace(ran, alpha=0.3)
    assert tab.take_run()
    assert session.settings.curve_alpha is None


def test_a_link_brings_the_numbers(visitor):
    session = visitor(curve_alpha=0.55, curve_c=2.5, curve_ratio=0.1, curve_beta=4)
    tab = tab_of(session)
    assert tab.numbers == Numbers(alpha=0.55, c=2.5, ratio=0.1, beta=4)
    assert "those of the link" in tab.told.object
    assert session.settings.curve_ratio == 0.1


def test_costs_are_measured_in_the_pairs_thread(visitor):
    session = visitor()
    tab = tab_of(session)
    assert tab.measure_here()
    until(lambda: session.tick() or tab._costs.over)
    tab.show()
    table = tab._costs.table
    ratio = table.ms("draft", 1, 128) / table.ms("target", 1, 128)
    assert tab.numbers.ratio == pytest.approx(min(1.5, max(0.02, ratio)), abs=0.006)
    assert "Measured here" in tab.told.object


def test_a_run_without_a_draft_has_no_such_numbers(visitor):
    session = visitor(method="vanilla", tokens=8)
    tab = tab_of(session)
    session.start()
    finish(session)
    tab.show()
    assert not tab.take_run()
    assert "no draft model" in tab.told.object
