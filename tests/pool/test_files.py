"""Pool files: they come back equal, appear whole or not at all, and can cost speed but never a token."""

from __future__ import annotations

import json
import random
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.api import generate
from phrasekit.decode import Knobs
from phrasekit.errors import PhrasekitError, PoolFormatError
from phrasekit.lm import Pair
from phrasekit.pool import PhrasePool, files, load_pool, save_pool
from phrasekit.pool.phrase import COMMITTED, DISCARDED, SOURCES, SUFFIX, WINDOW
from phrasekit.pool.policy import ORDERS, POLICIES
from phrasekit.trace import Trace, save_trace
from tests import damage, models
from tests.damage import edited

OURS = "0123456789abcdef"


def small_pool(**settings_) -> PhrasePool:
    """Three keys, every source, phrases proposed and accepted, the order not that of insertion."""
    pool = PhrasePool(**{"per_key": 4, "capacity": 16, "longest": 6, **settings_})
    for tokens, source in (
        ((5, 1, 2), COMMITTED),
        ((5, 3, 4), WINDOW),
        ((7, 1), DISCARDED),
        ((90, 7, 5, 1, 1, 1), SUFFIX),
        ((5, 9, 9), WINDOW),
    ):
        pool.insert(tokens, source)
    pool.lookup(7, 1)
    for phrase in pool.lookup(5, 2):
        pool.credit(phrase.id, 2)
    pool.insert((5, 1), WINDOW)  # known as the beginning of another: refreshed
    return pool


def contents(pool: PhrasePool) -> list[tuple[object, ...]]:
    return [(phrase.tokens, phrase.source, phrase.uses, phrase.accepted) for phrase in pool]


def limits(pool: PhrasePool) -> tuple[object, ...]:
    return (
        pool.per_key,
        pool.capacity,
        pool.longest,
        pool.policy,
        pool.order,
        pool.half_life,
        pool.age,
    )


@pytest.fixture
def file(tmp_path) -> Path:
    save_pool(small_pool(), tmp_path / "pool.jsonl", fingerprint=OURS)
    return tmp_path / "pool.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pools")


def load(path, **options) -> PhrasePool:
    return load_pool(path, **{"fingerprint": OURS, "vocabulary": 96, **options})


# --- round trip ---------------------------------------------------------------------------------


def test_a_pool_comes_back_with_limits_order_and_statistics(file):
    pool, back = small_pool(), load(file)
    assert contents(back) == contents(pool)
    assert limits(back) == limits(pool)
    assert back.check_integrity() == ""
    assert [phrase.id for phrase in back] == list(range(5))
    assert [p.tokens for p in back.lookup(5, 9)] == [p.tokens for p in pool.lookup(5, 9)]


def test_an_empty_pool_comes_back(tmp_path):
    save_pool(PhrasePool(), tmp_path / "p", fingerprint=OURS)
    assert limits(load(tmp_path / "p")) == limits(PhrasePool())
    assert len(load(tmp_path / "p")) == 0


short_phrases = st.lists(st.integers(0, 3), min_size=2, max_size=5)
operations = st.lists(
    st.tuples(st.just("insert"), short_phrases, st.sampled_from(SOURCES))
    | st.tuples(st.just("lookup"), st.integers(0, 3), st.integers(1, 3))
    | st.tuples(st.just("credit"), st.integers(0, 40), st.integers(1, 3)),
    max_size=60,
)


def perform(pool: PhrasePool, steps) -> list[object]:
    """Do the operations; return what does not depend on ids."""
    seen: list[object] = []
    for what, first, second in steps:
        if what == "insert":
            new, gone = pool.insert(first, second)
            seen.append((new and new.tokens, len(gone)))
        elif what == "lookup":
            seen.append([phrase.tokens for phrase in pool.lookup(first, second)])
    return [*seen, contents(pool)]


