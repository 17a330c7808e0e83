"""Store files: they come back equal, appear whole or not at all, and no damaged byte gets past them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from phrasekit.errors import PhrasekitError, StoreFormatError
from phrasekit.pool import PhrasePool, save_pool
from phrasekit.propose import arrays, stores
from phrasekit.propose.corpus import Corpus
from phrasekit.propose.datastore import Datastore
from phrasekit.propose.documents import prompt_mark
from phrasekit.propose.stores import Store, load_store, save_store
from tests import damage

OURS = "0123456789abcdef"
PARTS = ([1, 2, 3, 4], [9, 2, 3, 5, 95], [2, 3, 4, 4, 4], [7])


def outcome(file: Path, intact: Store) -> str:
    """Nothing between the two is allowed."""
    try:
        back = load(file, vocabulary=None)
    except StoreFormatError:
        return "refused"
    assert same(back, intact)
    return "the same"


def small_datastore() -> Datastore:
    store = Datastore(capacity=256, ngram=2, fingerprint=OURS)
    for part in PARTS:
        store.add(part, source=prompt_mark(part[:1]) if part[0] != 9 else "")
    return store


def small_corpus() -> Corpus:
    return Corpus.build(PARTS, sources=[prompt_mark([1])], fingerprint=OURS)


FORMS = {"datastore": small_datastore, "corpus": small_corpus}


@pytest.fixture(params=list(FORMS))
def store(request) -> Store:
    return FORMS[request.param]()


@pytest.fixture
def file(store, tmp_path) -> Path:
    save_store(store, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("stores")


def load(path, **options) -> Store:
    return load_store(path, **{"fingerprint": OURS, "vocabulary": 96, **options})


def same(one: Store, other: Store) -> bool:
    first, second = one.contents(), other.contents()
    settings_ = [
        (type(s), s.fingerprint, s.sources, getattr(s, "capacity", 0), getattr(s, "ngram", 0))
        for s in (one, other)
    ]
    return (
        settings_[0] == settings_[1]
        and np.array_equal(first[0], second[0])
        and (first[1] == second[1] if isinstance(one, Datastore) else np.array_equal(first[1], second[1]))
    )


# --- round trip ---------------------------------------------------------------------------------


def test_a_store_comes_back_and_finds_the_same(store, file):
    back = load(file)
    assert same(back, store)
    assert (len(back), back.documents) == (len(store), store.documents) == (15, 4)
    for context in ([2, 3], [9, 2, 3], [4, 4], [95], []):
        assert back.find(context, 4) == store.find(context, 4)
    assert back.saw([1])
    assert not back.saw([1, 2])


@pytest.mark.parametrize("empty", [Datastore(fingerprint=OURS), Corpus.build([], fingerprint=OURS)], ids=type)
def test_an_empty_store_comes_back(empty, tmp_path):
    save_store(empty, tmp_path / "s")
    assert same(load(tmp_path / "s"), empty)


def test_a_datastore_goes_on_after_reading_as_the_one_that_was_written(tmp_path):
    store = Datastore(capacity=64, fingerprint=OURS)
    for number in range(5):
        store.add([number] * 9, source=prompt_mark([number]))
    save_store(store, tmp_path / "s")
    back = load(tmp_path / "s")
    for number in range(5, 20):
        for one in (store, back):
            one.add([number] * 9)
        assert same(back, store)


def test_any_tokenizer_will_do_to_look(file):
    assert load(file, fingerprint=None).fingerprint == OURS


def test_a_store_is_a_safetensors_file_and_nothing_else(file, store):
    with safe_open(file, framework="numpy") as opened:
        header = json.loads(opened.metadata()["phrasekit-store"])
    assert header["form"] == type(store).__name__.lower()
    assert header["schema_version"] == 1
    assert load_file(file)["text"].dtype == np.int32


# --- what cannot be read ------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(file):
    for _ in damage.cuts(file):
        with pytest.raises(StoreFormatError):
            load(file)


@pytest.mark.parametrize("wrong", [b"\x00", b"\xff", b" ", b"9", b"}"])
def test_one_wrong_byte_anywhere_is_refused_or_changes_nothing(file, store, wrong):
    """Blanks around the header may differ and mean the same; whatever has a meaning is checked."""
    outcomes = [outcome(file, store) for _ in damage.wrong_bytes(file, wrong, stride=5)]
    assert outcomes.count("refused") > 0.6 * len(outcomes)


def test_the_checksum_covers_the_header_too(tmp_path):
    save_store(small_datastore(), tmp_path / "s")
    content = (tmp_path / "s").read_bytes()
    assert content.count(b"256,") == 1  # the capacity
    (tmp_path / "s").write_bytes(content.replace(b"256,", b"257,"))
    with pytest.raises(StoreFormatError, match="the checksum must be that of the content"):
        load(tmp_path / "s")


@settings(max_examples=150)
@given(data=st.data(), form=st.sampled_from(list(FORMS)))
def test_a_corrupted_file_is_refused_or_changes_nothing(folder, data, form):
    intact = folder / form
    if not intact.exists():
        save_store(FORMS[form](), intact)
    content = data.draw(damage.corrupted(intact.read_bytes(), places=3, longest=40))
    (folder / "corrupted").write_bytes(content)
    outcome(folder / "corrupted", FORMS[form]())


@given(content=st.binary(max_size=60))
def test_a_foreign_file_is_refused(folder, content):
    (folder / "foreign").write_bytes(content)
    with pytest.raises(StoreFormatError):
        load(folder / "foreign")


def test_a_pool_and_a_model_are_no_stores(tmp_path):
    save_pool(PhrasePool(), tmp_path / "pool", fingerprint=OURS)
    with pytest.raises(StoreFormatError):
        load(tmp_path / "pool")
    save_file({"weight": np.zeros(4, np.float32)}, tmp_path / "model")
    with pytest.raises(StoreFormatError, match=r"header of schema 'phrasekit-store'.*written by save_store"):
        load(tmp_path / "model")


def test_another_tokenizer_is_refused_and_both_are_named(file):
    with pytest.raises(StoreFormatError) as caught:
        load(file, fingerprint="feedfeedfeedfeed")
    assert str(caught.value) == (
        f"{str(file)!r}: fingerprint must be that of the tokenizer in use, 'feedfeedfeedfeed', found '{OURS}'. "
        "Use it with the models it was built for, or build one with `phrasekit store build`."
    )
    assert issubclass(StoreFormatError, PhrasekitError)


def forge(path: Path, *, header: dict[str, object] | None = None, **changed: object) -> None:
    """Write a file with other content and the right checksum, as a stranger may."""
    with safe_open(path, framework="numpy") as opened:
        told = {**json.loads(opened.metadata()["phrasekit-store"]), **(header or {})}
    content = {**load_file(path), **{name: np.asarray(array) for name, array in changed.items()}}
    told = json.dumps({name: value for name, value in told.items() if value is not None})
    checksum = arrays._checksum(told, content)
    save_file(content, path, {"phrasekit-store": told, "checksum": checksum})


FORGERIES = {
    "later version": ({"header": {"schema_version": 2}}, "schema_version must be 1, found 2"),
    "unknown form": ({"header": {"form": "x" * 99}}, "form must be one of datastore, corpus"),
    "no fingerprint": ({"header": {"fingerprint": None}}, "found no 'fingerprint'"),
    "unknown field": ({"header": {"note": 1}}, "found an unknown field 'note'"),
    "capacity is text": ({"header": {"capacity": "9"}}, "capacity must be an integer"),
    "id beyond the vocabulary": ({"text": np.array([96, -1], np.int32)}, "from 0 to 95, found 96"),
    "other dtype": ({"text": np.array([1, -1])}, "there must be flat arrays"),
    "not flat": ({"text": np.array([[1, -1]], np.int32)}, "there must be flat arrays"),
    "another array": ({"more": np.zeros(3)}, "there must be flat arrays"),
    "no end": ({"text": np.array([1, 2], np.int32)}, "must be"),
    "negative ids": ({"text": np.array([-5, -1], np.int32)}, "must be"),
}
OF_DATASTORES = {
    "capacity too high": ({"header": {"capacity": 1 << 50}}, "capacity must be a whole number from 64"),
    "ngram too high": ({"header": {"ngram": 99}}, "ngram must be a whole number from 1 to 8"),
    "more than the capacity": (
        {"text": np.append(np.zeros(256, np.int32), np.int32(-1))},
        "contents must be documents of 256 tokens at most",
    ),
    "marks without ends": ({"ends": np.zeros(0, np.int64)}, "shorter"),
    "ends beyond the text": ({"ends": np.full(3, 99)}, "the end of a source must be a whole number"),
}
OF_CORPORA = {
    "fewer suffixes": ({"suffixes": np.zeros(3, np.int32)}, "suffixes of a corpus must be"),
    "suffix beyond the text": ({"suffixes": np.full(19, 19, np.int32)}, "suffixes of a corpus must be"),
    "negative suffix": ({"suffixes": np.full(19, -1, np.int32)}, "suffixes of a corpus must be"),
}


@pytest.mark.parametrize("name", [*FORGERIES, *OF_DATASTORES, *OF_CORPORA])
def test_forgeries_are_told_with_rule_and_remedy(name, tmp_path):
    for form, build in FORMS.items():
        forgeries = FORGERIES | (OF_DATASTORES if form == "datastore" else OF_CORPORA)
        if name not in forgeries:
            continue
        changes, message = forgeries[name]
        save_store(build(), tmp_path / "s")
        forge(tmp_path / "s", **changes)
        with pytest.raises(StoreFormatError) as caught:
            load(tmp_path / "s")
        told = str(caught.value)
        assert told.startswith(f"{str(tmp_path / 's')!r}: ")
        assert message in told
        assert told.endswith((".", "`."))
        assert len(told) < len(str(tmp_path)) + 600


def test_a_corpus_in_a_wrong_order_costs_speed_and_nothing_else(tmp_path):
    save_store(small_corpus(), tmp_path / "s")
    forge(tmp_path / "s", suffixes=np.zeros(19, np.int32))
    back = load(tmp_path / "s")
    for context in ([1, 2], [2, 3], [4, 4], [50, 50]):
        found = back.continuations(context, depth=5, nodes=9)
        assert all(0 <= token < 96 for path in found.paths for token in path)


def test_caps_hold_before_anything_is_parsed(file):
    size = file.stat().st_size
    assert load(file, max_bytes=size).documents == 4
    with pytest.raises(StoreFormatError, match=f"at most {size - 1} bytes, found {size}. Pass max_bytes"):
        load(file, max_bytes=size - 1)
    file.write_bytes((1 << 40).to_bytes(8, "little") + file.read_bytes()[8:])
    with pytest.raises(StoreFormatError, match=f"header of at most {arrays.MAX_HEADER_BYTES} bytes, found"):
        load(file)


def test_only_regular_files_are_read(tmp_path):
    with pytest.raises(StoreFormatError, match="a store must be a regular file"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="none"):
        load(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreFormatError, match="a store must be a regular file"):
        load(tmp_path / "pipe")


# --- what cannot be written ---------------------------------------------------------------------


def test_a_store_without_a_tokenizer_is_not_written(tmp_path):
    for nameless in (Datastore(), Corpus.build(PARTS)):
        with pytest.raises(ValueError, match="a store must name its tokenizer to be written"):
            save_store(nameless, tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_nothing(store, tmp_path):
    damage.check_that_a_failed_save_leaves_nothing(lambda path: save_store(store, path), tmp_path)


def test_forms_and_classes_agree():
    assert set(FORMS) == set(stores.FORMS)
