"""Links between views: a click in any of them opens the iteration in the stepper of the same run."""

from __future__ import annotations

import pytest

from phrasekit.trace import Trace
from phrasekit.views import harvest_view, stream_view, trace_page
from phrasekit.views.html import fragment
from phrasekit.views.html import page as document
from phrasekit.views.link import run_key
from phrasekit.views.stepper import stepper_html
from tests.views.stepper_traces import hostile, plain_of, story


@pytest.fixture
def whole(show):
    return show(trace_page(story(), plain=plain_of(story())))


def test_the_number_of_an_iteration_in_the_text_opens_it(whole):
    whole.locator(".pk-text .pk-open", has_text="2").click()
    assert whole.iteration() == 2
    assert whole.evaluate("scrollY") < 100
    whole.locator(".pk-text .pk-open", has_text="1").click()
    assert whole.iteration() == 1


def test_a_phrase_unfolds_to_where_it_was_used_and_leads_there(whole):
    phrase = whole.locator(".pk-phrases details", has_text="kept").first
    phrase.locator("summary").click()
    link = phrase.locator(".pk-open").first
    number = int(link.inner_text().split()[1])
    whole.press("Home" if number > 1 else "End")
    link.click()
    assert whole.iteration() == number


def test_every_cell_of_a_draft_opens_its_iteration(whole):
    whole.locator(".pk-matches td.mistake .pk-open").first.click()
    assert whole.iteration() == 1
    whole.locator(".pk-matches th .pk-open", has_text="2").click()
    assert whole.iteration() == 2


def test_a_link_is_followed_with_the_keyboard(whole):
    whole.locator(".pk-text .pk-open", has_text="2").focus()
    whole.keyboard.press("Enter")
    assert whole.iteration() == 2
    whole.keyboard.press("Shift+ArrowLeft")  # the stepper has the focus now
    assert whole.iteration() == 1


def test_a_page_opened_with_a_link_shows_that_iteration(show, whole):
    url = whole.page.url + f"#phrasekit-{run_key(story())}-2"
    whole.goto("about:blank")
    whole.goto(url)
    assert whole.iteration() == 2


def test_links_find_the_stepper_of_their_own_run(show):
    other = Trace("ouroboros", story().prompt, story().iterations[:1], "", {}, story().texts)
    text = fragment(stream_view(story()).draw().markup)
    page = show(document(stepper_html(other) + stepper_html(story()) + text, "two runs"))
    page.locator(".pk-stepper").nth(1).wait_for()
    page.locator(".pk-text .pk-open", has_text="2").click()
    assert page.locator(".count b").all_inner_texts() == ["1", "2"]


def test_without_its_stepper_a_link_leaves_the_page_as_it_is(show):
    page = show(document(fragment(stream_view(story()).draw().markup), "text alone"))
    page.locator(".pk-text .pk-open", has_text="2").click()
    assert page.locator(".pk-text").is_visible()


def test_nothing_hostile_becomes_a_link(show):
    page = show(trace_page(hostile()))
    hrefs = page.locator("a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert hrefs
    assert all(href.startswith(f"#phrasekit-{run_key(hostile())}-") for href in hrefs)
    assert page.evaluate("window.hacked") is None


def test_the_title_of_a_harvest_opens_its_iteration(show):
    markup = fragment(harvest_view(story()).draw().markup)
    page = show(document(stepper_html(story(), step=1) + markup, "harvest"))
    page.locator(".pk-view .pk-open", has_text="Iteration 1").click()
    assert page.iteration() == 1
