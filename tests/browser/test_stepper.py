"""The stepper in a browser: every way to step, what is linked to what, and what must never happen."""

from __future__ import annotations

import json
from html import escape

import pytest

from phrasekit.trace import Trace
from phrasekit.views import stream_view
from phrasekit.views.stepper import stepper_html, stepper_info
from phrasekit.views.stepper.page import script, style
from phrasekit.views.stepper.records import StepperInfo
from tests.views.stepper_traces import hostile, large, likely, plain_of, rounds, story


@pytest.fixture
def opened(show):
    return show(stepper_html(story(), baseline=plain_of(story()), page=True))


def test_it_shows_the_sentence_the_proof_and_every_section(opened):
    lead = opened.locator(".lead").inner_text()
    assert lead.startswith(
        "Iteration 1: reads the prompt of 2 tokens; the draft model wrote 4 tokens in 2 forwards"
    )
    assert lead.endswith(
        "1 of the rejected tokens was right but after the first mistake, and became 1 phrase."
    )
    assert opened.locator(".same").inner_text() == "✓ same text as plain decoding"
    assert opened.locator("h2").all_inner_texts() == ["Text so far", "Draft", "Verify", "Learn", "Clock"]


def test_buttons_step_forward_and_back(opened):
    opened.get_by_label("Next iteration").click()
    assert opened.iteration() == 2
    opened.get_by_label("Next iteration").click()
    assert opened.iteration() == 2
    opened.get_by_label("Previous iteration").click()
    assert opened.iteration() == 1


def test_stepping_back_shows_what_stepping_forward_showed(opened):
    state = "() => document.querySelector('[data-phrasekit-stepper]').stepper.root.innerText"
    first = opened.evaluate(state)
    opened.press("Shift+ArrowRight", "Shift+ArrowLeft")
    assert opened.evaluate(state) == first


def test_arrows_walk_through_the_stages_and_over_the_end_of_an_iteration(opened):
    opened.press("Shift+ArrowRight")
    assert (opened.iteration(), opened.stage()) == (2, "Learn")
    seen = []
    for _ in range(8):
        opened.press("ArrowLeft")
        seen.append((opened.iteration(), opened.stage()))
    expected = [
        (2, "Commit"),
        (2, "Verify"),
        (2, "Draft"),
        (1, "Learn"),
        (1, "Commit"),
        (1, "Verify"),
        (1, "Draft"),
    ]
    assert seen == [*expected, (1, "Draft")]
    assert opened.locator(".phase [aria-current]").inner_text() == "Draft 1 of 2"


def test_home_end_and_the_slider_jump(opened):
    opened.press("End")
    assert opened.iteration() == 2
    opened.press("Home")
    assert opened.iteration() == 1
    slider = opened.get_by_role("slider")
    slider.focus()
    opened.keyboard.press("ArrowRight")
    assert (opened.iteration(), slider.get_attribute("aria-valuenow")) == (2, "2")
    box = slider.bounding_box()
    opened.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + 50)
    assert opened.iteration() == 1


def test_scrubbing_drags_through_the_run(show):
    page = show(stepper_html(large(iterations=40, suffixes=1, length=3), page=True))
    box = page.get_by_role("slider").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 50, steps=5)
    page.mouse.up()
    assert page.iteration() == 40


def test_what_has_not_happened_yet_is_not_shown(opened):
    opened.get_by_role("button", name="Draft", exact=True).click()
    assert opened.locator(".wires").is_hidden()
    assert opened.locator(".learnbody").is_hidden()
    assert opened.locator(".it.now").is_hidden()
    assert opened.locator(".comb [data-key='n:0']").is_visible()
    assert opened.locator(".comb [data-key='n:1']").is_hidden()
    opened.press("ArrowRight")
    assert opened.locator(".comb [data-key='n:1']").is_visible()
    opened.press("ArrowRight")
    assert (opened.stage(), opened.locator(".wires").is_visible()) == ("Verify", True)
    assert opened.locator(".it.now").is_hidden()
    opened.press("ArrowRight")
    assert (opened.stage(), opened.locator(".it.now").is_visible()) == ("Commit", True)
    assert opened.locator(".learnbody").is_hidden()


