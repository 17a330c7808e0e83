"""`phrasekit store`: build from runs and from text, look at what came of it."""

from __future__ import annotations

import json
import os
import signal

import pytest

import phrasekit as pk
from phrasekit.propose import Corpus, Datastore, load_store, prompt_mark, save_store
from tests.cli.conftest import PROMPT, error_of

PROMPTS = [PROMPT, "import os\n", {"prompt": "class Queue:\n"}]
FEW = ("--max-new-tokens", "6")


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in PROMPTS), encoding="utf-8")
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.py"
    path.write_text(
        "def read(path):\n    with open(path) as file:\n        return file.read()\n", encoding="utf-8"
    )
    return path


def test_build_from_a_run(call, pair, prompts, tmp_path):
    out = tmp_path / "s"
    shown = call("store", "build", "--out", str(out), "--prompts", str(prompts), "--rounds", "2", *FEW)
    assert shown.exit_code == 0
    store = load_store(out, fingerprint=pair.fingerprint, vocabulary=pair.target.vocabulary)
    assert isinstance(store, Datastore)
    assert f"datastore, {len(store)} tokens in 3 documents, {out.stat().st_size:,} bytes" in shown.stdout
    for prompt in (PROMPT, "import os\n", "class Queue:\n"):
        ids = pair.encode(prompt)
        assert store.saw(ids)
        due = pk.generate(pair, prompt, method="vanilla", max_new_tokens=6).tokens
        assert store.find([*ids[-3:]], 6).tokens == due
    assert not store.saw(pair.encode("another\n"))


def test_build_from_text_and_a_run(call, pair, prompts, text, tmp_path):
    out = tmp_path / "s"
    call("store", "build", "--out", str(out), "--prompts", str(prompts), "--text", str(text), *FEW)
    store = load_store(out, fingerprint=pair.fingerprint)
    assert store.documents == 4
    assert len(store.sources) == 3
    ids = pair.encode(text.read_text())
    assert store.find(ids[5:8], 5).tokens == tuple(ids[8:13])


def test_build_a_corpus_and_decode_by_it(call, pair, text, tmp_path):
    out = tmp_path / "c"
    shown = call(
        "store", "build", "--out", str(out), "--kind", "corpus", "--text", str(text), "--text", str(text)
    )
    assert "corpus, " in shown.stdout
    assert "in 2 documents" in shown.stdout
    corpus = load_store(out, fingerprint=pair.fingerprint)
    assert isinstance(corpus, Corpus)
    assert corpus.sources == frozenset()
    run = pk.generate(pair, PROMPT, method="rest", store=corpus, max_new_tokens=24)
    assert run.tokens == pk.generate(pair, PROMPT, method="vanilla", max_new_tokens=24).tokens


def test_no_rounds_leave_the_prompts_out(call, pair, prompts, tmp_path):
    out = tmp_path / "s"
    call("store", "build", "--out", str(out), "--prompts", str(prompts), "--rounds", "0", *FEW)
    store = load_store(out, fingerprint=pair.fingerprint)
    assert (len(store), store.sources) == (0, frozenset())


