"""Drawings: they come out, in both themes, and no text of a model reaches a reader as markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.trace import Trace
from phrasekit.trace.visible import visible
from phrasekit.views import (
    Html,
    View,
    comparison_view,
    convert,
    draw_stream,
    harvest_view,
    matches_view,
    pool_view,
    speedup_view,
    stream_info,
    stream_view,
    timeline_view,
    trace_page,
    tree_view,
    window_view,
)
from phrasekit.views.figure import PLOTLY_MIME, blend, colors, label, stepped
from phrasekit.views.html import chip, fragment, plain, style
from phrasekit.views.link import run_key
from phrasekit.views.table import Table
from phrasekit.views.theme import DARK, LIGHT
from phrasekit.views.tokens import Token
from tests.strategies import hostile_texts
from tests.views.conftest import HOSTILE
from tests.views.stepper_traces import likely

ROOT = Path(__file__).resolve().parents[2]
ON_HTML = {"stream": stream_view, "window": window_view, "harvest": harvest_view}
ON_PLOTLY = {
    "tree": tree_view,
    "matches": matches_view,
    "pool": pool_view,
    "timeline": timeline_view,
    "speedup": speedup_view,
    "comparison": lambda trace: comparison_view(trace, trace),
}
EVERY = ON_HTML | ON_PLOTLY


# --- every view ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_draws_prints_and_has_a_table(name, theme, story):
    view = EVERY[name](story).themed(theme)
    drawn = view.draw()
    if name in ON_PLOTLY:
        assert drawn.layout.paper_bgcolor == colors(theme).surface
        assert len(drawn.data) >= 2
        assert drawn.layout.title.text.startswith(label(view.sentence[:20]))
    else:
        assert view.sentence.split(";")[0] in drawn.markup.replace("&#x27;", "'")
    assert str(view).startswith(view.sentence)
    assert str(view) == str(EVERY[name](story))
    assert all(len(row) == len(view.table.columns) for row in view.table.rows)


@pytest.mark.parametrize("name", EVERY)
def test_every_view_survives_a_run_with_nothing_in_it(name):
    empty = Trace("vanilla", (7,))
    if name in ("tree", "speedup"):
        with pytest.raises(ValueError, match="but got"):
            EVERY[name](empty)
        return
    view = EVERY[name](empty)
    view.draw()
    assert view.sentence in str(view)


@pytest.mark.parametrize("name", ON_PLOTLY)
def test_figures_stay_small_enough_for_a_notebook(name, story):
    (form,) = (value for kind, value in bundle(EVERY[name](story)).items() if kind == PLOTLY_MIME)
    assert len(json.dumps(form)) < 60_000
    assert form["layout"]["width"] >= 900
    assert len(json.dumps(form["layout"]["template"])) < 100  # not plotly's default of 7 kB


def bundle(view):
    return view._repr_mimebundle_()


@pytest.mark.parametrize("name", EVERY)
def test_notebook_gets_text_table_and_drawing(name, story):
    forms = bundle(EVERY[name](story))
    assert forms["text/plain"] == str(EVERY[name](story))
    assert (PLOTLY_MIME in forms) == (name in ON_PLOTLY)
    assert "<table" in forms["text/html"]
    assert "http" not in forms["text/html"]


@pytest.mark.parametrize("name", ON_PLOTLY)
def test_without_plotly_the_sentence_and_the_table_stand_in(name, story, monkeypatch):
    view = EVERY[name](story)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r'pip install "phrasekit\[notebook\]"'):
        view.draw()
    forms = bundle(view)
    assert set(forms) == {"text/plain", "text/html"}
    assert "pip install" in forms["text/html"]
    assert "<table" in forms["text/html"]


def test_views_load_neither_torch_nor_plotly_nor_pyarrow():
    code = "import sys, phrasekit.views; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "phrasekit" in loaded
    assert not loaded & {"torch", "transformers", "plotly", "pyarrow", "numpy"}


@pytest.mark.parametrize("view", [stream_view, matches_view])
def test_unknown_theme_is_refused(view, story):
    with pytest.raises(ValueError, match=r"theme must be .*, but got 'blue'"):
        view(story).themed("blue").html()


# --- what single drawings must show -------------------------------------------------------------


def test_stream_marks_origin_and_verdict_and_breaks_lines(story):
    markup = stream_view(story).draw().markup
    assert 'class="pk-t draft kept ' in markup
    assert 'class="pk-t draft mistake ' in markup
    assert 'class="pk-t target own ' in markup
    assert "<br>" in markup  # the token that ends a line does
    refused = markup.split('class="pk-refused"')[1].split("</span></span>")[0]
    assert "<br>" not in refused


def test_stream_filter_needs_no_script(story):
    forms = bundle(stream_view(story))["text/html"]
    assert "<script" not in forms
    assert 'class="pk-f-draft"' in forms
    assert ":has(.pk-f-draft:not(:checked))" in forms


def test_stream_can_be_coloured_by_probability():
    drawn = draw_stream(stream_info(likely()), shade="probability").markup
    assert '<option class="pk-f-probability" selected>' in drawn
    assert drawn.count(" selected") == 1
    assert (
        'style="--p:10%" title="&#x27;):\\n    &#x27;: the target&#x27;s own; position 4, id 50; p = 0.10"'
        in drawn
    )
    assert "p, by the target itself" in drawn
    sheet = style()
    assert ".pk-view:has(.pk-f-probability:checked) .pk-it>.pk-t[style]" in sheet


def test_stream_without_probabilities_says_how_to_get_them(story):
    drawn = draw_stream(stream_info(story)).markup
    assert "record it with probabilities=True (--probabilities)" in drawn
    assert "--p:" not in drawn
    assert "; p = " not in drawn
    assert '<option class="pk-f-origin" selected>' in drawn


def test_tree_has_mask_rows_in_the_order_of_the_tree(story):
    drawn = tree_view(story, 2).draw()
    (mask,) = (trace for trace in drawn.data if trace.type == "heatmap")
    assert len(mask.z) == 6
    assert len(mask.z[0]) == 7  # the cache is one column
    assert [row[0] for row in mask.z] == [1] * 6
    assert mask.z[5][5] == 0  # suffix 2 does not see the node that only suffix 1 has
    assert drawn.layout.yaxis2.matches == "y"
    assert list(drawn.layout.yaxis.ticktext) == ["4", "5", "6", "7", "8", "8"]


def test_dumbbells_and_heatmap(story):
    traces = {trace.name: trace for trace in matches_view(story).draw().data}
    assert list(traces["drafted"].y) == [3, 2, 3]
    assert list(traces["kept (A)"].y) == [2, 2, 0]
    assert list(traces["right anywhere (#Match)"].y) == [2, 2, 2]
    assert list(traces["kept from a suffix (Â)"].y) == [2]
    assert list(zip(traces["wrong"].x, traces["wrong"].y, strict=True)) == [(1, 3), (3, 1)]


def test_timeline_toggles_measured_and_idealised(story):
    drawn = timeline_view(story, first=1, plain=2.0).draw()
    measured, ideal = (button.args[0]["visible"] for button in drawn.layout.updatemenus[0].buttons)
    assert [a != b for a, b in zip(measured, ideal, strict=True)] == [True] * len(drawn.data)
    assert [trace.visible is not False for trace in drawn.data] == measured
    assert all(trace.orientation == "h" for trace in drawn.data if trace.type == "bar")


def test_speedup_scale_is_centred_on_no_gain(story):
    drawn = speedup_view(story).draw()
    heat = next(trace for trace in drawn.data if trace.type == "heatmap")
    assert heat.zmin == -heat.zmax
    assert "1×" in heat.colorbar.ticktext
    assert heat.z[0][0] == 0.0
    levels = {trace.contours.start: trace.line.width for trace in drawn.data if trace.type == "contour"}
    assert levels[1.0] == 3
    assert all(width == 1 for level, width in levels.items() if level != 1.0)


def test_comparison_lanes_and_where_they_cut(plain, story):
    drawn = comparison_view(plain, story).draw()
    own = [trace for trace in drawn.data if trace.name == "target's own"]
    assert [len(trace.x) for trace in own] == [10, 4]
    cuts = [trace for trace in drawn.data if trace.name == "cut only here"]
    assert [list(trace.x) for trace in cuts] == [[1, 2, 4, 5, 6, 7], []]


def test_window_table_outlines_the_ngram_that_saved_tokens(ahead):
    markup = window_view(ahead, 1).draw().markup
    assert markup.count('class="pk-cell pk-ngram') == 3  # key, level 1 and pick of column 0
    assert "new, put 2 tokens into the text later, outlined" in markup


def test_harvest_shows_the_way_from_mistake_to_use(harvested):
    markup = harvest_view(harvested).draw().markup
    assert "rejected tail: used in 2, 2 of 2 kept" in parsed(markup).text
    assert markup.index("target says") < markup.index("used in 2")
    assert f'href="#phrasekit-{run_key(harvested)}-2"' in markup
    assert "and 1 from committed text, not used" in markup


# --- hostile text -------------------------------------------------------------------------------

OUR_TAGS = re.compile(r"</?b>|<br>|</?s>|<span style='color:#[0-9A-F]{6}'>|</span>")
MARKUP = {"span", "i", "br", "wbr", "b", "div", "p", "h4", "label", "input", "style", "ul", "li", "details"}
MARKUP |= {"select", "option", "summary", "table", "thead", "tbody", "tr", "th", "td", "a"}


class Tags(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.links = set(), set(), "", set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value for name, value in attrs if name in ("href", "src")}

    def handle_data(self, data):
        self.text += data


def parsed(markup):
    parser = Tags()
    parser.feed(markup)
    parser.close()
    return parser


def strings(value):
    """Every string anywhere in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def unplotly(text):
    """Text as plotly shows it: it knows these entities and no others."""
    named = {"amp": "&", "lt": "<", "gt": ">"}
    return re.sub(
        r"&(#\d+|#x[\da-fA-F]+|[a-z]+);",
        lambda m: chr(int(m[1][1:])) if m[1][0] == "#" else named.get(m[1], m[0]),
        text,
    )


