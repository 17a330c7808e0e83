"""Make the notebooks from their sources: run every cell, keep the outputs, leave out what does not last.

A notebook is written as ``notebooks/src/NAME.py`` (jupytext, percent format). This script turns it into
``notebooks/NAME.ipynb``: read, execute in a fresh kernel, tidy, check, write.

    python tools/build_notebooks.py                     # all of them
    python tools/build_notebooks.py 00_quickstart 03    # those whose names start so
    python tools/build_notebooks.py --check             # run nothing: is every notebook up to date and tidy?

Tidy means: outputs and execution counts kept; no saved widget state and no live widget views (a saved
notebook has no kernel behind them); no timings or versions in the metadata; cell ids that depend on the
place of the cell alone, so that a rebuild changes only what changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import jupytext
import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
SOURCES = NOTEBOOKS / "src"
LARGEST = 300_000  # bytes of an .ipynb
SLOWEST = 60.0  # processor seconds of a notebook: what it takes on an idle core, whatever else runs here
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NETWORK = re.compile(r"<(?:script|link|iframe|img)[^>]*(?:src|href)=[\\\"' ]*(?:https?:)?//", re.IGNORECASE)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

# What the kernel sees: no network, no progress bars, one thread, and plotly
# figures as plain data (the renderer for classic notebooks would embed 5 MB of plotly.js).
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "PLOTLY_RENDERER": "plotly_mimetype",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "268435456",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


def sources(starts: list[str]) -> list[Path]:
    """Sources whose names start with one of ``starts``; all of them without any."""
    found = sorted(SOURCES.glob("*.py"))
    for start in starts:
        if not any(path.stem.startswith(start) for path in found):
            sys.exit(f"no notebook source in {SOURCES.relative_to(ROOT)} starts with {start!r}")
    return [path for path in found if not starts or path.stem.startswith(tuple(starts))]


def target(source: Path) -> Path:
    return NOTEBOOKS / f"{source.stem}.ipynb"


def read(source: Path) -> nbformat.NotebookNode:
    """The notebook without outputs."""
    notebook = jupytext.reads(source.read_text("utf-8"), fmt="py:percent")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:02d}"
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k == "tags"})
    return notebook


def execute(notebook: nbformat.NotebookNode) -> tuple[float, float]:
    """Run every cell in a fresh kernel; wall and processor seconds, the kernel's start included."""
    from nbclient import NotebookClient  # not needed to check

    os.environ.update(ENVIRONMENT)
    start, used = time.perf_counter(), processor_seconds()
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOKS)}}
    )
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
    return time.perf_counter() - start, processor_seconds() - used


def processor_seconds() -> float:
    """Of all kernels that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Leave out, in place, what does not belong into a saved notebook."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = nbformat.from_dict(KERNEL)
    notebook.metadata["language_info"] = nbformat.from_dict({"name": "python"})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        kept = []
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET_VIEW, None)
            if output.output_type == "display_data" and not output.data:
                continue
            output.pop("transient", None)
            kept.append(output)
        cell.outputs = merged(kept)


def merged(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of one stream as one, as nbval compares them."""
    result: list[Any] = []
    for output in outputs:
        last = result[-1] if result else None
        same = last is not None and output.output_type == last.output_type == "stream"
        if same and output.name == last.name:
            last.text += output.text
        else:
            result.append(output)
    return result


def text_of(notebook: nbformat.NotebookNode) -> str:
    """As it is written to disk."""
    plain = json.loads(nbformat.writes(notebook))  # also validates
    return json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def faults(text: str) -> list[str]:
    """What keeps a saved notebook from being shipped, each in words."""
    found = []
    if len(text.encode()) >= LARGEST:
        found.append(f"{len(text.encode()):,} bytes, {LARGEST:,} are too many")
    notebook = nbformat.reads(text, as_version=4)
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel is not python3")
    if "widgets" in notebook.metadata or WIDGET_VIEW in text:
        found.append("it holds widget state")
    absolute = re.search(r"(?<![\w.:/-])/(?:home|root|work|tmp|usr|opt|Users)/\w+|[A-Z]:\\\\\w+", text)
    if absolute:
        found.append(f"an absolute path: {absolute[0]}")
    if NETWORK.search(text):
        found.append("something loaded from the network")
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.execution_count is None and cell.source.strip():
            found.append(f"cell {number} has not run")
        if re.search(r"^\s*# NBVAL_CHECK_OUTPUT\s*$", cell.source, re.MULTILINE) and not cell.get("outputs"):
            found.append(f"cell {number} is checked against nothing")
        found += [
            f"cell {number} failed: {output.ename}"
            for output in cell.get("outputs", [])
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", [])
        ]
    return found


def agrees(source: Path) -> bool:
    """Whether the notebook on disk has the cells of its source."""
    if not target(source).exists():
        return False
    saved, made = nbformat.read(target(source), as_version=4), read(source)
    return [(c.cell_type, c.source, c.get("metadata", {}).get("tags")) for c in saved.cells] == [
        (c.cell_type, c.source, c.metadata.get("tags")) for c in made.cells
    ]


def build(source: Path) -> list[str]:
    """Make one notebook; what is wrong with it. It is written only where every cell ran."""
    notebook = read(source)
    wall, seconds = execute(notebook)
    tidy(notebook)
    text = text_of(notebook)
    target(source).write_text(text, "utf-8")
    sys.stdout.write(
        f"{source.stem}: {wall:.1f} s, {seconds:.1f} s of a processor, {len(text.encode()):,} bytes\n"
    )
    sys.stdout.flush()
    slow = [f"{seconds:.0f} s, {SLOWEST:.0f} are too many"] if seconds > SLOWEST else []
    return slow + faults(text)


def check(source: Path) -> list[str]:
    """What is wrong with the notebook on disk, nothing run."""
    if not agrees(source):
        return [f"it does not agree with {source.relative_to(ROOT)}; run this script"]
    return faults(target(source).read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="how the names of the wanted notebooks start")
    parser.add_argument("--check", action="store_true", help="run nothing, check the notebooks on disk")
    options = parser.parse_args()
    wrong = 0
    for source in sources(options.names):
        for fault in check(source) if options.check else build(source):
            sys.stdout.write(f"{source.stem}: {fault}\n")
            wrong += 1
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
