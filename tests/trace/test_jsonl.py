"""Files: they come back equal, appear whole or not at all, and fail in one documented way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.errors import TraceFormatError
from phrasekit.trace import Trace, TraceWriter, faults, jsonl, load_trace, save_trace
from tests import damage
from tests.damage import edited, nested
from tests.strategies import traces


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("traces")


@pytest.fixture
def file(story, tmp_path) -> Path:
    save_trace(story, tmp_path / "run.jsonl")
    return tmp_path / "run.jsonl"


# --- round trip ---------------------------------------------------------------------------------


def test_a_file_comes_back_equal(story, file):
    assert load_trace(file) == story
    assert load_trace(str(file)).metrics() == story.metrics()


@settings(max_examples=40, deadline=None)
@given(trace=traces())
def test_any_trace_is_sound_and_comes_back_equal(folder, trace):
    assert list(faults(trace)) == []
    save_trace(trace, folder / "any.jsonl")
    assert load_trace(folder / "any.jsonl") == trace


@pytest.mark.parametrize("text", ["\ud800", "é漢\U0001f600", "\x00\x1b\u2028\n\r", '"\\', "</script>"])
def test_any_text_comes_back(story, tmp_path, text):
    trace = replace(story, method=text, texts={1: text}, settings={text: text})
    save_trace(trace, tmp_path / "t")
    assert load_trace(tmp_path / "t") == trace


def test_rows_name_themselves_and_hold_plain_records(story, file):
    header, *rows, footer = map(json.loads, file.read_text("ascii").splitlines())
    assert (header["row"], header["schema"], header["schema_version"]) == ("header", "phrasekit-trace", 1)
    assert (header["method"], header["prompt"]) == ("ouroboros", [7, 8])
    assert [row["row"] for row in rows] == ["iteration"] * 4
    assert rows[1]["tree"]["branches"][1] == {"kind": "suffix", "phrase": 5, "nodes": [2, 4]}
    assert footer == {
        "row": "footer", "finish_reason": "eos", "iterations": 4,
        "texts": {str(token): text for token, text in story.texts.items()},
    }  # fmt: skip


def test_whole_milliseconds_are_numbers_too(vanilla, tmp_path):
    trace = Trace("m", (70,), (replace(vanilla, index=0, position=1, phases={"forward": 3}),))
    save_trace(trace, tmp_path / "t")
    (iteration,) = load_trace(tmp_path / "t").iterations
    assert iteration.phases == {"forward": 3.0}
    assert isinstance(iteration.phases["forward"], float)


# --- what cannot be read ------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(story, partial, file):
    save_trace(replace(story, iterations=(partial,)), file)
    for _ in damage.cuts(file):
        with pytest.raises(TraceFormatError):
            load_trace(file)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_corrupted_file_is_refused_or_sound(folder, data):
    intact = folder / "intact.jsonl"
    if not intact.exists():
        save_trace(Trace("m", (1, 2), texts={1: "a"}, settings={"seed": 1}), intact)
    spoiled = folder / "corrupted.jsonl"
    spoiled.write_bytes(data.draw(damage.corrupted(intact.read_bytes(), places=1, longest=3)))
    assert_refused_or_sound(spoiled)


@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b'"', b"9", b"-", b"]", b"}", b"\n", b"e"])
def test_one_wrong_byte_anywhere_is_refused_or_sound(file, byte):
    for _ in damage.wrong_bytes(file, byte, 29):
        assert_refused_or_sound(file)


def assert_refused_or_sound(path: Path) -> None:
    try:
        trace = load_trace(path)
    except TraceFormatError:
        return
    assert list(faults(trace)) == []
    save_trace(trace, path)
    assert load_trace(path) == trace


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=60))
def test_a_foreign_file_is_refused(folder, content):
    path = folder / "foreign"
    path.write_bytes(content)
    with pytest.raises(TraceFormatError):
        load_trace(path)


DAMAGES = {
    "no header": (lambda rows: rows.pop(0), 1, "the first row must be a header"),
    "other schema": (edited(1, schema="optuna"), 1, "schema 'phrasekit-trace'"),
    "later version": (edited(1, schema_version=2), 1, "schema_version must be 1, found 2"),
    "version of another type": (edited(1, schema_version=True), 1, "schema_version must be 1, found True"),
    "no version": (edited(1, schema_version=None), 1, "schema_version must be 1, found None"),
    "method is a number": (edited(1, method=3), 1, "method must be text, found 3 (int)"),
    "prompt is text": (edited(1, prompt="abc"), 1, "prompt must be a list, found 'abc' (str)"),
    "prompt holds text": (edited(1, prompt=[1, "2"]), 1, "prompt[1] must be an integer, found '2' (str)"),
    "settings is a list": (edited(1, settings=[]), 1, "settings must be an object"),
    "settings not finite": (edited(1, settings={"a": [1e999]}), 1, "found the number Infinity"),
    "settings huge": (edited(1, settings={"a": 2**64}), 1, "settings.a must be an integer of 64 bits"),
    "unknown row": (edited(3, row="note"), 3, "must be an iteration or the footer, found 'note'"),
    "missing field": (edited(2, picks=None), 2, "found no 'picks'"),
    "unknown field": (edited(2, magic=1), 2, "found an unknown field 'magic'"),
    "bool for integer": (edited(2, index=False), 2, "index must be an integer, found False (bool)"),
    "float for integer": (edited(2, index=0.0), 2, "index must be an integer, found 0.0 (float)"),
    "text for number": (nested(2, "4", "forward", "ms"), 2, "forward.ms must be a number, found '4' (str)"),
    "not a number": (nested(2, float("nan"), "forward", "ms"), 2, "found the number NaN"),
    "record is a list": (edited(2, tree=[]), 2, "tree must be an object, found [] (list)"),
    "deep inside": (
        nested(2, None, "draft", 1, "pool", "hits"),
        2,
        "draft[1].pool.hits must be an integer, found None",
    ),
    "row out of order": (lambda rows: rows.reverse(), 1, "the first row must be a header"),
    "row missing": (lambda rows: rows.pop(2), 3, "index must be 1"),
    "row twice": (lambda rows: rows.insert(2, rows[1]), 3, "index must be 1"),
    "broken rule": (edited(2, path=[2]), 2, "path: node 2 must be a child of -1"),
    "wrong count": (edited(6, iterations=3), 6, "the footer must count 4 iterations, found 3"),
    "last iteration missing": (lambda rows: rows.pop(4), 5, "the footer must count 3 iterations, found 4"),
    "finish reason": (edited(6, finish_reason="bored"), 6, "finish_reason must be one of"),
    "text of no id": (
        edited(6, texts={"-1": "a"}),
        6,
        "texts must be an object with token ids as keys, found the key '-1'",
    ),
    "text of a padded id": (edited(6, texts={"01": "a"}), 6, "found the key '01'"),
    "text is a number": (edited(6, texts={"1": 1}), 6, "texts.1 must be text"),
    "row behind the footer": (lambda rows: rows.append(rows[1]), 6, "the footer must be the last row"),
    "no footer": (
        lambda rows: rows.pop(),
        6,
        "must end with a footer row, found the end of the file before it",
    ),
    "row is a list": (lambda rows: rows.insert(1, []), 2, "one JSON object in UTF-8, found a list"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told_with_place_rule_and_remedy(name, file):
    spoil, line, message = DAMAGES[name]
    damage.apply(spoil, file)
    told = damage.told(TraceFormatError, load_trace, file, line)
    assert message in told
    assert told.endswith((jsonl._AGAIN, jsonl._OURS, jsonl._OTHER_VERSION))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"[" * 1_000_000 + b"\n", "nest at most 48 deep"),
        (b'{"a":' * 100 + b"1" + b"}" * 100 + b"\n", "nest at most 48 deep"),
        (b"9" * 5000 + b"\n", "one JSON object"),
        (b"\xff\n", "one JSON object in UTF-8"),
        (b"\n", "one JSON object"),
        (
            b'{"row":"header","schema":"phrasekit-trace","schema_version":1e999}\n',
            "schema_version must be 1, found inf",
        ),
        (b"{" + b'"\\' * 500_000 + b"\n", "one JSON object"),
    ],
)
def test_json_bombs_are_refused(tmp_path, row, message):
    (tmp_path / "t").write_bytes(row)
    with pytest.raises(TraceFormatError, match="line 1: ") as caught:
        load_trace(tmp_path / "t")
    assert message in str(caught.value)


def test_brackets_inside_text_do_not_nest(story, tmp_path):
    trace = replace(story, texts={1: "[" * 100, 2: '"{\\"[' * 50, 3: "\\", 4: "[" * 100})
    save_trace(trace, tmp_path / "t")
    assert load_trace(tmp_path / "t") == trace


def test_caps_hold_before_anything_is_parsed(file, monkeypatch):
    size = file.stat().st_size
    assert load_trace(file, max_bytes=size).method == "ouroboros"
    with pytest.raises(TraceFormatError, match=f"at most {size - 1} bytes, found {size}. Pass max_bytes"):
        load_trace(file, max_bytes=size - 1)
    monkeypatch.setattr(jsonl, "MAX_ITERATIONS", 3)
    with pytest.raises(TraceFormatError, match="line 5: a trace must have at most 3 iterations"):
        load_trace(file)
    monkeypatch.setattr(jsonl, "MAX_ROW_BYTES", 100)
    with pytest.raises(TraceFormatError, match="line 1: a row must have at most 100 bytes"):
        load_trace(file)


def test_only_regular_files_are_read(tmp_path):
    with pytest.raises(TraceFormatError, match="must be a regular file"):
        load_trace(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.jsonl"):
        load_trace(tmp_path / "none.jsonl")


# --- what cannot be written ---------------------------------------------------------------------

CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"a": float("nan")}, "settings.a must be a finite number, found nan"),
        ({"a": {1, 2}}, "must be a record or a plain value (convert arrays and tensors first), found a set"),
        ({"stop": ["x"]}, "lists for tuples"),
        ({1: "x"}, "keys that are not text"),
        ({"a": CIRCLE}, "header: Circular reference detected"),
    ],
)
def test_what_would_not_come_back_is_not_written(story, file, settings_, message):
    before = file.read_bytes()
    with pytest.raises(TraceFormatError) as caught:
        save_trace(replace(story, settings=settings_), file)
    assert message in str(caught.value)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_nesting_is_capped_in_writing_too(story, file):
    deep: tuple[object, ...] = ()
    for _ in range(60):
        deep = (deep,)
    with pytest.raises(TraceFormatError, match="must nest at most 48 deep"):
        save_trace(replace(story, settings={"a": deep}), file)


def test_a_row_too_long_is_not_written(story, file, monkeypatch):
    monkeypatch.setattr(jsonl, "MAX_ROW_BYTES", 300)
    with pytest.raises(TraceFormatError, match="iteration: a row must have at most 300 bytes"):
        save_trace(story, file)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(story, file):
    broken = replace(story, iterations=(*story.iterations[:2], story.iterations[3]))
    with pytest.raises(TraceFormatError, match="index must be 2"):
        save_trace(broken, file)
    assert load_trace(file) == story
    assert list(file.parent.iterdir()) == [file]


def test_a_save_that_cannot_appear_leaves_nothing(story, tmp_path):
    damage.check_that_a_failed_save_leaves_nothing(lambda path: save_trace(story, path), tmp_path)


# --- the writer ---------------------------------------------------------------------------------


def test_the_file_appears_when_the_writer_closes(story, tmp_path):
    path = tmp_path / "t"
    with TraceWriter(path, method=story.method, prompt=story.prompt, settings=story.settings) as writer:
        for iteration in story.iterations:
            writer.append(iteration, texts={5: "early"})
        assert not path.exists()
        writer.close("eos", texts=story.texts)
    assert load_trace(path) == story
    assert list(tmp_path.iterdir()) == [path]


def test_an_abort_keeps_what_was_made(story, tmp_path):
    def run():
        with TraceWriter(tmp_path / "t", method="m", prompt=[7, 8]) as writer:
            writer.append(story.iterations[0], texts={10: "("})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    kept = load_trace(tmp_path / "t")
    assert kept == Trace("m", (7, 8), story.iterations[:1], "cancelled", texts={10: "("})


def test_a_refused_iteration_costs_only_itself(story, tmp_path):
    with TraceWriter(tmp_path / "t", method="m", prompt=(7, 8)) as writer:
        writer.append(story.iterations[0])
        for bad in (story.iterations[2], replace(story.iterations[1], note=3)):
            with pytest.raises(TraceFormatError):
                writer.append(bad)
        with pytest.raises(TraceFormatError, match="texts must map token ids to text, found -1"):
            writer.append(story.iterations[1], texts={-1: "x"})
        writer.append(story.iterations[1])
        with pytest.raises(TraceFormatError, match="finish_reason"):
            writer.close("bored")
        writer.close("length")
    assert load_trace(tmp_path / "t").iterations == story.iterations[:2]


def test_a_closed_writer_takes_nothing(story, tmp_path):
    writer = TraceWriter(tmp_path / "t", method="m", prompt=(7, 8))
    writer.close("stop")
    for use in (lambda: writer.append(story.iterations[0]), writer.close):
        with pytest.raises(ValueError, match="a closed writer takes no more rows"):
            use()
    writer.discard()
    assert load_trace(tmp_path / "t") == Trace("m", (7, 8), finish_reason="stop")


def test_discard_leaves_nothing(tmp_path):
    writer = TraceWriter(tmp_path / "t", method="m", prompt=(7, 8))
    writer.discard()
    assert list(tmp_path.iterdir()) == []


# --- replay -------------------------------------------------------------------------------------

REPLAY = """
import sys
from phrasekit.trace import load_trace, measure, render, save_trace
trace = load_trace(sys.argv[1])
save_trace(trace, sys.argv[1])
print(measure(trace).emitted, len(render(trace)))
print([name for name in ("torch", "transformers", "numpy") if name in sys.modules])
"""


def test_a_trace_is_replayed_without_torch(file):
    numbers, loaded = damage.run_apart(REPLAY, file).splitlines()
    assert numbers.startswith("10 ")
    assert loaded == "[]"
