"""The stepper's notebook and Panel shells, without a front end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from phrasekit.trace import Trace
from tests.views.stepper_traces import plain_of, story


def test_the_widget_carries_data_step_and_selection():
    pytest.importorskip("anywidget", reason="the widget needs anywidget")
    from phrasekit.widgets.stepper import StepperWidget

    widget = StepperWidget(story(), step=-1, baseline=plain_of(story()))
    state = widget.get_state()
    assert (state["step"], state["selection"], state["theme"]) == (1, None, "auto")
    assert state["info"]["steps"][1]["tree"]["states"] == "kkxkx"
    assert "export function render" in state["_esm"]
    assert ".pk-stepper" in state["_css"]
    assert repr(widget) == "StepperWidget(ouroboros, iteration 2 of 2)"
    assert widget.view().step == 1


def test_the_step_stays_within_the_run_and_the_run_may_grow():
    pytest.importorskip("anywidget", reason="the widget needs anywidget")
    from phrasekit.widgets.stepper import StepperWidget

    short = Trace("ouroboros", story().prompt, story().iterations[:1], "", {}, story().texts)
    widget = StepperWidget(short)
    widget.step = 5
    assert widget.step == 0
    widget.update(story())
    widget.step = 5
    assert widget.step == 1
    widget.update(short)
    assert widget.step == 0
    widget.step = -4
    assert widget.step == 0


def test_a_bad_file_is_a_widget_that_says_so(tmp_path):
    pytest.importorskip("anywidget", reason="the widget needs anywidget")
    from phrasekit.widgets.stepper import StepperWidget

    widget = StepperWidget(tmp_path / "missing.jsonl")
    assert "cannot be read" in widget.info["notice"]
    assert repr(widget) == "StepperWidget(nothing to show)"


def test_the_panel_component_carries_the_same():
    pytest.importorskip("panel", reason="the Panel stepper needs panel")
    from phrasekit.widgets.panel_stepper import PanelStepper

    component = PanelStepper(story(), step=1)
    assert (component.step, component.selection, component.sizing_mode) == (1, None, "stretch_width")
    component.update(Trace("ouroboros", story().prompt, story().iterations[:1], "", {}, story().texts))
    assert (component.step, len(component.info["steps"])) == (0, 1)
    assert component.info["origin"] == "recorded run"
    component.update(story(), origin="your run")
    assert component.info["origin"] == "your run"


@pytest.mark.parametrize(
    ("missing", "module", "extra"),
    [("anywidget", "stepper", "phrasekit[notebook]"), ("panel", "panel_stepper", "phrasekit[app]")],
)
def test_a_missing_extra_is_named_with_its_install_line(missing, module, extra):
    code = f"import sys; sys.modules['{missing}'] = None; import phrasekit.widgets.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"pip install {extra}" in done.stderr
