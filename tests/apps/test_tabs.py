"""Compare, Pool, Search and Theory in a browser: each works, and nothing reaches over a narrow page's edge."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from dashboard.visitor.state import Settings
from tests.apps.conftest import PROMPT, until

WAIT = 90_000  # milliseconds: machines that test are busy
WIDE = "document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture
def visit(browser, address):
    contexts, errors = [], []

    def go(tab, *, width=1400, **settings):
        context = browser.new_context(viewport={"width": width, "height": 1000})
        context.add_init_script("localStorage.setItem('phrasekit-tour', 'seen')")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: errors.extend(outside(request.url)))
        page.goto(address + Settings(tab=tab, prompt=PROMPT, **settings).query())
        return page

    yield go
    for context in contexts:
        context.close()
    assert not errors


def outside(url):
    """An address of another host."""
    return [] if url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")) else [url]


def test_a_race_runs_and_can_be_looked_at_again(visit):
    page = visit("compare", width=420, compared="speculative", prompts="this", race_tokens=12)
    page.get_by_role("button", name="Race", exact=True).click()
    page.get_by_role("button", name="Race again").wait_for()
    page.get_by_text("Two settings, 1 prompt, one text").wait_for()
    page.get_by_text("done").nth(1).wait_for()
    slider = page.get_by_label("Time of the race in milliseconds")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("0 tokens, 0 forwards").first.wait_for()
    assert page.evaluate(WIDE) <= 0


HELD = """(rows) => {
  const root = rows[0].getRootNode()
  const held = root.activeElement && root.activeElement.dataset.id
  return { held, chosen: rows.filter((row) => row.ariaSelected === "true").map((row) => row.dataset.id) }
}"""
SCROLLED = """(row) => {
  let at = row
  while (at && !at.scrollTop) at = at.parentNode || at.host
  return at ? at.scrollTop : 0
}"""


def test_phrases_are_searched_and_open_on_a_phone(visit):
    page = visit("pool", width=420)
    rows = page.locator("tr[data-id]")
    rows.first.wait_for()
    foot = page.locator(".foot")
    every = foot.inner_text()
    page.get_by_label("Search phrases").fill("class")
    until(lambda: foot.inner_text() != every)
    picked = rows.nth(2)
    picked.click()
    number = picked.get_attribute("data-id")
    page.locator(f"tr[data-id='{number}'][aria-selected=true] + tr section.panel").wait_for()
    page.get_by_role("heading", name="Born in iteration").wait_for()
    assert page.evaluate(WIDE) <= 0
    panel, row = page.locator("section.panel").bounding_box(), picked.bounding_box()
    assert abs(panel["y"] - row["y"] - row["height"]) < 3  # it opens under its row
    assert panel["x"] + panel["width"] <= 420


def test_a_phrase_is_chosen_by_hand_and_by_keyboard(visit):
    page = visit("pool")
    rows = page.locator("tr[data-id]")
    rows.first.wait_for()
    panel, flags = page.locator("section.panel"), page.locator(".flagtext", has_text="born")
    best = panel.inner_text()
    second, fourth = (rows.nth(place).get_attribute("data-id") for place in (1, 3))
    rows.nth(1).click()
    until(lambda: panel.inner_text() != best)
    assert rows.evaluate_all(HELD) == {"held": second, "chosen": [second]}
    assert flags.count() == 1
    told = panel.inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert rows.evaluate_all(HELD) == {"held": fourth, "chosen": [second]}
    page.keyboard.press("Enter")
    until(lambda: panel.inner_text() != told)
    assert rows.evaluate_all(HELD) == {"held": fourth, "chosen": [fourth]}
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    until(lambda: panel.inner_text() == best)
    assert [rows.nth(place).get_attribute("tabindex") for place in (0, 1, 3)] == ["0", "-1", "-1"]


def test_a_list_that_grows_leaves_focus_and_scrolling_alone(visit):
    page = visit("tune", tokens=220, pace="2 iterations a second")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("iteration 2").first.wait_for()
    page.get_by_role("tab", name="Pool").click()
    page.get_by_text("The pool of your last run").wait_for()
    rows = page.locator("tr[data-id]")
    rows.nth(5).click()
    number = rows.nth(5).get_attribute("data-id")
    until(lambda: rows.evaluate_all(HELD) == {"held": number, "chosen": [number]})
    scrolled = rows.nth(5).evaluate(SCROLLED)
    head = page.locator("thead th.life")
    before = head.inner_text()
    until(lambda: head.inner_text() != before, 60)  # drawn anew, at least once
    assert rows.evaluate_all(HELD) == {"held": number, "chosen": [number]}
    assert rows.first.evaluate(SCROLLED) == scrolled


def test_a_hostile_pool_is_one_message(visit):
    page = visit("pool")
    page.locator("tr[data-id]").first.wait_for()
    field = {
        "name": "pool.jsonl",
        "mimeType": "application/json",
        "buffer": b'{"row":"<script>alert(1)</script>"}\n',
    }
    page.locator("input[type=file]").last.set_input_files(field)
    page.get_by_text("This file is no pool that can be used.").wait_for()


def test_the_curves_follow_a_slider(visit):
    page = visit("theory", width=420)
    page.get_by_text("With α = ").wait_for()
    thumb = page.get_by_role("slider").first
    thumb.focus()
    page.keyboard.press("Home")
    page.get_by_text("With α = 0.00").wait_for()
    assert page.evaluate(WIDE) <= 0


def test_a_search_begins_and_is_cancelled(visit, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page = visit("search", width=420, searched="speculative")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_text("Running").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Search again").wait_for()
    assert page.evaluate(WIDE) <= 0


def test_the_address_holds_what_was_changed_and_loads_it_again(visit):
    page = visit("search", strategy="grid", grid="gamma", grid_gamma="2, 5", search_tokens=9, words="self")
    values = page.get_by_label("γ draft length: values")
    values.wait_for()
    assert "grid_beta=" in page.evaluate("location.search")  # every value, before anything was changed
    steps = page.evaluate("history.length")
    values.fill("2, 7")
    values.press("Enter")
    page.get_by_label("Tokens each").filter(visible=True).fill("11")
    page.get_by_label("Tokens each").filter(visible=True).press("Enter")
    page.wait_for_function("location.search.includes('grid_gamma=2%2C+7')")
    page.wait_for_function("location.search.includes('search_tokens=11')")
    assert page.evaluate("history.length") == steps
    page.reload()
    page.get_by_label("γ draft length: values").wait_for()
    assert page.get_by_label("γ draft length: values").input_value() == "2, 7"
    assert page.get_by_label("Tokens each").filter(visible=True).input_value() == "11"
    page.get_by_role("tab", name="Pool").click()
    field = page.get_by_label("Search phrases")
    field.wait_for()
    assert field.input_value() == "self"


def test_a_link_without_room_for_a_prompt_says_so(visit):
    page = visit("search", search_prompts="pasted")
    field = page.get_by_label("Prompts, two or more")
    field.fill("é" * 6000)
    field.press("Tab")
    page.get_by_role("alert").filter(has_text="no room for the prompts pasted on Search").wait_for()
    assert "search_prompts=pasted&" in page.evaluate("location.search")
    field.fill("short")
    field.press("Tab")
    page.wait_for_function("location.search.includes('pasted=short')")
    page.get_by_text("no room").wait_for(state="hidden")


SHOWN = {
    "Tune": "Prove it",
    "Compare": "Several methods",
    "Pool": "Phrase pool",
    "Search": "Find the fastest",
    "Theory": "How fast it could be",
    "Model": "probe of the target",
    "Step": "Show as table",
}


def test_every_tab_opens_with_its_own_words(visit):
    page = visit("step")
    page.get_by_text(SHOWN["Step"]).filter(visible=True).first.wait_for()
    page.wait_for_timeout(2000)  # Panel can lose what happens before a page is ready
    for title, words in SHOWN.items():
        page.get_by_role("tab", name=title).click()
        page.get_by_text(words).filter(visible=True).first.wait_for()
        page.wait_for_timeout(400)
        assert page.get_by_text(words).filter(visible=True).count() >= 1


@pytest.mark.parametrize("width", [420, 380])
def test_a_phone_shows_every_tab(visit, width):
    page = visit("compare", width=width)
    page.get_by_text(SHOWN["Compare"]).wait_for()
    boxes = [tab.bounding_box() for tab in page.get_by_role("tab").all()]
    assert len(boxes) == len(SHOWN)
    for left, right in pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"] + 1
    assert boxes[0]["x"] >= 0
    assert boxes[-1]["x"] + boxes[-1]["width"] <= width


def test_tabs_that_do_not_fit_have_arrows_and_keys(visit):
    page = visit("step", width=300)
    arrows = page.locator(".MuiTabs-scrollButtons")
    arrows.nth(1).wait_for()
    last = page.get_by_role("tab", name="Model")
    assert last.bounding_box()["x"] > arrows.nth(1).bounding_box()["x"]
    page.get_by_role("tab", name="Step").focus()
    for _ in range(len(SHOWN) - 1):
        page.keyboard.press("ArrowRight")
    scrolled = "(tab) => tab.getBoundingClientRect().right <= window.innerWidth - 20"
    until(lambda: last.evaluate(scrolled))
    page.keyboard.press("Enter")
    page.get_by_text(SHOWN["Model"]).filter(visible=True).first.wait_for()


def test_a_button_that_is_off_says_why_to_mouse_keyboard_and_reader(visit):
    page = visit("compare", compared="speculative", prompts="this", race_tokens=8)
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    cancel.wait_for()
    assert cancel.is_disabled()
    assert cancel.get_attribute("title") == "No race goes on."
    assert cancel.evaluate("(button) => button.ariaDescription") == "No race goes on."
    cancel.focus()  # the keyboard reaches it, and finds out
    assert cancel.evaluate("(button) => button.getRootNode().activeElement === button")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Race", exact=True).click()
    page.get_by_role("button", name="Race again").wait_for()
    assert page.get_by_role("button", name="Race again").is_enabled()


def test_a_theme_is_remembered_and_not_in_the_link(visit):
    page = visit("compare")
    page.get_by_text(SHOWN["Compare"]).wait_for()
    for theme in ("dark", "light"):
        page.wait_for_timeout(1000)  # Panel can lose what happens before a page is ready
        page.get_by_role("button", name="Toggle theme").press("Enter")
        page.wait_for_function(f"document.documentElement.dataset.pk === '{theme}'")
        page.reload()
        page.get_by_text(SHOWN["Compare"]).wait_for()
        page.wait_for_function(f"document.documentElement.dataset.pk === '{theme}'")
    assert "theme" not in page.evaluate("location.search")


def test_sliders_of_theory_stand_where_the_run_was_although_nobody_looked(visit):
    page = visit("theory", pace="full speed", tokens=48)
    told = page.get_by_text("With α = ")
    told.wait_for()
    before = told.inner_text()
    for _ in range(3):
        page.get_by_role("tab", name="Tune").click()
        page.get_by_role("button", name=re.compile("^Run")).click()
        page.get_by_text("48 of 48 tokens").first.wait_for()
        page.get_by_text("the token limit was reached").first.wait_for()
        page.get_by_role("tab", name="Theory").click()
        told.wait_for()
    assert told.inner_text() != before
    alpha = re.search(r"α = ([\d.]+)", told.inner_text())[1]
    assert f"{float(page.get_by_role('slider').first.get_attribute('aria-valuenow')):.2f}" == alpha
