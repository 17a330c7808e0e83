"""The chosen phrase as markup: born of every source, used, thrown away, never used, gone; and hostile text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dashboard.tabs.pool.lifeline import in_words, labelled, lifeline
from dashboard.tabs.pool.panel import panel
from dashboard.tabs.pool.phrases import heads, lines
from dashboard.tabs.pool.rows import Row, rows_of_trace
from phrasekit.trace import PhraseRecord, PoolRecord
from phrasekit.views.phrases import Life, Use
from tests.views.conftest import HOSTILE


def of(trace, phrase):
    """The panel of one phrase of a run."""
    rows = rows_of_trace(trace)
    return panel(next(row for row in rows if row.id == phrase), rows, trace)


def taking_in(trace, tokens, source, at=0):
    """The run, with a phrase 77 that iteration `at` took in."""
    pool = PoolRecord(inserted=(PhraseRecord(77, tokens, source),), size=1)
    iterations = list(trace.iterations)
    iterations[at] = replace(iterations[at], pool=pool)
    return replace(trace, iterations=tuple(iterations))


def words(markup):
    """What a reader reads."""
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", "", markup))


def cells(markup, cls):
    """Texts of the cells of the small table with that class."""
    return [
        words(cell)
        for cell in re.findall(rf'<span role="cell" class="{cls}"[^>]*>(.*?)</span></span>', markup)
    ]


def test_born_from_the_rejected_tail_and_used(harvested):
    markup = of(harvested, 8)
    told = words(markup)
    assert told.startswith("Selected phrase1 of 1 that saved tokensa→bc")
    assert "Born in iteration 1, from the rejected tail" in told
    assert "The draft went wrong at position 2, where it wrote #40 and the target says a." in told
    assert cells(markup, "says key") == ["a"]
    assert cells(markup, "says in") == ["b", "c"]
    assert re.findall('class="mark [a-z]*" aria-label="([^"]*)">(.)', markup) == [
        ("first mistake", "✗"),
        ("right, but after the mistake", "="),
        ("right, but after the mistake", "="),
    ]
    assert "Used in iteration 2, 2 of 2 kept" in told
    assert "It stood before the target, without a draft: 2 tokens more for the same target forward" in told
    ring = re.search('<span class="ring">(.*?)</span></div>', markup)[1]
    assert words(ring).startswith("bc")


def test_the_ring_holds_what_was_kept_and_nothing_else(story):
    markup = of(taking_in(story, (8, 10, 11), "committed"), 77)
    snip = re.search(
        '<div class="snip">(.*?)<span class="ring">(.*?)</span>(?=<span class="pk-t target)', markup
    )
    assert words(snip[1]) == "def"
    assert words(snip[2]) == " f(x"
    assert "The target wrote these tokens in this order, at positions 1 to 3" in words(markup)


def test_born_from_the_prompt(story):
    told = words(of(taking_in(story, (7, 8), "committed"), 77))
    assert "Born in iteration 1, from the prompt" in told
    assert "The prompt has these tokens in this order, at positions 0 to 1" in told


def test_born_from_a_repaired_suffix(story):
    markup = of(taking_in(story, (21, 30, 32), "suffix", at=1), 77)
    assert "Born in iteration 2, from a repaired suffix" in words(markup)
    assert "at position 8 it has #31 where the target says #32." in words(markup)
    assert cells(markup, "says key") == ["#21"]
    assert cells(markup, "says in") == [" return", "#32"]


def test_born_from_the_lookahead_window(ahead):
    markup = of(ahead, 1)
    assert "Born in iteration 1, from the lookahead window" in words(markup)
    assert re.findall('<td class="key">(.*?)</td>', markup)[0].count("#9") == 1
    assert [words(cell) for cell in re.findall('<td class="in">(.*?)</td>', markup)] == ["#21", "#31"]


def test_a_source_that_nobody_knows(story):
    told = words(of(taking_in(story, (98, 99), "elsewhere"), 77))
    assert "Born in iteration 1, from elsewhere" in told
    assert "Where in that iteration it stood was not recorded." in told


def test_never_used(harvested, story):
    assert "Never usedNo lookup returned it." in words(of(harvested, 9))
    only = replace(story.iterations[1], tree=replace(story.iterations[1].tree, branches=()))
    asked = words(of(replace(story, iterations=(story.iterations[0], only)), 4))
    assert "Looked up in iteration 2, but no token of it came before the target." in asked


def test_thrown_away(story):
    markup = of(story, 4)
    assert "Used, but thrown awayPut before the target in iteration 2, which kept none" in words(markup)
    assert "pk-t suffix late" in markup or "pk-t suffix mistake" in markup  # the verdicts stand with it


def test_there_before_the_run(story):
    told = words(of(story, 5))
    assert "Born before this runIt was in the pool when this run began, or what put it there was not" in told
    assert "It came from tail." in told
    assert "Used in iteration 2, 2 of 2 kept" in told
    assert (
        "It stood behind the draft: 2 tokens more for the same target forward, which kept all of them."
        in told
    )


def test_gone(harvested):
    second = harvested.iterations[1]
    gone = replace(
        harvested,
        iterations=(harvested.iterations[0], replace(second, pool=PoolRecord(evicted=(8,), size=1))),
    )
    markup = of(gone, 8)
    assert "Gone in iteration 2" in words(markup)
    assert "gone 2" in words(markup)
    assert 'class="gone"' in markup


def test_without_a_run_only_the_pools_own_counts(story):
    row = Row(3, ("a", "b"), "window", tried=4, kept=2)
    told = words(panel(row, [row], None))
    assert "Born in a run that is not shown" in told
    assert "It came from the lookahead window" in told
    assert "looked up 4 times and put 2 tokens into texts; it will be seen in the next run" in told
    assert "the run shown does not name it" in words(panel(row, [row], story))


class Tags(HTMLParser):
    """Elements and attributes that a browser would see."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attributes):
        self.seen.update({tag, *(name for name, _ in attributes)})


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("phrase", [4, 5, 7])
def test_hostile_text_stays_text(story, harvested, text, phrase):
    runs = [
        replace(taking_in(story, (8, 10, 11), "committed"), texts=dict.fromkeys(range(100), text)),
        replace(taking_in(story, (21, 30, 32), "suffix", at=1), texts=dict.fromkeys(range(100), text)),
        replace(taking_in(story, (8, 10), text), texts=dict.fromkeys(range(100), text)),
        replace(harvested, texts=dict.fromkeys(range(100), text)),
    ]
    for trace in runs:
        rows = rows_of_trace(trace)
        for row in rows:
            tags = Tags()
            tags.feed(f"<table>{lines([row], 4)}</table>{panel(row, rows, trace)}")
            assert not tags.seen & {"img", "script", "b>bold", "onerror", "onmouseover", "src", "href"}


