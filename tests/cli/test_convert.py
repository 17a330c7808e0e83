"""`phrasekit trace convert` and `phrasekit trace gallery`: files from files, with no model."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from phrasekit import demo
from phrasekit.cli.gallery import gallery_page
from phrasekit.trace import load_trace, save_trace
from phrasekit.views import EVERY_FORMAT
from tests.cli.conftest import error_of, invoke

BEGINS = {
    "html": b"<!DOCTYPE html>",
    "parquet": b"PAR1",
    "perfetto": b"{",
    "vllm": b"{",
    "spec-bench": b"{",
    "jsonl": b'{"row":"header"',
}
# "hidden" markup and addresses that a browser would fetch by itself
FETCHED = re.compile(
    r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import|import\("""
)


def test_help_names_every_format():
    shown = invoke("trace", "convert", "--help").stdout
    formats = {**{name: one.suffixes[0] for name, one in EVERY_FORMAT.items()}, "jsonl": ".jsonl"}
    for name, suffix in formats.items():
        assert re.search(rf"^ *{name} .* \{suffix}$", shown, re.MULTILINE), name
    assert set(formats) == set(BEGINS)


@pytest.mark.parametrize("name", list(BEGINS))
def test_the_suffix_or_the_option_names_the_format(recorded, tmp_path, name):
    suffix = EVERY_FORMAT[name].suffixes[0] if name in EVERY_FORMAT else ".jsonl"
    by_suffix, by_option = tmp_path / f"out{suffix}", tmp_path / "out.bin"
    said = invoke("trace", "convert", str(recorded), str(by_suffix)).stdout
    assert f"out{suffix}: {name}, " in said.replace("\n", "")
    assert invoke("trace", "convert", str(recorded), str(by_option), "--format", name).exit_code == 0
    for path in (by_suffix, by_option):
        assert path.read_bytes().startswith(BEGINS[name])


def test_jsonl_comes_back_equal(recorded, tmp_path):
    invoke("trace", "convert", str(recorded), str(tmp_path / "copy.jsonl"))
    assert load_trace(tmp_path / "copy.jsonl") == load_trace(recorded)


def test_what_cannot_be_converted_is_one_line_and_leaves_no_file(recorded, tmp_path):
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text("{}\n", encoding="utf-8")
    out = tmp_path / "out.html"
    error_of(invoke("trace", "convert", str(foreign), str(out)))
    error_of(invoke("trace", "convert", str(tmp_path / "nowhere.jsonl"), str(out)))
    assert "must end in one of" in error_of(
        invoke("trace", "convert", str(recorded), str(tmp_path / "out.txt"))
    )
    assert "must be among" in error_of(
        invoke("trace", "convert", str(recorded), str(out), "--format", "gif\x1b")
    )
    error_of(invoke("trace", "convert", str(recorded), str(tmp_path / "no" / "out.html")))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign.jsonl", "hostile.jsonl"]


def test_gallery_of_the_recorded_runs(tmp_path):
    out = tmp_path / "gallery.html"
    said = invoke("trace", "gallery", str(out)).stdout
    assert f"{len(demo.traces())} runs" in said.replace("\n", " ")
    page = out.read_text(encoding="utf-8")
    assert page.count("data-phrasekit-stepper>") == len(demo.traces())
    for place, name in enumerate(demo.traces(), start=1):
        assert f'href="#run-{place}"' in page
        assert f'<section id="run-{place}"' in page
        assert f">{name}</h2>" in page
    tokens = len(demo.load_recorded().tokens)
    assert page.count(f"✓ same text: {tokens} tokens") == len(demo.traces()) - 1
    assert not FETCHED.search(page)


def test_gallery_of_hostile_files(recorded, tmp_path):
    texts = dict.fromkeys(load_trace(recorded).texts, "</script><img src=x onerror=alert(1)>\u202e")
    hostile = tmp_path / "<b>x&.jsonl"
    save_trace(replace(load_trace(recorded), texts=texts, method="<i>m"), hostile)
    out = tmp_path / "gallery.html"
    assert "2 runs" in invoke("trace", "gallery", str(out), str(hostile), str(recorded)).stdout
    page = out.read_text(encoding="utf-8")
    assert "<img" not in page
    assert "<b>x" not in page
    assert "<i>m" not in page
    assert "\u202e" not in page
    assert "no plain decoding to compare with" in page


def test_gallery_tells_files_of_one_name_apart(recorded, tmp_path):
    (tmp_path / "a").mkdir()
    same = tmp_path / "a" / recorded.name
    same.write_bytes(recorded.read_bytes())
    out = tmp_path / "gallery.html"
    invoke("trace", "gallery", str(out), str(recorded), str(same))
    assert out.read_text(encoding="utf-8").count("<section ") == 2


def test_a_gallery_is_the_same_every_time():
    runs = {name: demo.load_recorded(name) for name in demo.traces()[:2]}
    assert gallery_page(runs) == gallery_page(runs)


def test_neither_needs_torch(tmp_path):
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from phrasekit.cli import main\n"
        f"main(['trace', 'gallery', {str(tmp_path / 'g.html')!r}], standalone_mode=False)\n"
        f"main(['trace', 'convert', {str(demo.TRACES / 'ouroboros.jsonl')!r}, "
        f"{str(tmp_path / 'o.html')!r}], standalone_mode=False)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"g.html", "o.html"}
