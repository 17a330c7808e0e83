"""Every method says which knobs change what it does: those its proposers look at while it runs."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import pytest

from phrasekit.api import generate
from phrasekit.decode import Knobs
from phrasekit.methods import METHODS, check_methods, runnable, usual
from phrasekit.propose import Corpus, Datastore
from tests.models import PROMPT, generated, pair_of

NAMES = frozenset(Knobs().as_dict())
PROPOSING = ("phrasekit.propose", "phrasekit.parallel.drafter")


class Watched(Knobs):
    """Knobs that remember which of them proposers and drafters looked at."""

    __slots__ = ()
    looked: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        asking = sys._getframe(1).f_globals["__name__"]
        if name in NAMES and asking.startswith(PROPOSING):
            Watched.looked.add(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_reads_what_it_says(name):
    method = METHODS[name]
    store = Corpus.build([[*PROMPT, *generated("llama", 24)]]) if method.corpus else None
    Watched.looked.clear()
    knobs = Watched(window=2, guesses=2)
    generate(pair_of("llama"), PROMPT, method=name, knobs=knobs, store=store, max_new_tokens=24)
    looked = Watched.looked - method.forced.keys()
    assert len(set(method.reads)) == len(method.reads)
    assert not set(method.reads) & method.forced.keys()
    if method.forced:  # what a part that is off would look at, it may not
        assert set(method.reads) >= looked
    else:
        assert set(method.reads) == looked


def test_methods_are_refused_without_what_they_need():
    check_methods(METHODS.keys() - {"rest"}, drafting=True)
    check_methods(["rest"], drafting=False, store=Corpus.build([[1, 2]]))
    with pytest.raises(ValueError, match="method must be one of"):
        check_methods(["vanilla", "magic"], drafting=True)
    for name, method in METHODS.items():
        if method.drafts:
            with pytest.raises(ValueError, match=f"method '{name}' needs a draft model"):
                check_methods([name], drafting=False)
    with pytest.raises(ValueError, match="needs a corpus"):
        check_methods(["rest"], drafting=True)


def test_the_usual_methods_are_those_that_can_run_without_the_ablations():
    whole = {name for name in METHODS if "-no-" not in name}
    corpus = Corpus.build([[1, 2]])
    assert set(usual(drafting=True, store=corpus)) == whole
    assert set(usual(drafting=True)) == set(usual(drafting=True, store=Datastore())) == whole - {"rest"}
    alone = {name for name in whole if not METHODS[name].drafts}
    assert set(usual(drafting=False, store=corpus)) == alone
    assert set(runnable(None, corpus)) == set(METHODS)
    assert set(runnable(None)) == set(METHODS) - {"rest"}