LIFE = Life(
    1, (1, 2), "window", 2, (4, 5, 5, 6, 7),
    (Use(6, 20, (0, 1), 2, "phrase"), Use(7, 25, (0,), 0, "suffix"), Use(9, 31, (0, 1, 2), 3, "suffix")), 11,
)  # fmt: skip


def test_a_life_in_words():
    assert in_words(LIFE) == "born 3; looked up 5, 6; used 7, 10; thrown away 8; gone 12"
    many = replace(LIFE, tries=tuple(range(3, 40)), uses=(), evicted=-1)
    assert in_words(many) == "born 3; looked up 4, 5, 6, 7 and 33 more"
    assert in_words(replace(LIFE, born=-1, tries=(), uses=(), evicted=-1)) == "nothing of it was recorded"


def test_every_mark_of_a_life_is_where_it_was():
    markup = lifeline(LIFE, 20)
    places = {
        name: re.findall(f'<i class="{name}" style="left:([0-9.]+)%', markup)
        for name in ("on", "tick", "born", "bar", "bar behind", "lost", "gone")
    }
    assert places == {
        "on": ["12.5"],
        "tick": ["22.5", "27.5"],
        "born": ["12.5"],
        "bar": ["32.5"],
        "bar behind": ["47.5"],
        "lost": ["37.5"],
        "gone": ["57.5"],
    }
    assert "right:42.5%" in markup  # it ends where it went
    assert 'role="img" aria-label="born 3;' in markup


def test_labels_of_a_life_never_lie_on_each_other():
    markup = labelled(LIFE, 20)
    boxes = re.findall(r"calc\(([0-9.]+)% - .*?;width:([0-9]+)px;top:([0-9]+)px", markup)
    assert len(boxes) == 5
    spans = sorted((top, 350 * float(at) / 100 - int(wide) / 2, int(wide)) for at, wide, top in boxes)
    for (top, left, wide), (next_top, next_left, _) in zip(spans, spans[1:], strict=False):
        assert top != next_top or max(0, left) + wide <= next_left + 1


def test_rows_without_a_run_have_no_life_to_show():
    assert 'class="alone"' in heads(0)
    assert "life, iterations 1 to 20" in heads(20)
    assert "not in this run" in lines([Row(1, ("a", "b"), "window", 1, 0)], 20)