@settings(max_examples=100)
@given(
    before=operations,
    after=operations.map(lambda steps: [step for step in steps if step[0] != "credit"]),
    policy=st.sampled_from(list(POLICIES)),
    order=st.sampled_from(list(ORDERS)),
    half_life=st.sampled_from([0, 1, 3]),
)
def test_a_pool_read_back_goes_on_as_the_one_that_was_written(
    folder, before, after, policy, order, half_life
):
    choices = {"policy": policy, "order": order, "half_life": half_life}
    pool = PhrasePool(per_key=3, capacity=6, longest=4, **choices)
    perform(pool, before)
    save_pool(pool, folder / "any", fingerprint=OURS)
    back = load_pool(folder / "any", fingerprint=OURS, vocabulary=4)
    assert (contents(back), limits(back), back.check_integrity()) == (contents(pool), limits(pool), "")
    assert perform(back, after) == perform(pool, after)


def test_rows_name_themselves_and_hold_plain_records(file):
    header, *rows, footer = map(json.loads, file.read_text("ascii").splitlines())
    assert header == {
        "row": "header", "schema": "phrasekit-pool", "schema_version": 1, "fingerprint": OURS,
        "per_key": 4, "capacity": 16, "longest": 6, "policy": "lru", "order": "recent",
        "half_life": 0, "age": 0,
    }  # fmt: skip
    assert rows[0] == {
        "row": "phrase", "tokens": [90, 7, 5, 1, 1, 1], "source": "suffix", "uses": 0, "accepted": 0,
    }  # fmt: skip
    assert footer == {"row": "footer", "phrases": 5}


def test_counters_beyond_all_use_are_written_as_the_largest(tmp_path):
    pool = small_pool()
    pool.credit(0, 1 << 70)
    save_pool(pool, tmp_path / "p", fingerprint=OURS)
    assert max(phrase.accepted for phrase in load(tmp_path / "p")) == files.MAX_COUNT


def test_a_pool_in_use_can_be_saved(tmp_path):
    pool = PhrasePool(capacity=64, policy="least_used")

    def work(seed):
        rng = random.Random(seed)
        for _ in range(2_000):
            pool.insert([rng.randrange(8) for _ in range(4)], WINDOW)
            pool.lookup(rng.randrange(8), 2)

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5):
        save_pool(pool, tmp_path / str(number), fingerprint=OURS)
    for thread in threads:
        thread.join()
    assert pool.check_integrity() == ""
    for number in range(5):
        assert load(tmp_path / str(number)).check_integrity() == ""


# --- what cannot be read ------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(file):
    for _ in damage.cuts(file):
        with pytest.raises(PoolFormatError):
            load(file)


@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b'"', b"9", b"-", b"]", b"}", b"\n", b"e", b"."])
def test_one_wrong_byte_anywhere_is_refused_or_sound(file, byte):
    for _ in damage.wrong_bytes(file, byte, 5):
        assert_refused_or_sound(file)


@settings(max_examples=200)
@given(data=st.data())
def test_a_corrupted_file_is_refused_or_sound(folder, data):
    intact = folder / "intact"
    if not intact.exists():
        save_pool(small_pool(policy="least_accepted", half_life=3), intact, fingerprint=OURS)
    spoiled = folder / "corrupted"
    spoiled.write_bytes(data.draw(damage.corrupted(intact.read_bytes(), places=3, longest=40)))
    assert_refused_or_sound(spoiled)


def assert_refused_or_sound(path: Path) -> None:
    try:
        pool = load(path)
    except PoolFormatError:
        return
    assert pool.check_integrity() == ""
    assert all(0 <= token < 96 for phrase in pool for token in phrase.tokens)
    save_pool(pool, path, fingerprint=OURS)
    assert contents(load(path)) == contents(pool)


@given(content=st.binary(max_size=60))
def test_a_foreign_file_is_refused(folder, content):
    (folder / "foreign").write_bytes(content)
    with pytest.raises(PoolFormatError):
        load(folder / "foreign")


def test_a_trace_is_no_pool(tmp_path):
    save_trace(Trace("m", (1, 2)), tmp_path / "t")
    with pytest.raises(PoolFormatError, match=r"header of schema 'phrasekit-pool'.*written by save_pool"):
        load(tmp_path / "t")


def test_another_tokenizer_is_refused_and_both_are_named(file):
    with pytest.raises(PoolFormatError) as caught:
        load(file, fingerprint="feedfeedfeedfeed")
    assert str(caught.value) == (
        f"{str(file)!r}, line 1: fingerprint must be that of the tokenizer in use, 'feedfeedfeedfeed', found "
        f"'{OURS}'. Use it with the models it was filled by, or start from an empty pool."
    )
    assert issubclass(PoolFormatError, PhrasekitError)