def test_hovering_a_node_lights_its_path_its_mask_row_its_text_and_its_phrase(opened):
    opened.locator(".comb [data-key='n:1']").hover()
    lit = opened.locator(".hl").evaluate_all("all => all.map((el) => el.dataset.key)")
    assert sorted(lit) == ["n:1", "n:1", "t:0:1"]  # in the comb, in the film, in the text
    ancestors = opened.locator(".hl2").evaluate_all("all => all.map((el) => el.dataset.key)")
    assert set(ancestors) == {"n:-1", "n:0", "t:0:0"}
    assert opened.locator(".band").get_attribute("visibility") == "visible"
    assert opened.locator(".row-hl").count() == 1  # the phrase it came from, in the film
    tip = opened.locator(".tip").inner_text()
    assert "kept" in tip
    assert "pool phrase, draft forward 2" in tip
    opened.mouse.move(2, 2)
    assert opened.locator(".hl, .hl2, .tip").count() == 0


def test_hovering_the_mask_lights_the_node(opened):
    mask = opened.locator(".mask").bounding_box()
    opened.mouse.move(mask["x"] + 40, mask["y"] + 58 + 22 * 2.5)
    assert opened.locator(".comb .hl").get_attribute("data-key") == "n:1"


def test_click_locks_escape_releases(opened):
    opened.locator(".comb [data-key='n:2']").click()
    opened.mouse.move(2, 2)
    assert opened.locator(".comb .hl").get_attribute("data-key") == "n:2"
    opened.keyboard.press("Escape")
    assert opened.locator(".hl").count() == 0


