"""The visitor's phrases: found, sorted, saved, loaded back; and files that are no pools."""

from __future__ import annotations

import re
import tempfile

import pytest

from dashboard.jobs.poolfile import MOST_BYTES, pool_bytes, pool_from
from dashboard.parts.runbar import RunBar
from dashboard.tabs.pool.growth import growth_of, marks_of
from dashboard.tabs.pool.phrases import foot, lines
from dashboard.tabs.pool.rows import Row, chosen, rows_of_pool, rows_of_trace
from dashboard.tabs.pool.sources import worth
from dashboard.tabs.pool.tab import FIRST, STEP, PoolTab
from phrasekit.pool import PhrasePool
from phrasekit.trace import save_trace
from phrasekit.views import pool_info
from tests.apps.conftest import finish, until

ROWS = (
    Row(id=0, texts=("def", " main", "("), source="window", tried=9, kept=0),
    Row(id=1, texts=(".", "append", "("), source="committed", tried=3, kept=7),
    Row(id=2, texts=("<b>", "<script>alert(1)</script>"), source="discarded", tried=1, kept=2),
)


def tab_of(session):
    session.settings.tab = "pool"
    return PoolTab(session, RunBar(session))


def test_search_looks_through_the_whole_phrase():
    assert [row.id for row in chosen(ROWS, "APPEND(", "tokens saved")] == [1]
    assert [row.id for row in chosen(ROWS, "f main", "tokens saved")] == [0]
    assert not chosen(ROWS, "nowhere", "tokens saved")


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("tokens saved", [1, 2, 0]),
        ("times tried", [0, 1, 2]),
        ("newest first", [2, 1, 0]),
        ("longest first", [1, 0, 2]),
        ("after the token", [1, 2, 0]),
        ("source", [1, 2, 0]),
    ],
)
def test_orders(order, ids):
    assert [row.id for row in chosen(ROWS, "", order)] == ids


def test_model_text_is_escaped():
    markup = lines(ROWS, 0) + worth(ROWS)
    assert "<script" not in markup
    assert "<b><" not in markup.replace("<b><i", "")
    assert "&lt;script&gt;" in markup


def test_what_is_not_shown_is_counted_and_can_be_asked_for():
    assert foot(ROWS, 3) == "3 phrases, 2 of them saved tokens."
    assert foot(ROWS, 1).endswith('<button type="button">Show more</button> 2 not shown')


def test_what_a_source_is_worth():
    markup = worth(ROWS)
    assert "33% of the phrases, 78% of the tokens kept: 7" in markup
    assert "0 of 1 used" in markup


def test_the_pool_of_a_run_with_its_phrases_lives(visitor):
    session = visitor(tokens=48)
    tab = tab_of(session)
    assert "recorded run" in tab.intro.object
    assert tab.save.disabled
    session.start()
    finish(session)
    tab.show()
    assert len(session.pool) > 0
    assert "The pool of your last run" in tab.intro.object
    rows = rows_of_pool(session.pool, str, session.run.trace)
    assert {row.id for row in rows if not row.gone} == {phrase.id for phrase in session.pool}
    assert {row.id for row in rows if row.gone} == {
        phrase for one in session.run.iterations for phrase in one.pool.evicted
    }
    assert all(row.life is None or row.life.tokens == tuple(map(int, row.texts)) for row in rows)
    assert any(row.life is not None for row in rows)
    assert sum(row.kept for row in rows) == pool_info(session.run.trace).saved
    assert len(tab.growth.run["steps"]) == len(session.run.iterations)


def shown(tab):
    """Ids of the rows listed, in their order."""
    return list(map(int, re.findall('data-id="([0-9]+)"', tab.list.rows)))


def test_the_best_phrase_is_shown_until_somebody_picks_another(visitor):
    tab = tab_of(visitor())
    ids = shown(tab)
    assert len(ids) == FIRST
    assert tab.list.chosen == ids[0]
    tab.list._handle_msg({"pick": ids[2]})
    assert tab.list.chosen == ids[2]
    life = next(row.life for row in rows_of_trace(tab.session.recorded) if row.id == ids[2])
    assert f"Born in iteration {life.born + 1}" in tab.list.panel
    assert tab.growth.marks == marks_of(life)
    assert tab.growth.marks[0] == (life.born, "born")


def test_a_pick_stays_while_the_list_is_sorted_and_searched(visitor):
    session = visitor()
    tab = tab_of(session)
    picked = shown(tab)[3]
    tab.pick(picked)
    session.settings.sort = "newest first"
    assert shown(tab)[0] != picked
    session.settings.words = "no phrase holds this"
    assert (shown(tab), tab.list.chosen) == ([], picked)
    assert "No phrase holds these words." in tab.list.foot
    session.settings.words = ""
    tab.list._handle_msg({"more": 1})
    assert len(shown(tab)) == FIRST + STEP
    assert tab.list.chosen == picked


@pytest.mark.parametrize(
    "sent", [None, [], "x", {"pick": "1"}, {"pick": None}, {"pick": 10**9}, {"pick": -1}, {}]
)
def test_a_page_may_send_anything(visitor, sent):
    tab = tab_of(visitor())
    before = tab.list.panel
    tab.list._handle_msg(sent)
    assert tab.list.panel == before


def test_a_pick_stays_while_the_pool_grows_and_is_not_taken_for_another_runs(visitor):
    session = visitor(tokens=64)
    tab = tab_of(session)
    session.start()
    until(lambda: session.run.iterations)
    tab.show()  # at once, as another run is shown
    picked = tab._shown.rows[-1]
    assert picked.life is None or picked.life.kept == 0  # others will stand before it
    tab.pick(picked.id)
    finish(session)
    tab.show()
    assert tab.list.chosen == picked.id
    session.settings.prompt = "import re\n\n\nclass Reader:\n"
    session.start()
    finish(session)
    tab.show()
    now = next(row for row in tab._shown.rows if row.id == tab.list.chosen)
    assert now.id == shown(tab)[0] or now.texts == picked.texts


