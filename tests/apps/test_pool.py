"""The visitor's phrases: found, sorted, saved, loaded back; and files that are no pools."""

from __future__ import annotations

import tempfile

import pytest

from dashboard.pool import PoolTab
from dashboard.poolfile import MOST_BYTES, pool_bytes, pool_from
from dashboard.poolrows import Row, chosen, listed, rows_of_pool, rows_of_trace, worth
from dashboard.runbar import RunBar
from phrasekit.pool import PhrasePool
from tests.apps.conftest import finish

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
    markup = listed(ROWS, 10) + worth(ROWS)
    assert "<script" not in markup
    assert "<b><" not in markup.replace("<b><i", "")
    assert "&lt;script&gt;" in markup


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
    assert {row.id for row in rows} == {phrase.id for phrase in session.pool}
    assert all(row.life is None or row.life.tokens == tuple(map(int, row.texts)) for row in rows)
    assert any(row.life is not None for row in rows)


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