def test_up_and_down_walk_the_tree_and_enter_locks(opened):
    opened.press("ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    opened.mouse.move(3, 3)
    assert opened.locator(".comb .hl").get_attribute("data-key") == "n:1"


def test_a_phrase_is_linked_to_its_uses_and_leads_there(opened):
    row = opened.locator(".learnbody li", has_text="used in 2")
    row.click()
    opened.mouse.move(2, 2)
    assert "the committed text" in opened.locator(".tip").inner_text()
    opened.locator(".tip button", has_text="2 (1 kept)").click()
    assert opened.iteration() == 2
    assert opened.locator(".comb .hl2").count() == 2


def test_a_token_of_an_earlier_iteration_opens_it(opened):
    opened.press("End")
    opened.locator(".stream [data-key='t:0:1']").click()
    assert opened.iteration() == 1
    assert opened.locator(".comb .hl").get_attribute("data-key") == "n:1"


def test_the_mask_drawn_is_the_mask_of_the_record(opened):
    drawn = opened.evaluate("""() => {
        const { at, seen } = document.querySelector("[data-phrasekit-stepper]").stepper.view.maskMap;
        return seen.map((row) => [true, ...[...at.values()].map((column) => row.includes(column))]);
    }""")
    assert drawn == [list(row) for row in stepper_info(story()).steps[0].tree.mask()]


def test_the_legend_fades_what_is_clicked(opened):
    entry = opened.locator("[data-filter='phrase']")
    entry.click()
    assert entry.get_attribute("aria-pressed") == "false"
    faded = opened.locator(".comb .tk.phrase").first
    opened.wait_for_timeout(250)
    assert faded.evaluate("el => getComputedStyle(el).opacity") == "0.22"
    entry.click()
    assert entry.get_attribute("aria-pressed") == "true"


def test_the_text_can_be_shaded_by_what_a_forward_brought(opened):
    opened.press("End")
    shade = opened.get_by_role("button", name="tokens per target forward")
    shade.click()
    assert shade.get_attribute("aria-pressed") == "true"
    opened.wait_for_timeout(250)
    colours = opened.locator(".it .line").evaluate_all(
        "all => all.map((line) => getComputedStyle(line.querySelector('.tk')).backgroundColor)"
    )
    assert colours[1] != colours[0]  # 4 tokens for one forward, and 3
    assert opened.locator(".it").evaluate_all(
        "all => all.map((one) => one.style.getPropertyValue('--gain'))"
    ) == [
        "75%",
        "100%",
    ]
    opened.get_by_role("button", name="who proposed it").click()
    assert shade.get_attribute("aria-pressed") == "false"
    opened.wait_for_timeout(250)
    assert opened.locator(".it .tk.draft").first.evaluate("el => getComputedStyle(el).backgroundColor") == (
        "rgb(196, 229, 247)"
    )


COLOUR = "one => getComputedStyle(one).backgroundColor"


def lightness(colour: str) -> float:
    """Of what color-mix gives: oklab(L a b)."""
    return float(colour.removeprefix("oklab(").split()[0])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_text_can_be_coloured_by_probability(show, theme):
    page = show(stepper_html(likely(), theme=theme, step=1, page=True))
    page.press("End")
    assert not page.locator(".scale").is_visible()
    page.get_by_role("button", name="probability", exact=True).click()
    page.wait_for_timeout(250)
    words = page.locator(".stream .line .tk[style]")
    odds = [
        float(one.removesuffix("%"))
        for one in words.evaluate_all("all => all.map((one) => one.style.getPropertyValue('--p'))")
    ]
    assert odds == [100, 50, 10, 100, 50, 10, 1]
    shades = [lightness(colour) for colour in words.evaluate_all(f"all => all.map({COLOUR})")]
    by_odds = [shade for _, shade in sorted(zip(odds, shades, strict=True), reverse=True)]
    assert by_odds == sorted(by_odds, reverse=theme == "light")
    assert len({round(shade, 3) for shade in shades}) == 4
    assert page.locator(".scale").inner_text() == "p, what the target itself gave a token 10.750.50.250"
    words.nth(5).hover()
    assert "p = 0.10" in page.locator(".tip").inner_text()
    words.nth(6).hover()
    assert "p = 0.01" in page.locator(".tip").inner_text()


def test_the_words_below_the_mask_of_a_small_tree_are_whole(show):
    page = show(stepper_html(rounds(), step=2, page=True))
    page.press("End")
    right = "el => el.getBoundingClientRect().right"
    words = page.locator(".mask text", has_text="hidden").evaluate(right)
    assert words <= page.locator("svg.mask").evaluate(right)
    assert words <= page.locator(".vwrap").evaluate(right)


def test_a_trace_without_probabilities_says_how_to_get_them(opened):
    opened.get_by_role("button", name="probability", exact=True).click()
    assert opened.locator(".scale").inner_text() == (
        "This trace holds no probabilities; record it with probabilities=True (--probabilities)."
    )
    assert opened.locator(".scale .tk, .stream .tk[style]").count() == 0


def test_a_saved_view_colours_its_text_by_probability_without_a_script(show):
    page = show(stream_view(likely()).html(), java_script_enabled=False)
    words = page.locator(".pk-it > .pk-t")
    plain = words.first.bounding_box()
    assert not page.locator(".pk-scale").is_visible()
    page.get_by_label("colour by").select_option("probability")
    assert page.locator(".pk-scale").is_visible()
    assert words.first.bounding_box() == plain
    assert "p = 0.10" in words.nth(2).get_attribute("title")


def test_play_steps_until_the_end_and_space_pauses(opened):
    opened.clock.install()
    opened.press("Space")
    assert opened.get_by_label("Pause").count() == 1
    opened.clock.run_for(600)
    assert opened.iteration() == 2
    opened.press("Space")
    paused = opened.stage()
    opened.clock.run_for(3000)
    assert (opened.iteration(), opened.stage()) == (2, paused)
    opened.press("Space")
    opened.clock.run_for(6000)
    assert (opened.iteration(), opened.stage()) == (2, "Learn")
    assert opened.get_by_label("Play").count() == 1


def test_under_reduced_motion_play_is_one_step_and_nothing_moves(show):
    page = show(stepper_html(story(), page=True), reduced_motion="reduce")
    page.clock.install()
    page.get_by_label("Next step").click()
    assert (page.iteration(), page.stage()) == (2, "Draft")
    page.clock.run_for(6000)
    assert (page.iteration(), page.stage()) == (2, "Draft")
    assert page.locator(".tk").first.evaluate("el => getComputedStyle(el).transitionDuration") == "0s"


@pytest.mark.parametrize(
    ("theme", "system", "seen"),
    [
        ("auto", "dark", "dark"),
        ("auto", "light", "light"),
        ("dark", "light", "dark"),
        ("light", "dark", "light"),
    ],
)
def test_the_theme_follows_the_system_unless_it_is_named(show, theme, system, seen):
    page = show(stepper_html(story(), theme=theme, page=True), color_scheme=system)
    assert page.root().get_attribute("data-theme") == seen
    surface = page.root().evaluate("el => getComputedStyle(el).backgroundColor")
    assert surface == {"dark": "rgb(23, 25, 29)", "light": "rgb(255, 255, 255)"}[seen]
    page.press("t")
    assert page.root().get_attribute("data-theme") != seen


def test_a_dark_notebook_counts_for_more_than_the_system(show):
    html = stepper_html(story(), page=True).replace("<body>", '<body data-jp-theme-light="false">')
    assert show(html, color_scheme="light").root().get_attribute("data-theme") == "dark"


@pytest.mark.parametrize("width", [380, 420, 768, 1000, 1400, 1600])
def test_the_page_never_scrolls_sideways(show, width):
    page = show(stepper_html(story(), step=1, baseline=plain_of(story()), page=True), width=width)
    page.press("?")
    for detail in page.locator(".twin > summary").all():
        detail.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_gets_the_comb_turned(show):
    page = show(stepper_html(story(), page=True), width=420)
    rows = page.locator(".comb.turned .nrow")
    assert rows.count() == 6
    assert page.locator(".maskbox").is_hidden()
    rows.nth(3).hover()
    assert "first mistake" in page.locator(".tip").inner_text()


def test_a_page_made_narrow_later_is_drawn_anew(opened):
    opened.set_viewport_size({"width": 420, "height": 900})
    opened.locator(".comb.turned").wait_for()


def test_tables_say_the_same_as_the_pictures(opened):
    for summary in opened.locator(".twin > summary").all():
        summary.click()
    opened.locator("table.plain").nth(1).wait_for()
    run, tree = opened.locator("table.plain").all()
    assert [cell.split() for cell in run.locator("tbody tr").all_inner_texts()] == [
        ["1", "4", "2", "3", "0", "3", "2", "6", "10.0"],
        ["2", "1", "1", "1", "2", "4", "1", "6", "5.0"],
    ]
    assert tree.locator("tbody tr").count() == 5
    opened.press("Shift+ArrowRight")
    assert tree.locator("tbody tr").count() == 6


def test_every_control_has_a_name_and_the_ring_is_seen(opened):
    names = opened.locator("button").evaluate_all(
        "all => all.map((el) => el.ariaLabel || el.textContent.trim())"
    )
    assert all(names)
    assert opened.root().get_attribute("data-lm-suppress-shortcuts") == "true"
    opened.keyboard.press("Tab")
    assert opened.root().evaluate("el => getComputedStyle(el).outlineStyle") == "solid"
    assert opened.locator(".lead").get_attribute("aria-live") == "polite"


def test_keys_of_the_browser_stay_with_the_browser(opened):
    opened.press("Control+ArrowRight", "Alt+ArrowLeft")
    assert (opened.iteration(), opened.stage()) == (1, "Learn")


def test_nothing_in_a_trace_becomes_markup_or_code(show):
    calm = show(stepper_html(story(), step=0, page=True))
    page = show(stepper_html(hostile(), step=0, page=True))
    page.root().wait_for()
    for one in (calm, page):
        for key in ("?", "Shift+ArrowRight", "Shift+ArrowLeft", "ArrowDown", "ArrowDown", "Enter"):
            one.press(key)
        for summary in one.locator(".twin > summary").all():
            summary.click()
    assert page.evaluate("window.hacked") is None
    tags = "el => [...new Set([...el.querySelectorAll('*')].map((one) => one.localName))].sort()"
    attributes = (
        "el => [...new Set([...el.querySelectorAll('*')].flatMap((one) => one.getAttributeNames()))].sort()"
    )
    assert set(page.root().evaluate(tags)) <= set(calm.root().evaluate(tags))
    assert set(page.root().evaluate(attributes)) <= set(calm.root().evaluate(attributes))
    shown = page.locator(".comb").inner_text()
    assert "\u202e" not in shown


def test_hostile_text_is_shown_as_text(show):
    page = show(stepper_html(hostile(), page=True))
    chip = page.locator(".stream [data-key='t:0:0']")
    assert chip.text_content().replace("·", "").startswith("</script>")
    page.locator(".comb [data-key='n:2']").hover()
    assert "first mistake" in page.locator(".tip").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_copied_text_is_the_text(show):
    texts = {10: "def", 11: " f", 20: "(", 21: "x", 22: " y", 50: "):\n    return"}
    trace = Trace("ouroboros", story().prompt, story().iterations[:1], "", {}, texts)
    page = show(stepper_html(trace, page=True))
    copied = page.evaluate("""() => {
        const { root } = document.querySelector("[data-phrasekit-stepper]").stepper;
        getSelection().selectAllChildren(root.querySelector(".stream > div"));
        return getSelection().toString();
    }""")
    assert copied == "def f(x):\n    return"


def test_it_works_in_a_frame_that_may_only_run_scripts(show):
    """How Colab and other front ends fence off an output."""
    inner = escape(f"<!doctype html><body>{stepper_html(story())}")
    page = show(
        f'<!doctype html><iframe sandbox="allow-scripts" width="1000" height="2000" srcdoc="{inner}"></iframe>'
    )
    frame = page.frame_locator("iframe")
    frame.get_by_label("Next iteration").click()
    assert frame.locator(".count b").inner_text() == "2"
    frame.locator(".comb .tk.suffix").first.hover()
    assert "pool phrase behind the draft" in frame.locator(".tip").inner_text()


def test_what_is_out_of_sight_follows(show):
    page = show(stepper_html(large(iterations=6, suffixes=2, length=4), page=True), width=420)
    page.set_viewport_size({"width": 420, "height": 500})
    page.wait_for_timeout(100)
    page.press("Shift+ArrowRight")
    late = "() => [...document.querySelector('[data-phrasekit-stepper]').stepper.view.late]"
    assert "clock" in page.evaluate(late)
    page.wait_for_timeout(500)
    assert page.evaluate(late) == []
    page.press("Shift+ArrowRight")
    page.evaluate(
        "document.querySelector('[data-phrasekit-stepper]').shadowRoot.querySelector('.clock').scrollIntoView()"
    )
    page.wait_for_function(
        "!document.querySelector('[data-phrasekit-stepper]').stepper.view.late.has('clock')"
    )
    assert page.locator(".runsay").count() or page.locator(".clock p").inner_text().startswith("Up to here")


def test_a_round_shows_both_lanes_and_what_goes_on(show):
    page = show(stepper_html(rounds(), step=1, baseline=plain_of(rounds()), page=True))
    assert "4.0 ms both" in page.locator(".clock svg").first.text_content()
    assert page.locator(".film .o .tk").evaluate_all("all => all.map((one) => one.className)") == [
        "tk retrieved ok",
        "tk retrieved ok",
        "tk draft",
    ]
    page.locator(".comb .tk.guide").first.hover()
    assert "retrieved for the target" in page.locator(".tip").inner_text()
    page.locator(".comb [data-key='n:0']").hover()
    assert "retrieved from rejected drafts, in the iteration before" in page.locator(".tip").inner_text()
    page.press("Shift+ArrowRight")
    assert page.locator(".film .o .tk.off").count() == 1
    assert page.locator(".clock .both").count() == 0


def test_two_cells_do_not_collide(show):
    both = stepper_html(story()) + stepper_html(story(), step=1, theme="dark")
    page = show(f"<!doctype html><body>{both}")
    page.locator(".pk-stepper").nth(1).wait_for()
    assert page.locator(".count b").all_inner_texts() == ["1", "2"]
    page.locator(".pk-stepper").nth(1).focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.locator(".pk-stepper").nth(0).focus()
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".count b").all_inner_texts() == ["2", "1"]


