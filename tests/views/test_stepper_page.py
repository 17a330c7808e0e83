"""The stepper as HTML: nothing from a trace becomes markup, nothing is fetched, and text stands without scripts."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pytest

from phrasekit.trace import Trace, save_trace
from phrasekit.views.escape import escape, script_json
from phrasekit.views.stepper import stepper, stepper_html
from phrasekit.views.stepper.page import script, style
from phrasekit.views.theme import DARK, LIGHT, Theme
from tests.views.stepper_traces import HOSTILE, hostile, plain_of, story

FOLDER = files("phrasekit.views.stepper")
SOURCE = FOLDER.joinpath("stepper.js").read_text(encoding="utf-8")
STYLE = FOLDER.joinpath("stepper.css").read_text(encoding="utf-8")


class Seen(HTMLParser):
    """Tags with their attributes, and the data of every script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._inside = tag == "script"

    def handle_data(self, data):
        if self._inside:
            self.scripts.append(data)
            self._inside = False


@pytest.mark.parametrize("page", [False, True])
def test_a_hostile_trace_adds_no_tag_and_no_attribute(page):
    assert Seen(stepper_html(hostile(), page=page)).tags == Seen(stepper_html(story(), page=page)).tags


@pytest.mark.parametrize("name", list(HOSTILE))
def test_every_hostile_text_by_itself_adds_no_tag(name):
    trace = Trace(
        HOSTILE[name], (10, 11), story().iterations, "eos", {"target": HOSTILE[name]}, {20: HOSTILE[name]}
    )
    assert Seen(stepper_html(trace)).tags == Seen(stepper_html(story())).tags


def test_the_data_comes_back_from_the_page():
    view = stepper(hostile(), step=1, baseline=plain_of(story()))
    data = json.loads(Seen(view.html()).scripts[0])
    assert data["info"] == json.loads(json.dumps(view.info.plain_data()))
    assert (data["step"], data["theme"]) == (1, "auto")


def test_the_page_is_ascii_and_safe_inside_a_script():
    html = stepper_html(hostile(), page=True)
    assert html.isascii()
    assert not set("<>&\u2028\u2029") & set(script_json({"a": "</script><!--&\u2028\u2029"}))
    assert json.loads(script_json({"a": "</script>\u2028"})) == {"a": "</script>\u2028"}
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


@pytest.mark.parametrize("name", list(HOSTILE))
def test_escape_leaves_no_markup_and_nothing_invisible(name):
    escaped = escape(HOSTILE[name])
    assert not set("<>\"'") & set(escaped)
    assert escaped.isprintable()


@pytest.mark.parametrize(
    "word",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"],
)
def test_the_script_parses_no_markup_and_runs_no_text(word):
    assert word not in SOURCE


@pytest.mark.parametrize("source", [SOURCE, STYLE, stepper_html(story(), page=True)])
def test_nothing_is_fetched(source):
    assert not re.search(
        r"https?:|@import|url\(|import\s*\(|from\s+[\"']|fetch\(|XMLHttpRequest|sendBeacon", source
    )


def test_the_only_parser_call_reads_a_constant():
    assert SOURCE.count("DOMParser") == 1
    assert re.search(r'new DOMParser\(\)\.parseFromString\("<svg></svg>", "text/html"\)', SOURCE)


def test_the_script_inside_the_page_is_the_module_without_comments():
    assert script().isascii()
    assert "</" not in script().replace("</svg>", "")
    assert not re.search(r"^//", script(), re.MULTILINE)
    assert script() in stepper_html(story())


@pytest.mark.parametrize(
    ("theme", "selector"), [(LIGHT, r"\.pk-stepper"), (DARK, r"\.pk-stepper\[data-theme=dark\]")]
)
def test_the_style_sheet_has_the_colours_of_the_theme(theme, selector):
    block = re.search(selector + r" \{(.*?)\}", STYLE, re.DOTALL).group(1)
    found = dict(re.findall(r"(--[\w-]+): (#[0-9A-F]{6});", block))
    assert found == theme.variables()
    assert len(found) == len(fields(Theme))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_stands_out_from_what_is_behind_it(theme):
    for kind in ("draft", "phrase", "suffix", "lookup"):
        assert contrast(theme.ink, theme.tint(kind)) > 7
        assert contrast(theme.edge_of(kind), theme.tint(kind)) > 3
    assert contrast(theme.ink_2, theme.surface) > 7
    assert contrast(theme.ink_3, theme.surface) > 4.5
    assert contrast(theme.edge, theme.surface) > 3
    assert contrast(theme.mistake, theme.surface) > 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_is_readable_all_along_the_scale_of_probabilities(theme):
    scale = [mixed(theme.surface, theme.unsure, step / 20) for step in range(21)]
    for colour in scale:
        assert contrast(theme.ink, colour) > 5
        assert contrast(theme.ink_2, colour) > 3  # marks of spaces and line breaks
    lights = [luminance(colour) for colour in scale]
    assert lights == sorted(lights, reverse=theme is LIGHT)
    # steps that look even: lightness of OKLab, the last step as large as the first
    steps = [oklab(other)[0] - oklab(one)[0] for one, other in pairwise(scale)]
    assert max(steps) - min(steps) < 0.01
    assert abs(oklab(scale[-1])[0] - oklab(scale[0])[0]) > 0.2


