"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os

import pytest

from phrasekit.bench.files import write_json
from phrasekit.trace import Trace
from phrasekit.trace.export.convert import convert
from phrasekit.trace.whole import write_whole
from phrasekit.views import pool_view
from phrasekit.views.stepper import stepper

EMPTY = Trace(method="vanilla", prompt=(1,))
WRITERS = {
    "bytes": lambda path: write_whole(path, b"new"),
    "json": lambda path: write_json({"new": "ä"}, path),
    "export": lambda path: convert(EMPTY, path, "perfetto"),
    "view": lambda path: pool_view(EMPTY).save(path),
    "stepper": lambda path: stepper(EMPTY).save(path),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_file_that_cannot_be_finished_stays_as_it_was(write, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(handle):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write(path)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])
    monkeypatch.undo()
    write(path)
    assert path.read_bytes() not in (b"", b"old")
    assert list(tmp_path.iterdir()) == [path]


def test_json_is_text_as_it_reads(tmp_path):
    write_json({"new": "ä"}, tmp_path / "file")
    assert json.loads((tmp_path / "file").read_text("utf-8")) == {"new": "ä"}
    assert "ä" in (tmp_path / "file").read_text("utf-8")