def test_a_host_that_arrives_after_its_script_is_found(show):
    host, module = stepper_html(story()).split('<script type="module">')
    late = "setTimeout(() => document.body.append(document.querySelector('template').content), 200)"
    page = show(
        f'<!doctype html><body><template>{host}</template><script type="module">{module}<script>{late}</script>'
    )
    page.root().wait_for()


def test_the_text_stands_where_scripts_do_not_run(show):
    page = show(stepper_html(story(), page=True), java_script_enabled=False)
    assert (
        page.locator("pre")
        .inner_text()
        .startswith("ouroboros: 2 iterations, 7 tokens written\nIteration 1: ")
    )


def test_an_empty_run_and_a_bad_file_say_so(show, tmp_path):
    empty = show(stepper_html(Trace("vanilla", (1, 2)), page=True))
    assert "Nothing to step through yet" in empty.root().inner_text()
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"row": "header", "schema": "<img src=x onerror=alert(1)>"}\n', encoding="utf-8")
    page = show(stepper_html(bad, page=True))
    assert "This trace cannot be shown" in page.root().inner_text()
    assert page.locator("img").count() == 0


def test_data_of_another_version_says_so(show):
    html = stepper_html(story(), page=True).replace('"schema":2', '"schema":99')
    assert "another version of phrasekit" in show(html).root().inner_text()
    html = stepper_html(story(), page=True).replace('{"info":', '{"broken":')
    assert "no trace data" in show(html).root().inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("width", [420, 1400])
