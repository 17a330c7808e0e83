"""Files damaged on purpose: a loader refuses them in its one documented way, or gives something sound.

Shared by the tests of trace and pool files, which say what is sound and which rows may be damaged how.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

Row = dict[str, Any]
Damage = Callable[[list[Row]], object]


def edited(line: int, **changes: object) -> Damage:
    """Rows with fields of one row replaced; None takes the field out."""

    def edit(rows: list[Row]) -> None:
        row = rows[line - 1] | changes
        rows[line - 1] = {name: value for name, value in row.items() if value is not None}

    return edit


def nested(line: int, value: object, *path: str | int) -> Damage:
    """Rows with one value deep inside replaced."""

    def edit(rows: list[Row]) -> None:
        place: Any = rows[line - 1]
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return edit


def apply(damage: Damage, file: Path) -> None:
    """Write the file anew with its rows damaged."""
    rows = [json.loads(row) for row in file.read_text().splitlines()]
    damage(rows)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def cuts(file: Path) -> Iterator[int]:
    """The file cut after every number of bytes, the longest first."""
    for size in reversed(range(file.stat().st_size)):
        os.truncate(file, size)
        yield size


def wrong_bytes(file: Path, damage: bytes, stride: int) -> Iterator[int]:
    """The file with one byte replaced, at every `stride`-th place; each damage begins at another."""
    content = file.read_bytes()
    for position in range(damage[0] % stride, len(content), stride):
        file.write_bytes(content[:position] + damage + content[position + 1 :])
        yield position


@st.composite
def corrupted(draw: st.DrawFn, content: bytes, *, places: int, longest: int) -> bytes:
    """Content with up to `places` runs of up to `longest` bytes replaced by a few others."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, places))):
        position = draw(st.integers(0, max(0, len(found) - 1)))
        found[position : position + draw(st.integers(0, longest))] = draw(st.binary(max_size=4))
    return bytes(found)


def told(error: type[Exception], load: Callable[[Path], object], file: Path, line: int) -> str:
    """What the refusal of a file says; it names file and line."""
    with pytest.raises(error) as caught:
        load(file)
    message = str(caught.value)
    assert message.startswith(f"{str(file)!r}, line {line}: ")
    return message


def check_that_a_failed_save_leaves_nothing(save: Callable[[Path], None], folder: Path) -> None:
    """Neither where a folder stands in the way nor where there is no folder."""
    (folder / "taken").mkdir()
    (folder / "taken" / "by").touch()
    with pytest.raises(OSError, match="taken"):
        save(folder / "taken")
    with pytest.raises(FileNotFoundError):
        save(folder / "missing" / "file")
    assert list(folder.iterdir()) == [folder / "taken"]


def run_apart(code: str, *arguments: object) -> str:
    """Output of a program in a process of its own, which has imported nothing yet."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
