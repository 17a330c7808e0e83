"""Dialogs, fields, and what goes to the clipboard, where the browser lets it and where it does not."""

from __future__ import annotations

import pytest

from dashboard.parts.apply import Apply
from dashboard.visitor.state import Settings

WAIT = 90_000  # milliseconds: machines that test are busy
# What a page of a browser that refuses has; `told` is what the old way was asked to copy.
REFUSED = """
window.told = null
Object.defineProperty(navigator, "clipboard", { value: { writeText: () => Promise.reject(new Error("no")) } })
document.execCommand = () => { window.told = deepest().value; return true }
function deepest() {
  let found = document.activeElement
  while (found.shadowRoot && found.shadowRoot.activeElement) found = found.shadowRoot.activeElement
  return found
}
"""


@pytest.fixture
def visit(browser, address):
    contexts = []

    def come(*, refused=False, **settings):
        context = browser.new_context(viewport={"width": 1400, "height": 800})
        contexts.append(context)
        context.add_init_script("localStorage.setItem('phrasekit-tour', 'seen')")
        if refused:
            context.add_init_script(REFUSED)
        else:
            context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(address + Settings(**settings).query())
        page.wait_for_function("window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
        return page

    yield come
    for context in contexts:
        context.close()


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def copied(page, *, refused):
    return page.evaluate("window.told" if refused else "navigator.clipboard.readText()")


@pytest.mark.parametrize("refused", [False, True])
def test_every_form_of_a_setting_can_be_copied(visit, refused):
    page = visit(refused=refused, tab="tune", method="speculative", gamma=7)
    button(page, "Export").click()
    button(page, "Copy: Command line").click()
    button(page, "Copied: Command line").wait_for()
    told = copied(page, refused=refused)
    assert told.startswith("phrasekit generate PROMPT --method speculative --gamma 7")
    assert told == told.strip()
    button(page, "Copy: Command line").wait_for()  # it says so for a while only
    button(page, "Copy: Python").click()
    button(page, "Copied: Python").wait_for()
    assert copied(page, refused=refused).splitlines()[0] == "import phrasekit as pk"
    for line in page.locator("pre").all():
        assert line.evaluate("one => one.scrollWidth <= one.clientWidth")
    save = page.get_by_text("Download as YAML").bounding_box()
    assert save["y"] + save["height"] <= 800
    button(page, "close").click()
    page.get_by_text("This setting elsewhere").wait_for(state="hidden")
    page.keyboard.press("Enter")  # the focus is where it was
    page.get_by_text("This setting elsewhere").wait_for()


@pytest.mark.parametrize("refused", [False, True])
def test_the_link_is_copied_and_that_is_said(visit, refused):
    page = visit(refused=refused, gamma=5)
    button(page, "Copy link").click()
    button(page, "Link copied").wait_for()
    assert copied(page, refused=refused) == page.url
    assert "gamma=5" in page.url
    button(page, "Copy link").wait_for()


def test_a_browser_that_copies_nothing_is_believed(visit):
    page = visit(refused=True)
    page.evaluate("document.execCommand = () => false")
    button(page, "Copy link").click()
    button(page, "Not copied").wait_for()


def test_the_files_have_the_colours_of_the_page(visit):
    page = visit()
    button(page, "Files").click()
    colours = page.locator(".MuiDialog-paper:visible").evaluate(
        "one => [one, document.documentElement].map((el) => el === one ? getComputedStyle(el).backgroundColor "
        ": getComputedStyle(el).getPropertyValue('--surface').trim())"
    )
    red, green, blue = (int(colours[1][at : at + 2], 16) for at in (1, 3, 5))
    assert colours[0] == f"rgb({red}, {green}, {blue})"
    page.locator("input[type=file]").set_input_files(
        {"name": "wrong.jsonl", "mimeType": "application/x-ndjson", "buffer": b"{}\n"}
    )
    page.get_by_role("alert").filter(has_text="This file is no trace that can be shown.").wait_for()
    button(page, "Files").click()
    page.get_by_text("Open a trace (.jsonl)").wait_for()
    assert not page.get_by_text("wrong.jsonl").is_visible()
    button(page, "close").click()
    page.get_by_text("Open a trace (.jsonl)").wait_for(state="hidden")


def test_a_number_that_does_not_fit_says_what_becomes_of_it(visit):
    page = visit()
    field = page.get_by_label("Tokens at most, 1–512")
    for given, kept, told in (
        ("1500", "512", "512 is the most"),
        ("0", "1", "1 is the least"),
        ("abc", "1", "'abc' is no whole number"),
    ):
        field.fill(given)
        field.press("Enter")
        page.get_by_text(told).wait_for()
        assert field.input_value() == kept
        assert field.get_attribute("aria-invalid") == "true"
    field.fill("40")
    field.press("Enter")
    page.wait_for_function("location.search.includes('tokens=40')")
    page.get_by_text("'abc' is no whole number").wait_for(state="detached")
    assert field.get_attribute("aria-invalid") == "false"


def test_fields_below_a_race_show_what_they_are_of(visit):
    page = visit(tab="compare", compared="speculative", prompts="this", race_tokens=4, passes=1)
    button(page, "Race").click()
    page.get_by_text("Two of them, token by token").wait_for()
    for name, shown in (("Prompt", "prompt 1"), ("One", "Plain decoding"), ("The other", "speculative γ")):
        field = page.get_by_role("combobox", name=name, exact=True)
        field.filter(has_text=shown).wait_for()
        label = page.locator(".MuiFormControl-root", has=field).locator("label")
        assert label.evaluate("one => one.classList.contains('MuiInputLabel-shrink')")


def test_a_menu_has_an_edge(visit):
    page = visit(tab="compare")
    page.get_by_role("combobox").filter(has_text="the example prompts").click()
    menu = page.locator(".MuiMenu-paper:visible")
    assert menu.evaluate("one => getComputedStyle(one).borderTopWidth") == "1px"
    page.keyboard.press("Escape")


def test_forms_bring_no_last_line_break(visitor):
    told = Apply(visitor(method="speculative"))
    told.show()
    texts = [form["text"] for form in told.forms.forms]
    assert len(texts) == 5
    assert texts == [text.strip() for text in texts]