def test_a_step_is_quick_on_a_large_trace(show, width):
    """CPU time of a step, style, layout and paint included, on a machine that may be shared."""
    trace = large()
    page = show(stepper_html(trace, step=199, baseline=plain_of(trace), page=True), width=width)
    page.root().wait_for()
    session = page.context.new_cdp_session(page.page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent(work: str) -> float:
        before = _task_ms(session)
        page.evaluate(work)
        return _task_ms(session) - before

    steps = 40
    walk = f"""async () => {{
        const {{ stepper }} = document.querySelector("[data-phrasekit-stepper]");
        for (let k = 0; k < {steps}; k += 1) {{
            stepper.go(200 + k);
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
        }}
    }}"""
    step = spent(walk) / steps
    loop = spent("() => { let x = 0; for (let i = 0; i < 3e7; i += 1) x += i % 7; return x; }")
    slower = max(1.0, loop / 60)  # a quiet core of 2020 takes 40 to 60 ms for the loop
    assert step / slower < 50, f"step {step:.1f} ms of CPU, loop {loop:.0f} ms"


def _task_ms(session) -> float:
    metrics = {
        metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]
    }
    return 1000 * metrics["TaskDuration"]


# ---- the widget's and Panel's way in ---------------------------------------------------------------------------------

FAKE_MODEL = """
window.made = (state, panel) => {
    const calls = {};
    const fire = (name) => (calls[name] || []).forEach((call) => call());
    window.state = state;
    const on = (name, call) => (calls[name] = [...(calls[name] || []), call]);
    window.fire = (name, value) => { state[name] = value; fire(panel ? name : "change:" + name); };
    if (!panel) return { get: (name) => state[name], set: (name, value) => window.fire(name, value), save_changes() {}, on, off() {} };
    const model = { on, off() {} };
    for (const name of Object.keys(state)) Object.defineProperty(model, name, { get: () => state[name], set: (value) => window.fire(name, value) });
    return model;
};
"""