@pytest.mark.parametrize("name", ON_PLOTLY)
def test_hostile_text_is_text_in_every_figure(name, hostile):
    figure = bundle(EVERY[name](hostile))[PLOTLY_MIME]
    found = list(strings(figure))
    for text in found:
        bare = OUR_TAGS.sub("", text)
        assert not set("<>$") & set(bare), text
        text.encode("utf-8")
    seen = unplotly(" ".join(found))
    if name in ("tree", "comparison"):
        assert visible(HOSTILE[0], keep=6).split("…")[0] in seen
    assert not [key for key in flat_keys(figure) if "template" in key and key != "template"]


def flat_keys(value):
    """Every key anywhere: no text reaches a hover template or a text template."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from flat_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from flat_keys(inner)


@pytest.mark.parametrize("name", EVERY)
def test_hostile_text_is_text_on_every_page(name, hostile):
    markup = bundle(EVERY[name](hostile))["text/html"]
    found = parsed(markup)
    assert found.tags <= MARKUP
    assert not {attribute for attribute in found.attributes if attribute.startswith("on")} - {"open"}
    assert all(re.fullmatch(r"#phrasekit-[0-9a-f]{12}-[0-9]+", link) for link in found.links)
    assert not set("\u202e\u2066\x00\x1b") & set(markup)
    markup.encode("utf-8")


@pytest.mark.parametrize("name", EVERY)
def test_hostile_text_is_spelled_out_on_a_terminal(name, hostile):
    told = str(EVERY[name](hostile))
    assert not set("\u202e\u2066\x00\x1b\ud800") & set(told)
    assert all(character == "\n" or character.isprintable() for character in told)


@settings(max_examples=200)
@given(hostile_texts)
def test_label_shows_any_text_as_it_is(text):
    shown = label(text)
    assert not set("<>$\n") & set(shown)
    assert unplotly(shown) == visible(text, spaces=False)
    shown.encode("utf-8")


@settings(max_examples=200)
@given(hostile_texts, st.sampled_from(["draft", "phrase", "suffix", "lookup", "target", "window"]))
def test_chip_of_any_text_is_one_safe_piece_of_markup(text, kind):
    markup = chip(Token(1, text, kind, "kept", 5, 3))
    found = parsed(markup)
    assert found.tags <= {"span", "i", "br"}
    assert found.attributes == {"class", "title"} | ({"data-w"} if "data-w" in markup else set())
    expected = "".join(
        visible(part, spaces=False) if part.strip(" ") else part
        for part in re.split("( +)", text.replace("\n", ""))
    )
    assert len(text) > 200 or found.text == expected
    markup.encode("utf-8")


@given(st.text(max_size=20))
def test_plain_word_and_table_cell_of_any_text_are_safe(text):
    assert parsed(plain(text)).tags == {"span"} | ({"i"} if "<i" in plain(text) else set())
    found = parsed(Table(("a",), ((text,),)).html())
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td"}


# --- pieces -------------------------------------------------------------------------------------


def test_table_text_and_html_are_the_same_rows():
    table = Table(("name", "n", "share"), (("a<b", 1, None), ("c", 22, 0.5)))
    assert table.text() == "name   n  share\na<b    1      –\nc     22   0.50"
    assert "<td>a&lt;b</td>" in table.html()
    assert '<td class="pk-n">0.50</td>' in table.html()
    assert table.dicts()[1] == {"name": "c", "n": 22, "share": 0.5}
    assert table.column("n") == (1, 22)


def test_long_table_says_how_much_is_left_out():
    table = Table(("n",), tuple((n,) for n in range(100)))
    assert table.text(most=2).splitlines() == ["n", "0", "1", "and 98 more rows"]
    assert table.html(most=2).count("<tr>") == 3
    assert "and 98 more rows" in table.html(most=2)


def test_style_has_the_colours_of_both_themes_and_fetches_nothing():
    sheet = style()
    assert f"--draft-tint:{LIGHT.draft_tint}" in sheet
    assert f"--draft-tint:{DARK.draft_tint}" in sheet
    assert "url(" not in sheet
    assert "@import" not in sheet
    assert sheet.count("{") == sheet.count("}")


def test_theme_is_chosen_by_attribute():
    assert 'data-pk-theme="dark"' in fragment("", "dark")
    assert "<style>" in fragment("")
    assert 'class="pk-view">' in fragment("")


def test_blend_and_stepped_scale():
    assert blend("#FFFFFF", "#000000", 0.5) == "#808080"
    assert stepped(["#111111", "#222222"]) == {
        "colorscale": [[0.0, "#111111"], [0.5, "#111111"], [0.5, "#222222"], [1.0, "#222222"]],
        "zmin": -0.5,
        "zmax": 1.5,
        "showscale": False,
    }


def test_html_shows_itself_in_a_notebook():
    assert Html("<p>a</p>")._repr_html_() == fragment("<p>a</p>")


# --- files --------------------------------------------------------------------------------------


def test_view_saves_a_page_of_its_own(story, tmp_path):
    path = harvest_view(story).save(tmp_path / "view.html")
    text = path.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Show as table" in text
    assert [one.name for one in tmp_path.iterdir()] == ["view.html"]


def test_figure_page_needs_no_network(story):
    page = matches_view(story).html()
    assert "Plotly.newPlot" in page
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)


def test_page_of_a_run_holds_stepper_text_and_numbers(story):
    page = trace_page(story)
    assert page.count("<!DOCTYPE html>") == 1
    assert "data-phrasekit-stepper" in page
    assert 'class="pk-text"' in page
    assert "10 tokens in 4 target forwards" in page
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)


def test_convert_knows_html_and_everything_else(story, tmp_path):
    assert convert(story, tmp_path / "run.html") == "html"
    assert (tmp_path / "run.html").read_text("utf-8") == trace_page(story)
    assert convert(story, tmp_path / "run.vllm.json") == "vllm"
    with pytest.raises(ValueError, match=r"the format must be among jsonl, .*html, but got 'csv'"):
        convert(story, tmp_path / "run.x", "csv")


def test_hostile_page_has_no_tags_of_the_model(hostile, tmp_path):
    page = trace_page(hostile)
    assert "<img" not in page
    assert "</script><script>" not in page
    page.encode("utf-8")


def test_view_is_equal_to_itself_made_again(story):
    assert matches_view(story) == matches_view(story)
    assert isinstance(matches_view(story), View)