def test_a_loaded_pool_says_that_its_births_are_elsewhere(visitor):
    session, other = visitor(tokens=40), visitor(tokens=40)
    session.start()
    finish(session)
    tab = tab_of(other)
    tab.load(pool_bytes(session.pool, session.place.pair))
    assert "Born in a run that is not shown" in tab.list.panel
    assert tab.growth.run == {}
    assert tab.growth.marks == []
    other.start()
    finish(other)
    tab.show()
    older = [row for row in tab._shown.rows if row.life is not None and row.life.born < 0]
    assert older
    tab.pick(older[0].id)
    assert "Born before this run" in tab.list.panel


def test_a_cleared_pool_is_empty(visitor):
    session = visitor(tokens=24)
    tab = tab_of(session)
    session.start()
    finish(session)
    tab.show()
    tab.empty()
    assert "is empty" in tab.intro.object
    assert (shown(tab), tab.list.panel, tab.list.chosen) == ([], "", -1)
    assert "This pool is empty." in tab.list.foot
    assert tab.growth.run  # what the run did, it did


def test_another_pools_run_tells_nothing(visitor):
    session = visitor(tokens=24)
    session.start()
    finish(session)
    session.place.pool.insert(next(iter(session.pool)).tokens, "window")  # the same number in another pool
    session.settings.pool = "shared"
    tab = tab_of(session)
    try:
        assert tab.growth.run == {}
        assert "that everybody here shares holds <b>1 phrase</b>" in tab.intro.object
        assert "Born in a run that is not shown" in tab.list.panel
    finally:
        session.place.pool.clear()


def test_an_uploaded_run_is_shown_in_place_of_the_pool(visitor, harvested, tmp_path):
    session = visitor(tokens=24)
    session.start()
    finish(session)
    tab = tab_of(session)
    save_trace(harvested, tmp_path / "run.jsonl")
    assert session.upload((tmp_path / "run.jsonl").read_bytes())
    tab.show()
    assert "The pool of the uploaded run holds <b>2 phrases</b>; <b>1 of them</b>" in tab.intro.object
    assert shown(tab) == [8, 9]
    assert "from the rejected tail" in tab.list.panel


def test_growth_as_plain_values(harvested, plain):
    drawn = growth_of(pool_info(harvested))
    assert drawn["sources"] == [["committed", "committed text"], ["discarded", "rejected tail"]]
    assert drawn["steps"] == [[1, 1, 2, 0], [1, 1, 0, 0]]
    assert drawn["lookups"] == [(1.1, 0, 1.0)]
    assert growth_of(pool_info(plain)) == {}


def test_rows_of_a_recorded_run(visitor):
    rows = rows_of_trace(visitor().recorded)
    assert rows
    assert all(row.kept == row.life.kept for row in rows)


def test_a_saved_pool_comes_back_for_the_next_run(visitor):
    session, other = visitor(tokens=40), visitor(tokens=40)
    session.start()
    finish(session)
    saved = pool_bytes(session.pool, session.place.pair)
    tab = tab_of(other)
    assert tab.load(saved)
    assert other.settings.pool == "kept"
    assert [p.tokens for p in other.pool] == [p.tokens for p in session.pool]
    before = len(other.pool)
    other.start()
    finish(other)
    assert other.run.pool is other.pool
    assert len(other.pool) >= before


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b'{"row":"header"}\n', b"[" * 5000, b"{}\n" * 10])
def test_a_file_that_is_no_pool_is_one_clear_message(visitor, content):
    session = visitor()
    tab = tab_of(session)
    assert not tab.load(content)
    assert session.notice.startswith("This file is no pool that can be used.")
    assert tempfile.gettempdir() not in session.notice
    assert len(session.pool) == 0


def test_a_pool_of_another_tokenizer_is_refused(visitor, pair, tmp_path):
    from phrasekit.pool import save_pool

    pool = PhrasePool()
    pool.insert((1, 2, 3), "committed")
    save_pool(pool, tmp_path / "pool.jsonl", fingerprint="another")
    with pytest.raises(ValueError, match="no pool that can be used"):
        pool_from((tmp_path / "pool.jsonl").read_bytes(), pair)


def test_ids_beyond_the_vocabulary_are_refused(pair):
    pool = PhrasePool()
    pool.insert((1, pair.target.vocabulary), "committed")
    with pytest.raises(ValueError, match="token ids"):
        pool_from(pool_bytes(pool, pair), pair)


def test_a_large_file_is_not_even_written(pair):
    with pytest.raises(ValueError, match="at most 16 MB"):
        pool_from(b" " * (MOST_BYTES + 1), pair)


def test_clear_forgets_ones_own_and_never_the_shared_one(visitor):
    session = visitor(tokens=24, pool="kept")
    session.start()
    finish(session)
    tab = tab_of(session)
    assert len(session.pool)
    tab.empty()
    assert not len(session.pool)
    session.place.pool.insert((5, 6, 7), "committed")
    session.settings.pool = "shared"
    tab.show()
    assert len(session.pool) == 1
    assert tab.clear.disabled
    session.place.pool.clear()


def test_phrases_are_ones_own(visitor):
    session, other = visitor(tokens=24, pool="kept"), visitor(pool="kept")
    session.start()
    finish(session)
    assert len(session.pool)
    assert not len(other.pool)
