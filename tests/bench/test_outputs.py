"""Places to write to, looked at before the work starts."""

from __future__ import annotations

import os

import pytest

from phrasekit.bench.outputs import check_place


def test_a_file_needs_its_folder_and_a_folder_is_made(tmp_path):
    (tmp_path / "file").touch()
    check_place(tmp_path / "new.json")
    check_place(tmp_path / "file")
    check_place(tmp_path / "a" / "b", made=True)
    check_place(tmp_path, made=True)
    with pytest.raises(FileNotFoundError, match="needs an existing folder"):
        check_place(tmp_path / "a" / "b")
    for place, made in ((tmp_path / "file" / "x", False), (tmp_path / "file" / "x" / "y", True)):
        with pytest.raises(NotADirectoryError, match="is a file; choose another place"):
            check_place(place, made=made)


def test_a_folder_that_takes_no_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    for made in (False, True):
        with pytest.raises(PermissionError, match="takes files"):
            check_place(tmp_path / "new", made=made)
