"""Pins: each has its own plain decoding, in turns, so that those made at different times can be compared."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dashboard.jobs.job import DONE
from dashboard.jobs.pinned import ROUNDS, Pinned, Round, fastest
from dashboard.jobs.race import WARM, Lane
from dashboard.jobs.run import Plan
from dashboard.tabs.tune.pins import PinTable, table, told
from phrasekit import demo
from phrasekit.trace import measure
from tests.apps.conftest import PROMPT, finish


@pytest.fixture
def pinned(visitor):
    session = visitor(method="speculative", gamma=3, tokens=24)
    assert session.pin()
    finish(session)
    return session


def test_a_pin_is_measured_round_by_round_beside_plain_decoding(pinned):
    (pin,) = pinned.pins
    assert (pin.name, pin.knobs, pin.status) == ("speculative", "γ3", DONE)
    assert len(pin.ratios) == ROUNDS
    assert pin.ratio == sorted(pin.ratios)[ROUNDS // 2]
    for one in pin.rounds:
        assert one.own.tokens == one.plain.tokens
        assert len(one.plain.tokens) == 24
        assert all(iteration.drafted == 0 for iteration in one.plain.iterations)
        assert one.ratio == pytest.approx(one.plain.ms / one.own.ms)
    assert pin.verdict.same
    assert pin.metrics.emitted == ROUNDS * 24


def test_both_have_their_turns_side_by_side(pinned, monkeypatch):
    """Whoever had less time is next, so neither ends long before the other has begun."""
    order = []
    step = Lane.step
    monkeypatch.setattr(Lane, "step", lambda lane: (order.append(lane.entry.method), step(lane)))
    pin = Pinned(pinned.pins[0].plan, owner="somebody")
    for _ in pin.work(pinned.place.pair):
        if pin.rounds:
            break
    first = order[2 * WARM :]
    assert set(first[:8]) == {"vanilla", "speculative"}
    assert set(first[len(first) // 2 :]) == {"vanilla", "speculative"}


def test_every_round_begins_with_an_empty_pool(visitor):
    session = visitor(method="ouroboros", tokens=32)
    session.pin()
    finish(session)
    counts = {tuple(it.pool.size for it in one.own.iterations) for one in session.pins[0].rounds}
    assert len(counts) == 1


def test_a_pin_that_is_removed_ends_and_its_number_goes(pinned):
    session, shown = pinned, PinTable(pinned)
    session.settings.gamma = 5
    assert session.pin()
    first, second = session.pins
    assert [pin.knobs for pin in session.pins] == ["γ3", "γ5"]
    shown.table._handle_msg({"pin": first.number})
    assert session.pins == (second,)
    for strange in ({"pin": 12345}, {"pin": "<script>"}, {}, "pin", None):
        shown.table._handle_msg(strange)
    assert session.pins == (second,)
    finish(session)
    assert "γ5" in shown.table.object
    assert "γ3" not in shown.table.object


NUMBERS = measure(demo.load_recorded())


def made(name, *ratios, prompt=PROMPT, knobs=None):
    """A pin that has measured these ratios."""
    pin = Pinned(Plan(prompt=prompt, method=name, knobs=knobs or {}), owner="somebody")
    pin.status = DONE
    lane = lambda ms: SimpleNamespace(ms=ms, tokens=(1,), metrics=NUMBERS)  # noqa: E731
    pin.rounds = tuple(Round(lane(one), lane(1.0)) for one in ratios)
    return pin


def test_the_fastest_is_named_only_where_the_rounds_do_not_touch():
    slow, fast, near = (
        made("speculative", 1.1, 1.2, 1.3),
        made("ouroboros", 1.5, 1.6, 1.7),
        made("hybrid", 1.4, 1.5, 1.52),
    )
    assert fastest([slow, fast]) == (fast,)
    assert "The fastest of 2 on this prompt is ouroboros" in told([slow, fast])
    assert fastest([slow, fast, near]) == (fast, near)
    assert told([slow, fast, near]).startswith("Too close to tell: ouroboros")
    assert "hybrid" in told([slow, fast, near])
    assert "".join(table([slow, fast], fast.plan.text_of)).count('class="mine"') == 1
    assert 'class="mine"' not in "".join(table([slow, fast, near], fast.plan.text_of))
    assert told([fast]).endswith("Pin another setting to compare it with.")
    assert told([]) == ""


def test_a_pin_of_another_prompt_is_marked_and_is_no_rival():
    here, there = made("speculative", 1.2, 1.2, 1.2), made("ouroboros", 9.0, 9.1, 9.2, prompt="import os\n")
    here.rounds = there.rounds = ()
    here.status = there.status = "waiting"
    markup = "".join(table([here, there], here.plan.text_of))
    assert markup.count("another prompt") == 1
    here, there = made("speculative", 1.2, 1.2, 1.2), made("ouroboros", 9.0, 9.1, 9.2, prompt="import os\n")
    assert fastest([here, there]) == (there,)
    assert "ouroboros" not in told([here])


def test_a_pin_that_fails_says_why(visitor):
    session = visitor(tokens=8)
    session.settings.param.update(prompt="x" * 9)
    plan = replace(session.settings.plan(), prompt_tokens=1)
    pin = Pinned(plan, owner=session.owner)
    assert session.submit(pin)
    session.visit.pins = (pin,)
    finish(session)
    markup = "".join(table([pin], plan.text_of))
    assert "a prompt may have at most 1 tokens here" in markup
