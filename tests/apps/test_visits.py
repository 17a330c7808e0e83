"""A page that is loaded again finds what it had; nobody else does, and nothing is kept for those who left."""

from __future__ import annotations

import gc
import logging
from weakref import ref

import pytest

from dashboard.parts.runbar import RunBar
from dashboard.tabs.compare.tab import CompareTab
from dashboard.tabs.step import StepTab
from dashboard.visitor.session import MOVED
from phrasekit import demo, generate
from phrasekit.pool import PhrasePool
from tests.apps.conftest import PROMPT, finish, until

TOKEN = "0123456789abcdef" * 2
OTHER = "f" * 32


def page(visitor, token=TOKEN, **settings):
    """A page as its browser tab shows it."""
    made = visitor(**settings)
    made.arrive(token)
    return made


def test_a_run_that_goes_on_is_shown_by_the_page_that_is_loaded_again(visitor, pair):
    old = page(visitor, pace="8 iterations a second")
    old.start()
    until(lambda: old.run.iterations)
    run = old.run
    new = page(visitor)
    assert new.run is run
    assert new.following, "the page looks at it from now on"
    assert new.source == "run"
    old.close()
    assert not run.cancelled, "the page that is gone has nothing to stop"
    finish(new)
    assert run.status == "done"
    assert run.tokens == generate(pair, PROMPT, method="vanilla", max_new_tokens=32).tokens


def test_everything_that_was_there_is_there_again(visitor):
    old = page(visitor, method="speculative", tokens=12, pool="kept")
    old.start()
    finish(old)
    old.prove()
    old.pin()
    finish(old)
    old.upload((demo.TRACES / "speculative.jsonl").read_bytes())
    phrases = PhrasePool()
    old.take_pool(phrases, old.place)
    new = page(visitor, method="speculative", tokens=12, pool="kept")
    assert new.source == "uploaded"
    new.leave_upload()
    assert (new.source, new.run.status, new.verdict.same) == ("run", "done", True)
    assert [pin.knobs for pin in new.pins] == ["γ2"]
    assert new.pool is phrases
    assert not new.following


def test_what_the_link_says_holds_and_the_run_stays_as_it_was(visitor):
    old = page(visitor, pace="2 iterations a second", gamma=4)
    old.start()
    until(lambda: old.run.iterations)
    new = page(visitor, gamma=9, step=3, temperature=0.5)
    assert (new.settings.gamma, new.settings.step, new.waits) == (9, 3, ("temperature",))
    assert new.run.wanted is None
    new.settings.gamma = 10
    assert new.run.wanted.knobs["gamma"] == 10, "and it can be steered"
    new.cancel()
    finish(new)


def test_the_stepper_stands_where_it_stood_and_a_new_run_begins_at_its_beginning(visitor):
    old = page(visitor, tokens=48)
    old.start()
    finish(old)
    new = visitor(tab="step", step=5)
    tab = StepTab(new, RunBar(new))
    new.arrive(TOKEN)
    assert len(new.run.iterations) > 6
    assert (tab.stepper.step, new.settings.step) == (5, 5)
    new.start()
    finish(new)
    assert (tab.stepper.step, new.settings.step) == (0, 0)


def test_the_page_before_has_nothing_left_and_says_so(visitor):
    old = page(visitor, pace="2 iterations a second")
    old.start()
    owner = old.owner
    new = page(visitor)
    old.tick()
    assert (old.run, old.pins, old.source, old.following) == (None, (), "recorded", False)
    assert old.notice == MOVED
    assert (new.owner, old.owner != owner) == (owner, True)
    old.cancel()
    old.hold()
    old.settings.gamma = 7
    assert new.run.active
    assert new.run.wanted is None
    old.settings.pace = "full speed"
    assert old.start(), "it is a page like any other"
    finish(old)
    assert new.run.active
    new.cancel()
    finish(new)


def test_of_two_pages_with_one_token_the_later_one_has_it(visitor, hub):
    first = page(visitor, pace="2 iterations a second")
    first.start()
    run = first.run
    pages = [first, page(visitor), page(visitor)]
    assert [one.run is run for one in pages] == [False, False, True]
    assert len(hub.visits) == 1
    pages[0].close()
    pages[1].close()
    assert not run.cancelled
    pages[2].close()
    until(lambda: run.over)
    assert (run.status, len(hub.visits)) == ("cancelled", 0)


def test_nobody_sees_what_another_tab_has(visitor):
    old = page(visitor)
    old.start()
    assert page(visitor, OTHER).run is None
    assert visitor().run is None
    finish(old)


@pytest.mark.parametrize("token", ["", "0" * 31, "0" * 33, "G" * 32, "../" + "0" * 29, TOKEN + "\n"])
def test_what_is_no_token_is_left_alone(visitor, hub, token):
    page(visitor, token)
    assert len(hub.visits) == 0


def test_a_page_has_one_token_only(visitor, hub):
    old, other = page(visitor), page(visitor, OTHER)
    old.start()
    other.arrive(TOKEN)
    assert other.run is None
    assert len(hub.visits) == 2
    finish(old)


def test_a_page_that_has_something_already_keeps_it(visitor):
    old = page(visitor, pace="2 iterations a second")
    old.start()
    hasty = visitor()
    hasty.start()
    mine = hasty.run
    hasty.arrive(TOKEN)
    finish(hasty)
    assert hasty.run is mine
    assert old.run.active
    assert page(visitor).run is mine
    old.close()
    until(lambda: old.run.over)


def test_a_race_is_found_by_its_tab(visitor):
    settings = {"tab": "compare", "compared": "speculative", "prompts": "this", "race_tokens": 8}
    old = page(visitor, **settings)
    before = CompareTab(old, RunBar(old))
    assert before.begin()
    new = page(visitor, **settings)
    tab = CompareTab(new, RunBar(new))
    finish(new)
    assert tab.race.status == "done"
    assert "Two settings, 1 prompt, one text" in tab.intro.object
    assert before.race is None


def test_the_token_is_in_no_link_no_file_and_no_log(visitor, caplog):
    with caplog.at_level(logging.DEBUG):
        old = page(visitor, tokens=4)
        old.start()
        finish(old)
        new = page(visitor)
        new.close()
    for told in (old.settings.query(), str(new.settings.as_dict()), repr(new), repr(new.visit), caplog.text):
        assert TOKEN not in told


def test_memory_stays_flat_over_200_pages(visitor, hub):
    def several(count):
        for _ in range(count):
            one = page(visitor, method="vanilla", tokens=2)
            one.start()
            finish(one)
            page(visitor).close()
        gc.collect()
        return len(gc.get_objects())

    first = page(visitor, method="vanilla", tokens=2)
    first.start()
    finish(first)
    old = ref(first.run)
    page(visitor).close()
    del first
    several(10)
    before = several(10)
    grown = several(190) - before
    assert old() is None
    assert len(hub.visits) == 0
    assert grown < 500, f"{grown} objects more after 190 pages"