def embedded(info: StepperInfo, *, panel: bool = False) -> str:
    state = json.dumps({"info": info.plain_data(), "step": 0, "selection": None, "theme": "light"})
    start = f"window.end = render({{ model: made({state}, {json.dumps(panel)}), el: document.body }});"
    return f"<!doctype html><style>{style()}</style><body><script>{FAKE_MODEL}</script><script type=module>{script()}\n{start}</script>"


@pytest.mark.parametrize("panel", [False, True])
def test_step_and_selection_go_both_ways(show, panel):
    page = show(embedded(stepper_info(story()), panel=panel))
    page.get_by_label("Next iteration").click()
    assert page.evaluate("state.step") == 1
    page.evaluate("fire('step', 0)")
    assert page.iteration() == 1
    page.locator(".comb [data-key='n:1']").click()
    assert page.evaluate("state.selection") == {"iteration": 0, "node": 1}
    page.evaluate("fire('selection', { iteration: 1, node: 3 })")
    assert (page.iteration(), page.locator(".comb .hl").get_attribute("data-key")) == (2, "n:3")
    page.evaluate("fire('selection', null)")
    page.mouse.move(2, 2)
    assert page.locator(".hl").count() == 0
    page.evaluate("fire('theme', 'dark')")
    assert page.root().get_attribute("data-theme") == "dark"
    page.evaluate("end()")
    assert page.root().count() == 0


def test_a_run_that_grows_keeps_its_place(show):
    short = Trace("ouroboros", story().prompt, story().iterations[:1], "", {}, story().texts)
    page = show(embedded(stepper_info(short)))
    page.locator("[data-filter='phrase']").click()
    grown = json.dumps(stepper_info(story()).plain_data())
    page.evaluate(f"state.step = 1; fire('step', 1); fire('info', {grown})")
    assert page.iteration() == 2
    assert page.locator("[data-filter='phrase']").get_attribute("aria-pressed") == "false"