def test_building_goes_on_from_a_datastore(call, pair, prompts, text, tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    call("store", "build", "--out", str(first), "--text", str(text), "--capacity", "5000", "--ngram", "4")
    call("store", "build", "--out", str(second), "--store", str(first), "--prompts", str(prompts), *FEW)
    store = load_store(second, fingerprint=pair.fingerprint)
    assert (store.documents, store.capacity, store.ngram) == (4, 5000, 4)
    assert load_store(first, fingerprint=None).documents == 1


def test_show(call_without_models, tmp_path):
    store = Datastore(capacity=5_000, fingerprint="0123456789abcdef")
    marks = [prompt_mark([number]) for number in range(11)]
    for mark in marks:
        store.add([1, 2, 3], source=mark)
    save_store(store, tmp_path / "s")
    shown = call_without_models("store", "show", str(tmp_path / "s")).stdout
    for said in ("datastore", "33", "5,000", "0123456789abcdef", "and 3 more", f"{store.nbytes:,}"):
        assert said in shown
    assert sum(mark in shown for mark in marks) == 8
    told = json.loads(call_without_models("store", "show", "--json", str(tmp_path / "s")).stdout)
    assert told == {
        "kind": "datastore", "tokens": 33, "documents": 11, "capacity": 5000, "ngram": 3,
        "file_bytes": (tmp_path / "s").stat().st_size, "memory_bytes": store.nbytes,
        "tokenizer": "0123456789abcdef", "sources": sorted(marks),
    }  # fmt: skip


def test_show_escapes_what_a_stranger_wrote(call_without_models, tmp_path):
    hostile = Corpus.build([[1, 2]], fingerprint="\x1b]0;owned\x07[bold]x[/]\u202e")
    save_store(hostile, tmp_path / "s")
    shown = call_without_models("store", "show", str(tmp_path / "s")).stdout
    assert "[bold]x[/]" in shown
    assert not set(shown) & {"\x1b", "\x07", "\u202e"}


def test_ctrl_c_keeps_what_was_made(call, pair, prompts, tmp_path, at_step):
    at_step(9, lambda: os.kill(os.getpid(), signal.SIGINT))
    out = tmp_path / "s"
    build = ("store", "build", "--out", str(out), "--prompts", str(prompts), "--rounds", "1")
    shown = call(*build, "--method", "vanilla", *FEW)
    assert shown.exit_code == 130
    store = load_store(out, fingerprint=pair.fingerprint)
    lengths = [len(pair.encode(one)) for one in (PROMPT, "import os\n")]
    assert (store.documents, len(store)) == (2, sum(lengths) + 9)


BAD = {
    "nothing to build from": ((), "got nothing; give --text or --prompts"),
    "rounds of nothing": (("--text", "{text}", "--rounds", "3"), "rounds need prompts"),
    "no such text": (("--text", "{folder}/none"), "does not exist"),
    "no such folder": (("--text", "{text}", "--out", "{folder}/no/s"), "existing folder"),
    "too many rounds": (("--prompts", "{prompts}", "--rounds", "16"), "16"),
    "too small": (("--text", "{text}", "--capacity", "9"), "capacity must be a whole number from 64"),
    "too long": (("--text", "{text}", "--ngram", "9"), "ngram must be a whole number from 1 to 8"),
    "no such method": (("--prompts", "{prompts}", "--method", "x"), "method must be one of"),
    "no text": (("--text", "{binary}",), "a text must be UTF-8"),
    "a foreign store": (("--text", "{text}", "--store", "{text}"), "a store must"),
    "a store that cannot grow": (("--text", "{text}", "--store", "{corpus}"), "it cannot grow"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_before_a_model_loads(call_without_models, prompts, text, tmp_path, name):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    save_store(Corpus.build([[1, 2]], fingerprint="any"), tmp_path / "corpus")
    places = {name: tmp_path / name for name in ("binary", "corpus")}
    places |= {"text": text, "prompts": prompts, "folder": tmp_path}
    given, says = BAD[name]
    given = tuple(part.format(**places) for part in given)
    out = () if "--out" in given else ("--out", str(tmp_path / "s"))
    assert says in error_of(call_without_models("store", "build", *out, *given))
    assert not (tmp_path / "s").exists()


def test_more_rounds_than_prompts_build_nothing(call, prompts, tmp_path):
    build = ("store", "build", "--out", str(tmp_path / "s"), "--prompts", str(prompts), "--rounds", "4")
    assert "got 3 for 4 rounds" in error_of(call(*build))
    assert not (tmp_path / "s").exists()


def test_only_a_datastore_of_this_tokenizer_can_grow(call, pair, text, tmp_path):
    save_store(Corpus.build([[1, 2]], fingerprint=pair.fingerprint), tmp_path / "corpus")
    save_store(Datastore(fingerprint="another"), tmp_path / "foreign")
    build = ("store", "build", "--out", str(tmp_path / "s"), "--text", str(text), "--store")
    assert "it cannot grow" in error_of(call(*build, str(tmp_path / "corpus")))
    assert "another one" in error_of(call(*build, str(tmp_path / "foreign")))
    assert not (tmp_path / "s").exists()


def test_a_damaged_file_is_one_line(call_without_models, tmp_path):
    (tmp_path / "s").write_bytes(b"\x1b[31m" * 9)
    assert "store" in error_of(call_without_models("store", "show", str(tmp_path / "s")))
    error_of(call_without_models("store", "show", str(tmp_path / "none")))
