"""What a visitor does, in a browser: load, run, steer, cancel, link, upload, two at once, a lost connection."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise

import pytest

from dashboard.visitor.state import Settings
from tests.apps.conftest import PROMPT

WAIT = 90_000  # milliseconds: machines that test are busy
GOING = re.compile(r"^iteration ([2-9]|\d\d)")
RUN = {"pace": "8 iterations a second", "prompt": PROMPT, "tokens": 96}


class Visitor:
    """A page of its own, as a browser without history has it."""

    def __init__(self, browser, address, *, tour=False, **context):
        self.context = browser.new_context(viewport={"width": 1400, "height": 1000}, **context)
        self.context.add_init_script(SOCKETS)
        if not tour:
            self.context.add_init_script("localStorage.setItem('phrasekit-tour', 'seen')")
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.errors, self.requests = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.context.on("request", lambda request: self.requests.append(request.url))  # of popups too
        self.context.on("console", self._hear)  # what a page was refused, also before it was a request
        self.address = address

    def _hear(self, message):
        if message.type == "error" and "Failed to load resource" in message.text:
            self.errors.append(f"{message.text} {message.location['url']}")

    def open(self, **settings):
        self.page.goto(self.address + Settings(**{**RUN, **settings}).query())
        self.button("Run").or_(self.page.get_by_text("Show as table")).first.wait_for()
        self.page.wait_for_function("window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
        return self

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def says(self, words):
        self.page.get_by_text(words).first.wait_for()

    def lanes(self):
        return self.page.locator(".lanes svg")

    def close(self):
        self.context.close()
        assert not self.errors, self.errors
        outside = [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]
        assert not outside, outside


# Keeps every websocket at hand, so that a test can cut the line.
SOCKETS = """
window.lines = []
const Real = window.WebSocket
window.WebSocket = class extends Real { constructor(...given) { super(...given); window.lines.push(this) } }
"""


@pytest.fixture
def visit(browser, address):
    there = []

    def come(**given):
        there.append(Visitor(browser, address, **given))
        return there[-1]

    yield come
    for one in there:
        one.close()


def test_first_visit_tour_and_every_tab(visit):
    here = visit(tour=True)
    here.open()
    here.says("1 of 5: A prompt")
    steps = ("One iteration", "Knobs, live", "The fastest setting", "Your own pair")
    for number, title in enumerate(steps, start=2):
        here.button("Next").click()
        here.says(f"{number} of 5: {title}")
        tab = ("Step", "Tune", "Search", "Model")[number - 2]
        here.page.get_by_role("tab", name=tab, selected=True).wait_for()
    here.says("probe of the target")
    here.button("Back").click()
    here.says("4 of 5: The fastest setting")
    here.button("Next").click()
    here.button("Done").click()
    here.page.get_by_text("5 of 5").first.wait_for(state="hidden")
    assert here.page.evaluate("localStorage.getItem('phrasekit-tour')") == "seen"
    here.page.get_by_role("tab", name="Step", selected=True).wait_for()  # where it began
    for tab in here.page.get_by_role("tab").all():
        tab.click()
    here.page.get_by_role("tab", name="Theory").click()
    here.page.locator(".js-plotly-plot").first.wait_for()


def test_escape_leaves_the_tour_for_good(visit):
    here = visit(tour=True)
    here.open()
    here.says("1 of 5: A prompt")
    here.page.keyboard.press("Escape")
    here.page.get_by_text("1 of 5").wait_for(state="hidden")
    here.page.wait_for_function("localStorage.getItem('phrasekit-tour') === 'seen'")
    here.open()
    here.page.wait_for_timeout(300)
    assert not here.page.get_by_text("1 of 5").is_visible()


FOCUSED = """() => {
  let at = document.activeElement
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at.textContent
}"""


def test_the_tour_keeps_the_keyboard_and_gives_it_back(visit):
    here = visit().open(tab="tune")
    here.button("Tour").focus()
    here.page.keyboard.press("Enter")
    here.says("1 of 5: A prompt")
    assert here.page.get_by_role("dialog", name="1 of 5: A prompt").is_visible()
    stops = []
    for key in ("Tab", "Tab", "Shift+Tab"):
        stops.append(here.page.evaluate(FOCUSED))
        here.page.keyboard.press(key)
    assert stops == ["Next", "Close the tour", "Next"]
    assert here.page.evaluate(FOCUSED) == "Close the tour"
    here.page.keyboard.press("Shift+Tab")
    here.page.keyboard.press("Enter")
    here.says("2 of 5: One iteration")
    assert here.page.evaluate(FOCUSED) == "Next"
    here.page.keyboard.press("Escape")
    here.page.get_by_text("2 of 5").wait_for(state="hidden")
    assert here.page.evaluate(FOCUSED) == "Tour"
    here.page.get_by_role("tab", name="Tune", selected=True).wait_for()


def test_a_phone_reaches_every_button_of_the_header(visit):
    here = visit().open()
    here.page.set_viewport_size({"width": 420, "height": 900})
    names = ("Copy link", "Files", "Toggle theme")
    boxes = [here.button(name).bounding_box() for name in names]
    for left, right in pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"] + 1
    assert boxes[-1]["x"] + boxes[-1]["width"] <= 420


EMPTY = """(tab) => new Promise((done) => {
  const root = tab.getRootNode()
  const told = () => [...root.querySelectorAll(".child-wrapper")].some((place) => getComputedStyle(place, "::after").content.includes("being drawn"))
  let seen = false
  tab.click()
  const look = () => {
    if (seen && !told()) return done(true)
    seen ||= told()
    requestAnimationFrame(look)
  }
  look()
})"""


def test_a_tab_opened_first_says_that_it_is_being_drawn(visit):
    here = visit().open()
    assert here.page.get_by_role("tab", name="Tune").evaluate(EMPTY)
    here.says("The text appears here, token by token.")


def test_run_steer_prove_and_cancel(visit):
    here = visit().open(tab="tune", tokens=400)
    began = time.monotonic()
    here.button("Run").click()
    here.lanes().wait_for()
    assert time.monotonic() - began < 20
    here.says(GOING)
    slider = here.page.get_by_role("slider", name="draft length")
    slider.focus()
    here.page.keyboard.press("ArrowRight")
    here.page.locator(".lanes .flagtext:not(.waits)", has_text="γ 2 → 3").wait_for()
    here.page.locator(".pk-flag", has_text="γ 2 → 3").wait_for()
    here.button("Cancel").click()
    here.says("what is shown is complete up to there")
    here.button("Prove it").click()
    here.says(re.compile("Output unchanged: identical to plain decoding"))
    here.button("Export").click()
    here.says("pk.Knobs(gamma=3")


CROSSED = """(name) => {
  const { x, y, width, height } = name.getBBox()
  const within = (at) => at.x > x && at.x < x + width && at.y > y && at.y < y + height
  const drawn = ["line", "dashes"].map((kind) => name.parentNode.querySelector(`.${kind}`))
  const points = (part) => [...Array(Math.ceil(part.getTotalLength())).keys()].map((far) => part.getPointAtLength(far))
  return drawn.filter((part) => points(part).some(within)).map((part) => part.className.baseVal)
}"""


def test_the_name_of_plain_decoding_stands_clear_and_the_whole_run_is_told(visit):
    here = visit().open(tab="tune", pace="full speed")
    here.button("Run").click()
    here.says("the token limit was reached")
    here.page.locator(".lanes .note", has_text=re.compile(r"^last 4; [\d.]+ over the run$")).wait_for()
    here.button("Prove it").click()
    name = here.page.locator(".lanes .halo", has_text="plain decoding")
    name.wait_for()
    assert name.evaluate(CROSSED) == []
    here.page.locator(".pk-legend", has_text="target's own").wait_for()


def test_a_phone_moves_knobs_above_the_charts(visit):
    here = visit().open(tab="tune", tokens=400, pace="2 iterations a second")
    here.page.set_viewport_size({"width": 420, "height": 900})
    here.button("Run").click()
    here.lanes().wait_for()
    banner = here.page.locator(".banner").bounding_box()
    assert banner["x"] + banner["width"] <= 420 - banner["x"]
    slider = here.page.get_by_role("slider", name="draft length")
    assert slider.count() == 0
    here.button("Move a knob").focus()
    here.page.keyboard.press("Enter")
    slider.wait_for()
    assert slider.bounding_box()["y"] < here.lanes().bounding_box()["y"]
    slider.focus()
    here.page.keyboard.press("ArrowRight")
    here.page.locator(".lanes .flagtext:not(.waits)", has_text="γ 3").wait_for()
    here.button("Fold the knobs").click()
    slider.wait_for(state="hidden")
    here.button("Cancel").click()


def test_a_link_brings_the_whole_state(visit):
    here = visit().open(tab="tune", method="speculative", gamma=9, temperature=0.5, seed=11)
    assert here.page.get_by_role("slider", name="draft length").get_attribute("aria-valuenow") == "9"
    assert here.page.get_by_role("slider", name="temperature").get_attribute("aria-valuenow") == "0.5"
    here.page.get_by_role("slider", name="draft length").focus()
    here.page.keyboard.press("ArrowLeft")
    here.page.wait_for_function("location.search.includes('gamma=8')")
    search = here.page.evaluate("location.search")
    assert search.startswith("?v=1&")
    assert "seed=11" in search
    assert "method=speculative" in search


def test_a_link_of_another_version_is_told(visit):
    here = visit()
    here.page.goto(here.address + "?v=9&gamma=3")
    here.says("This link is of version '9'")


def test_a_hostile_trace_gives_one_message(visit):
    here = visit().open()
    here.button("Files").click()
    hostile = json.dumps({"row": "header", "schema": "<img src=x onerror=alert(1)>"}).encode() + b"\n"
    here.page.locator("input[type=file]").set_input_files(
        {"name": "run.jsonl", "mimeType": "application/x-ndjson", "buffer": hostile}
    )
    alarm = here.page.get_by_role("alert").filter(has_text="This file is no trace that can be shown.")
    alarm.wait_for()
    assert alarm.count() == 1
    assert here.page.locator("img[src=x]").count() == 0


def test_two_visitors_share_the_pair_and_not_the_text(visit):
    one, other = visit().open(tab="tune"), visit().open(tab="tune", prompt="import os\n\n\nclass Path:\n")
    one.button("Run").click()
    other.button("Run").click()
    for here in (one, other):
        here.button("Run again").wait_for()
    texts = [here.page.locator(".pk-text").inner_text() for here in (one, other)]
    assert texts[0] != texts[1]


def test_a_lost_connection_finds_its_run_again(visit):
    here = visit().open(tab="tune")
    here.button("Run").click()
    here.lanes().wait_for()
    here.page.evaluate("window.lines.forEach((line) => line.close(4000))")
    here.page.wait_for_function("window.lines.length > 1 && window.lines.at(-1).readyState === 1")
    here.says("the token limit was reached")
    here.says("96 of 96 tokens")
    here.button("Prove it").click()
    here.says(re.compile("Output unchanged"))


def test_a_page_loaded_again_finds_its_run_again(visit):
    here = visit().open(tab="tune", pace="2 iterations a second", gamma=3)
    here.button("Run").click()
    here.says(GOING)
    here.page.reload()
    here.lanes().wait_for()
    here.says(GOING)
    assert here.page.get_by_role("slider", name="draft length").get_attribute("aria-valuenow") == "3"
    token = here.page.evaluate("sessionStorage.getItem('phrasekit-visit')")
    assert re.fullmatch("[0-9a-f]{32}", token)
    assert token not in here.page.content() + here.page.url
    stranger = visit().open(tab="tune")
    stranger.says("nothing has run yet")
    assert stranger.page.evaluate("sessionStorage.getItem('phrasekit-visit')") not in (None, token)
    here.says("the token limit was reached")
    here.says("96 of 96 tokens")
    text = here.page.locator(".pk-text").inner_text()
    here.page.reload()
    here.says("96 of 96 tokens")
    here.button("Run again").wait_for()
    assert here.page.locator(".pk-text").inner_text() == text
    here.button("Prove it").click()
    here.says(re.compile("Output unchanged"))
    stranger.says("nothing has run yet")


def test_a_copy_of_a_tab_is_a_visitor_of_its_own(visit):
    here = visit().open(tab="tune", pace="2 iterations a second", tokens=400)
    here.button("Run").click()
    here.says(GOING)
    here.page.evaluate("sessionStorage.setItem('mark', 'copied')")
    with here.page.expect_popup() as opened:  # a tab opened by a page begins with a copy of its storage
        here.page.evaluate("window.open(location.href)")
    copy = opened.value
    copy.set_default_timeout(WAIT)
    token = here.page.evaluate("sessionStorage.getItem('phrasekit-visit')")
    copy.wait_for_function(f"![null, '{token}'].includes(sessionStorage.getItem('phrasekit-visit'))")
    copy.get_by_text("nothing has run yet").first.wait_for()
    assert copy.evaluate("sessionStorage.getItem('mark')") == "copied"
    assert here.page.evaluate("sessionStorage.getItem('phrasekit-visit')") == token
    here.says("Running")
    here.button("Cancel").click()
    here.says("what is shown is complete up to there")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility_rules(visit, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing"
    )
    here = visit(color_scheme=scheme).open(tab="tune", pace="full speed")
    here.button("Run").click()
    here.says("the token limit was reached")
    rules, serious = axe.Axe(), {}
    for tab in here.page.get_by_role("tab").all():
        tab.click()
        here.page.wait_for_timeout(1500)
        for one in rules.run(here.page).response["violations"]:
            if one["impact"] in ("critical", "serious"):
                place = f"{tab.inner_text()}: {one['id']}"
                serious[place] = [node["html"][:200] for node in one["nodes"]]
    assert not serious, json.dumps(serious, indent=1)[:3000]


def test_a_phone_never_scrolls_sideways(visit):
    here = visit().open(tab="tune", pace="full speed")
    here.button("Run").click()
    here.says("the token limit was reached")
    for width in (380, 768, 1000, 1400):
        here.page.set_viewport_size({"width": width, "height": 900})
        here.page.wait_for_timeout(200)
        assert here.page.evaluate("document.documentElement.scrollWidth") <= width