def mixed(one: str, other: str, share: float) -> str:
    """What `color-mix(in oklab, …)` gives, with `share` of the other."""
    mix = [a + share * (b - a) for a, b in zip(oklab(one), oklab(other), strict=True)]
    long, middle, short = (
        (mix[0] + a * mix[1] + b * mix[2]) ** 3
        for a, b in (
            (0.3963377774, 0.2158037573),
            (-0.1055613458, -0.0638541728),
            (-0.0894841775, -1.291485548),
        )
    )
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
    )
    curved = (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in linear)
    return "#" + "".join(f"{round(255 * min(1, max(0, x))):02X}" for x in curved)


def oklab(colour: str) -> tuple[float, float, float]:
    """Lightness and two axes of colour, after Björn Ottosson."""
    red, green, blue = linear_of(colour)
    long, middle, short = (
        (a * red + b * green + c * blue) ** (1 / 3)
        for a, b, c in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    )
    return (
        0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short,
    )


def contrast(one: str, other: str) -> float:
    """Ratio of WCAG 2."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    red, green, blue = linear_of(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear_of(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def test_the_notebook_gets_html_and_text():
    bundle = stepper(story(), step=1, baseline=plain_of(story()))._repr_mimebundle_()
    assert bundle["text/plain"] == (
        "ouroboros: 2 iterations, 7 tokens written\n"
        "Iteration 2: the draft model wrote 1 token in 1 forward; the target kept it, kept 2 more from a pool "
        "suffix and added 1 of its own: 4 tokens for one target forward.\n"
        "Draft: kept whole\n"
        "Suffix 1: lost after 1: the target says «#32»\n"
        "Suffix 2: won, all 2 kept; then the target says «<end>»\n"
        "Suffix 3: starts like suffix 1, shares its rows\n"
        "Copy 4: lost at once: the target says «return»\n"
        "The text is that of plain decoding (7 tokens compared)."
    )
    assert bundle["text/html"] == stepper(story(), step=1, baseline=plain_of(story()))._repr_html_()


def test_the_text_is_in_the_page_for_where_scripts_do_not_run():
    assert "<pre>ouroboros: 2 iterations, 7 tokens written" in stepper_html(story())


def test_the_first_iteration_shown_is_within_the_run():
    assert [stepper(story(), step=step).step for step in (-1, -9, 0, 1, 99)] == [1, 0, 0, 1, 1]
    assert stepper(Trace("vanilla", (1,)), step=5).step == 0


def test_a_page_is_saved_whole(tmp_path):
    path = stepper(story()).save(tmp_path / "run.html")
    assert path.read_text(encoding="ascii").startswith("<!doctype html>")


def test_a_path_is_loaded(tmp_path):
    path = tmp_path / "run.jsonl"
    save_trace(story(), path)
    assert stepper(path).info == stepper(story()).info
    assert stepper(str(path)).info == stepper(story()).info


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "footer"),
        (b"not json at all\n", "line 1"),
        (b'{"row":"header","schema":"someone else"}\n', "schema"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_trace_gives_a_message(tmp_path, content, told):
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_bytes(content)
    view = stepper(path)
    assert told in view.info.notice
    assert repr(view).startswith("This trace cannot be shown.")
    assert Seen(view.html()).tags == Seen(stepper_html(story())).tags


def test_a_truncated_file_gives_a_message(tmp_path):
    path = tmp_path / "run.jsonl"
    save_trace(story(), path)
    path.write_bytes(path.read_bytes()[:-400])
    assert stepper(path).info.notice


def test_a_trace_of_another_version_gives_a_message(tmp_path):
    path = tmp_path / "run.jsonl"
    save_trace(story(), path)
    path.write_text(path.read_text().replace('"schema_version":1', '"schema_version":7'), encoding="utf-8")
    assert "version" in stepper(path).info.notice


def test_an_unknown_theme_is_refused():
    with pytest.raises(ValueError, match="auto, light, dark"):
        stepper(story(), theme="pink")


def test_the_size_of_what_every_cell_carries():
    assert len(script()) < 90_000
    assert len(style()) < 30_000
