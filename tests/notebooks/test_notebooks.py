"""The saved notebooks: fit to be shipped, in step with their sources, and with outputs that can fail.

That their cells run is nbval's to say (`make test`); here nothing is executed.
"""

from __future__ import annotations

import ast
import re
from types import SimpleNamespace

import nbformat
import pytest

from tools import build_notebooks
from tools.build_notebooks import LARGEST, NOTEBOOKS, SOURCES, agrees, faults, read, target, text_of, tidy

NAMES = [path.stem for path in sorted(SOURCES.glob("*.py"))]
CHECKED = re.compile(r"^\s*# NBVAL_CHECK_OUTPUT\s*$", re.MULTILINE)
UNSTABLE = re.compile(r"\b(?:ms|seconds|tokens/s)\b|perf_counter|time\.time")


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def saved(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def code(name):
    return [cell for cell in saved(name).cells if cell.cell_type == "code"]


def prose(name):
    return "\n".join(cell.source for cell in saved(name).cells if cell.cell_type == "markdown").lower()


def told(cell):
    """What a cell printed or showed as text."""
    return "".join(
        output.get("text", "") + str(output.get("data", {}).get("text/plain", "")) for output in cell.outputs
    )


def test_each_notebook_has_a_source_and_each_source_a_notebook():
    assert {"00_quickstart", "01_speculative_decoding", "09_your_own_pair"} <= set(NAMES)
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(NAMES)


def test_notebook_agrees_with_its_source(name):
    assert agrees(SOURCES / f"{name}.py"), f"python tools/build_notebooks.py {name}"


def test_notebook_is_fit_to_be_shipped(name):
    assert faults(target(SOURCES / f"{name}.py").read_text("utf-8")) == []


def test_cells_ran_once_from_top_to_bottom(name):
    assert [cell.execution_count for cell in code(name)] == list(range(1, len(code(name)) + 1))


def test_notebook_prints_no_warning(name):
    loud = [o.text for cell in code(name) for o in cell.outputs if o.get("name") == "stderr"]
    assert loud == []


def test_checked_outputs_are_there_and_hold_facts(name):
    checked = [cell for cell in code(name) if CHECKED.search(cell.source)]
    assert checked, "no output of this notebook is checked"
    for cell in checked:
        assert re.search(r"\w{2}|\d", told(cell)), f"checked against next to nothing: {told(cell)!r}"
        assert not UNSTABLE.search(told(cell)), f"checked against a time: {told(cell)!r}"


def test_notebook_holds_itself_to_what_it_says(name):
    asserts = [
        node
        for cell in code(name)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Assert)
    ]
    assert len(asserts) >= 5
    assert not [node for node in asserts if isinstance(node.test, ast.Constant | ast.Tuple)]  # always true


@pytest.mark.parametrize(
    "part", ["after this notebook you can", "baseline", "negative control", "try it yourself"]
)
def test_notebook_has_the_parts_a_reader_expects(name, part):
    assert part in prose(name)


def test_notebook_says_what_it_does_not_show(name):
    assert re.search(r"## (?:honest limits|what this does not show)", prose(name))


# --- the checks themselves ----------------------------------------------------------------------


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A small notebook that is fine, as text and as object."""
    source = tmp_path / "src" / "x.py"
    source.parent.mkdir()
    source.write_text("# %% [markdown]\n# hi\n\n# %%\n# NBVAL_CHECK_OUTPUT\nprint(1)\n", "utf-8")
    monkeypatch.setattr(build_notebooks, "NOTEBOOKS", tmp_path)
    notebook = read(source)
    notebook.cells[1].execution_count = 1
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    return SimpleNamespace(source=source, notebook=notebook)


def test_a_good_notebook_has_no_faults(made):
    assert faults(text_of(made.notebook)) == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda n: n.metadata.update(widgets={"state": {}}), "widget state"),
        (lambda n: n.metadata.kernelspec.update(name="mine"), "kernel"),
        (lambda n: n.cells[1].update(outputs=[]), "checked against nothing"),
        (lambda n: n.cells[1].update(execution_count=None), "has not run"),
        (lambda n: n.cells[0].update(source="see /home/me/x"), "absolute path: /home/me"),
        (lambda n: n.cells[0].update(source="x" * LARGEST), "too many"),
        (
            lambda n: n.cells[1].outputs.append(
                nbformat.v4.new_output(
                    "display_data", {"text/html": '<script src="https://cdn.x/y.js"></script>'}
                )
            ),
            "network",
        ),
        (
            lambda n: n.cells[1].outputs.append(
                nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])
            ),
            "failed: E",
        ),
    ],
)
def test_each_fault_is_found(made, spoil, fault):
    spoil(made.notebook)
    (found,) = faults(text_of(made.notebook))
    assert fault in found


def test_agreement_is_about_sources_and_kinds(made):
    assert not agrees(made.source)  # there is no notebook yet
    target(made.source).write_text(text_of(made.notebook), "utf-8")
    assert agrees(made.source)
    made.notebook.cells[1].source += "\nprint(2)"
    target(made.source).write_text(text_of(made.notebook), "utf-8")
    assert not agrees(made.source)


def test_tidying_drops_widgets_and_times_and_keeps_outputs(made):
    cell = made.notebook.cells[1]
    view = {build_notebooks.WIDGET_VIEW: {"model_id": "1"}}
    cell.metadata["execution"] = {"iopub.execute_input": "now"}
    cell.outputs += [
        nbformat.v4.new_output("stream", text="2\n"),
        nbformat.v4.new_output("display_data", view),
        nbformat.v4.new_output("display_data", view | {"text/plain": "Box()"}),
    ]
    made.notebook.metadata["widgets"] = {}
    tidy(made.notebook)
    assert "widgets" not in made.notebook.metadata
    assert "execution" not in cell.metadata
    assert [output.output_type for output in cell.outputs] == ["stream", "display_data"]
    assert cell.outputs[0].text == "1\n2\n"
    assert cell.outputs[1].data == {"text/plain": "Box()"}
    assert faults(text_of(made.notebook)) == []
