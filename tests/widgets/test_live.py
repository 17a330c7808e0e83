"""The widget: what a click or a slider does to the session, and what is shown of it; no front end."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from inspect import signature

import pytest

pytest.importorskip("ipywidgets")

from phrasekit.api import generate
from phrasekit.decode.knobs import BOUNDS
from phrasekit.methods import METHODS
from phrasekit.widgets import LiveDecoding
from phrasekit.widgets.controls import KNOBS, read_by
from phrasekit.widgets.livepage import live_html, live_text
from phrasekit.widgets.session import LiveSession
from tests.models import PROMPT

WAIT = 60


def live(pair, **options) -> LiveDecoding:
    return LiveDecoding(pair, PROMPT, **{"max_new_tokens": 40, **options})


def click(widget: LiveDecoding, name: str) -> None:
    widget._controls.buttons[name].click()


def page(widget: LiveDecoding) -> str:
    return widget.widget.children[1].value


def test_the_widget_takes_what_its_session_takes():
    assert signature(LiveDecoding).parameters == signature(LiveSession).parameters


def test_buttons_step_run_and_reset(tiny):
    widget = live(tiny)
    click(widget, "next")
    assert len(widget.trace.iterations) == 1
    click(widget, "run")
    assert widget.session.wait(WAIT)
    assert widget.trace.tokens == generate(tiny, PROMPT, method="vanilla", max_new_tokens=40).tokens
    buttons = widget._controls.buttons
    assert [buttons[name].disabled for name in ("next", "run", "stop", "reset")] == [True, True, True, False]
    click(widget, "reset")
    assert not widget.trace.iterations
    assert [buttons[name].disabled for name in ("next", "run", "stop", "reset")] == [
        False,
        False,
        True,
        False,
    ]


def test_a_slider_changes_the_next_iteration(tiny):
    widget = live(tiny)
    click(widget, "next")
    widget._controls.sliders["gamma"].value = 9
    click(widget, "next")
    assert widget.trace.iterations[1].knobs["gamma"] == 9
    assert widget.state.identical


def test_fields_wait_for_the_reset_and_say_so(tiny):
    widget = live(tiny)
    fields = widget._controls.fields
    fields["temperature"].value = 0.7
    fields["method"].value = "speculative"
    assert "Waits for a reset: method speculative, temperature 0.7" in page(widget)
    assert widget._controls.buttons["reset"].button_style == "warning"
    click(widget, "reset")
    assert widget.trace.method == "speculative"
    assert "Waits" not in page(widget)
    sliders = widget._controls.sliders
    assert [name for name, slider in sliders.items() if not slider.disabled] == ["gamma"]


def test_sliders_go_back_where_the_method_holds_them(tiny):
    widget = live(tiny, method="ouroboros-no-lengthening")
    slider = widget._controls.sliders["suffixes"]
    assert slider.disabled
    slider.value = 5
    assert slider.value == 0


def test_a_knob_beyond_its_slider_widens_it(tiny):
    widget = live(tiny)
    widget.session.set_knobs(gamma=40)
    widget._controls.settle(widget.state)
    assert widget._controls.sliders["gamma"].value == 40


def test_errors_are_shown_in_words(tiny):
    widget = live(tiny)
    widget.session.set_knobs(gamma=-1)
    assert 'role="alert"' in page(widget)
    assert "Error: " in page(widget)


def test_the_box_switches_the_comparison(tiny):
    widget = live(tiny, compare=False)
    click(widget, "next")
    assert "Not compared" in page(widget)
    widget._controls.compare.value = True
    assert "✓ Same text as plain decoding" in page(widget)


def test_model_text_is_escaped(tiny):
    widget = live(tiny)
    click(widget, "next")
    hostile = "</script><img src=x onerror=alert(1)>\u202e"
    trace = replace(widget.trace, texts=dict.fromkeys(range(96), hostile), method="<i>m")
    state = replace(widget.state, trace=trace, status=hostile, failed=True)
    shown = live_html(replace(state, wanted=replace(state.wanted, method=hostile)))
    for raw in ("<img", "</script", "<i>m", "\u202e"):
        assert raw not in shown
    assert "&lt;img" in shown
    assert "\u202e" not in live_text(state)


def test_text_stands_where_no_widget_can(tiny):
    widget = live(tiny)
    click(widget, "next")
    bundle = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].startswith("ouroboros: ✓ Same text as plain decoding")
    assert bundle["text/plain"] == live_text(widget.state)
    assert "<script" not in bundle["text/html"]
    assert "\n" not in repr(widget)


def test_a_long_run_shows_its_newest_tokens(tiny):
    widget = live(tiny, max_new_tokens=450, method="vanilla", compare=False)
    widget.session.start()
    assert widget.session.wait(WAIT)
    assert "50 iterations before these not shown" in live_text(widget.state)
    assert len(page(widget)) < 400_000


def test_the_text_and_the_trace_are_at_hand(embedded):
    widget = LiveDecoding(embedded, "import os\n", max_new_tokens=12)
    click(widget, "run")
    assert widget.session.wait(WAIT)
    assert widget.text == generate(embedded, "import os\n", max_new_tokens=12).text
    assert widget.trace.finish_reason == "length"


def test_a_pair_without_a_draft_offers_what_it_can(tiny):
    alone = replace(tiny, draft=None)
    widget = live(alone, method="lookahead")
    assert set(widget._controls.fields["method"].options) == {
        name for name, method in METHODS.items() if not method.drafts and not method.corpus
    }


def test_sliders_are_on_for_what_a_method_reads():
    assert set(KNOBS) == set(BOUNDS)
    for name, method in METHODS.items():
        assert set(read_by(name)) == set(KNOBS) & set(method.reads)


@pytest.mark.parametrize("name", ["pearl", "double", "double-ouroboros"])
def test_parallel_methods_step_live(tiny, name):
    widget = live(tiny, method=name)
    click(widget, "next")
    widget._controls.sliders["gamma"].value = 2
    click(widget, "next")
    assert [one.knobs["gamma"] for one in widget.trace.iterations] == [4, 2]
    assert {one.round.schedule for one in widget.trace.iterations} == {"serial"}
    click(widget, "run")
    assert widget.session.wait(WAIT)
    assert widget.state.identical
    assert widget.trace.tokens == generate(tiny, PROMPT, method="vanilla", max_new_tokens=40).tokens
    widget._controls.fields["method"].value = "ouroboros"
    click(widget, "reset")
    click(widget, "next")
    assert widget.trace.method == "ouroboros"


def test_the_colour_chosen_stays_while_the_run_goes_on(tiny):
    widget = live(tiny)
    assert '<option class="pk-f-origin" selected>' in page(widget) or not widget.trace.iterations
    widget._controls.shade.value = "probability"
    for _ in range(2):
        click(widget, "next")
        assert '<option class="pk-f-probability" selected>' in page(widget)
        assert "; p = " in page(widget)
    widget._controls.shade.value = "gain"
    assert '<option class="pk-f-gain" selected>' in page(widget)


def test_without_ipywidgets_it_says_what_to_install():
    code = (
        "import sys; sys.modules['ipywidgets'] = None\n"
        "from phrasekit.widgets import LiveDecoding, LiveSession\n"
        "try:\n    LiveDecoding(None, 'x')\n"
        "except ImportError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'phrasekit[notebook]'" in run.stdout


def test_the_room_loads_without_torch():
    code = "import sys; sys.modules['torch'] = None; import phrasekit.widgets as w; print(*w.__all__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "LiveDecoding" in run.stdout