def crowded(rows):
    """More phrases under one key than `per_key`."""
    rows[1:1] = [{**rows[1], "tokens": [50, place]} for place in range(5)]


DAMAGES = {
    "later version": (edited(1, schema_version=2), 1, "schema_version must be 1, found 2"),
    "no fingerprint": (edited(1, fingerprint=None), 1, "found no 'fingerprint'"),
    "limit is text": (edited(1, per_key="4"), 1, "per_key must be an integer, found '4' (str)"),
    "limit too low": (edited(1, longest=1), 1, "longest must be 2 or more, but got 1"),
    "limit too high": (edited(1, per_key=1 << 60), 1, "per_key must be 256 or less"),
    "capacity too high": (edited(1, capacity=1 << 60), 1, "capacity must be 1048576 or less"),
    "halves too often": (edited(1, capacity=6400, half_life=99), 1, "half_life must be 0 or at least"),
    "unknown policy": (edited(1, policy="x" * 999), 1, "policy must be one of lru, least_used"),
    "unknown order": (edited(1, order="x"), 1, "order must be one of recent, accepted, but got 'x'"),
    "older than its half-life": (edited(1, half_life=3, age=3), 1, "below half_life (3), found 3"),
    "age without half-life": (edited(1, age=1), 1, "age must be 0 or more and below"),
    "id beyond the vocabulary": (edited(2, tokens=[1, 96]), 2, "must be from 0 to 95, found 96"),
    "negative id": (edited(2, tokens=[-1, 2]), 2, "token ids must be from 0 to 95, found -1"),
    "id is a truth": (edited(2, tokens=[True, 2]), 2, "tokens[0] must be an integer, found True (bool)"),
    "one token": (edited(2, tokens=[1]), 2, "a phrase must have 2 to 6 tokens, found 1"),
    "longer than longest": (edited(2, tokens=[1] * 7), 2, "a phrase must have 2 to 6 tokens, found 7"),
    "unknown source": (edited(2, source="hearsay"), 2, "source must be one of window, discarded"),
    "negative uses": (edited(2, uses=-1), 2, "uses must be from 0 to"),
    "accepted beyond use": (edited(2, accepted=1 << 60), 2, "accepted must be from 0 to"),
    "phrase twice": (lambda rows: rows.insert(2, rows[1]), 3, "a phrase must begin no other"),
    "beginning of another": (edited(3, tokens=[90, 7, 5]), 3, "a phrase must begin no other"),
    "begun by another": (edited(2, tokens=[7, 1, 1]), 3, "a phrase must begin no other"),
    "too many of a key": (crowded, 6, "fit the limits of the pool"),
    "more than the capacity": (edited(1, capacity=4), 6, "fit the limits of the pool"),
    "wrong count": (edited(7, phrases=4), 7, "the footer must count 5 phrases, found 4"),
    "unknown row": (edited(3, row="note"), 3, "must be a phrase or the footer, found 'note'"),
    "unknown field": (edited(3, note="x"), 3, "found an unknown field 'note'"),
    "phrase behind the footer": (lambda rows: rows.append(rows[1]), 7, "the footer must be the last row"),
    "no footer": (lambda rows: rows.pop(), 7, "a pool must end with a footer row"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told_with_place_rule_and_remedy(name, file):
    spoil, line, message = DAMAGES[name]
    damage.apply(spoil, file)
    told = damage.told(PoolFormatError, load, file, line)
    assert message in told
    assert told.endswith("start from an empty pool.")
    assert len(told) < len(str(file)) + 400


def test_caps_hold_before_anything_is_parsed(file, monkeypatch):
    size = file.stat().st_size
    assert len(load(file, max_bytes=size)) == 5
    with pytest.raises(PoolFormatError, match=f"at most {size - 1} bytes, found {size}. Pass max_bytes"):
        load(file, max_bytes=size - 1)
    monkeypatch.setattr(files, "MAX_ROW_BYTES", 60)
    with pytest.raises(PoolFormatError, match="line 1: a row must have at most 60 bytes"):
        load(file)


@pytest.mark.parametrize(
    "row", [b"[" * 30_000, b'{"a":' * 100 + b"1" + b"}" * 100, b"9" * 5000, b"\xff", b""]
)
def test_json_bombs_are_refused(tmp_path, row):
    (tmp_path / "p").write_bytes(row + b"\n")
    with pytest.raises(PoolFormatError, match="line 1: a row must"):
        load(tmp_path / "p")


def test_only_regular_files_are_read(tmp_path):
    with pytest.raises(PoolFormatError, match="a pool must be a regular file"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="none"):
        load(tmp_path / "none")


def test_without_a_vocabulary_ids_are_left_to_the_tree(file):
    rows = file.read_text().replace("90,7", "900,7")
    file.write_text(rows)
    assert load(file, vocabulary=None).lookup(900, 1)[0].tokens[0] == 900
    with pytest.raises(PoolFormatError, match="found 900"):
        load(file)


# --- what cannot be written ---------------------------------------------------------------------


def test_a_failed_save_leaves_the_old_file_and_nothing_else(file):
    before = file.read_bytes()
    pool = small_pool()
    pool.insert((1, 2), "hearsay")
    with pytest.raises(PoolFormatError, match=r"not written: source must be one of .*, found 'hearsay'"):
        save_pool(pool, file, fingerprint=OURS)
    with pytest.raises(PoolFormatError, match="fingerprint must be text"):
        save_pool(small_pool(), file, fingerprint=None)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_save_that_cannot_appear_leaves_nothing(tmp_path):
    damage.check_that_a_failed_save_leaves_nothing(
        lambda path: save_pool(small_pool(), path, fingerprint=OURS), tmp_path
    )


# --- fingerprints -------------------------------------------------------------------------------


class Words:
    """A tokenizer, as far as its vocabulary goes."""

    def __init__(self, **ids):
        self.ids = ids

    def get_vocab(self):
        return self.ids


def fingerprint(tokenizer) -> str:
    return Pair(target=models.target("llama"), tokenizer=tokenizer).fingerprint


def test_a_fingerprint_is_that_of_the_vocabulary():
    assert fingerprint(Words(a=0, b=1)) == fingerprint(Words(b=1, a=0)) == "532c111a129ee2b5"
    others = [Words(a=1, b=0), Words(a=0), Words(a=0, b=1, c=2), Words(a=0, B=1), Words(a=0, é=1), None]
    assert len({fingerprint(Words(a=0, b=1)), *map(fingerprint, others)}) == 7
    assert fingerprint(None) == f"ids-{models.VOCABULARY}"


# --- the worst a pool can do --------------------------------------------------------------------


@pytest.fixture(scope="module")
def poisoned(folder) -> Path:
    """A file full of phrases nobody would say, with the best of reputations."""
    rng = random.Random(0)
    pool = PhrasePool(policy="least_accepted", order="accepted")
    for key in range(models.VOCABULARY):
        for _ in range(8):
            pool.insert([key, *(rng.randrange(models.VOCABULARY) for _ in range(7))], rng.choice(SOURCES))
    for phrase in pool:
        phrase.uses = phrase.accepted = files.MAX_COUNT
    save_pool(pool, folder / "poison", fingerprint=OURS)
    return folder / "poison"


@pytest.mark.parametrize("method", ["ouroboros", "lookahead", "hybrid"])
def test_a_poisoned_pool_costs_speed_and_no_token(poisoned, family, method):
    pool = load(poisoned)
    knobs = Knobs(window=3, level=4, guesses=4, suffixes=4, lookup_ngram=2)
    run = generate(
        models.pair_of(family), models.PROMPT, method=method, knobs=knobs, pool=pool, max_new_tokens=24
    )
    assert run.tokens == models.generated(family, 24)
    assert sum(len(iteration.pool.retrieved) for iteration in run.trace.iterations) > 0
    assert pool.check_integrity() == ""


APART = """
import sys
from phrasekit.pool import load_pool, save_pool
pool = load_pool(sys.argv[1], fingerprint=sys.argv[2])
save_pool(pool, sys.argv[1], fingerprint=sys.argv[2])
print(len(pool), [name for name in ("torch", "transformers", "pickle") if name in sys.modules])
"""


def test_pool_files_need_no_torch(file):
    assert damage.run_apart(APART, file, OURS) == "5 []\n"
