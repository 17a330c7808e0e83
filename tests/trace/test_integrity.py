"""Every rule of integrity is found when it is broken, and only then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit.trace import Branch, PhraseRecord, PoolRecord, Trace, faults


def test_a_sound_trace_has_no_faults(story):
    assert list(faults(story)) == []


BROKEN = {
    "index must be 0 ": lambda it: replace(it, index=1),
    "position must be 2 ": lambda it: replace(it, position=3),
    "root must be 8 ": lambda it: replace(it, root=9),
    "index, position, root must be 0 or more, found -1": lambda it: replace(
        it, draft=(replace(it, index=-1),)
    ),
    "picks must have 4 entries, found 3": lambda it: replace(it, picks=it.picks[:-1]),
    "picks must have 4 entries, found 0": lambda it: replace(it, picks=()),
    "kinds must have 3 entries, found 2": lambda it: replace(it, kinds=it.kinds[:-1]),
    "kinds must be among": lambda it: replace(it, kinds=("draft", "phrase", "magic")),
    "path: node must be from 0 to 2, found 3": lambda it: replace(it, path=(0, 1, 3)),
    "path: node must be from 0 to 2, found -1": lambda it: replace(it, path=(-1,)),
    "path: node must be from 0 to 2, found 7": lambda it: replace(it, path=(7, 0)),
    "path: node 1 must be a child of -1": lambda it: replace(it, path=(1,)),
    "emitted must begin (10, 11, 50), found (10, 12)": lambda it: replace(
        it, emitted=(10, 12), kinds=it.kinds[:2]
    ),
    "emitted must be 0 or more, found -5": lambda it: replace(it, emitted=(-5,), kinds=("draft",)),
    "tree.parents must have 3 entries": lambda it: tree(it, parents=(-1, 0)),
    "tree.kinds must have 3 entries": lambda it: tree(it, kinds=()),
    "tree.phrases must have 3 entries": lambda it: tree(it, phrases=()),
    "tree.phrases must be -1 or more": lambda it: tree(it, phrases=(-1, -2, -1)),
    "tree.tokens must be 0 or more": lambda it: tree(it, tokens=(10, 11, -1)),
    "tree.dropped must be 0 or more": lambda it: tree(it, dropped=-1),
    "tree.kinds must be among": lambda it: tree(it, kinds=("draft", "phrase", "")),
    "tree.parents[2] must be from -1 to 1, found 2": lambda it: tree(it, parents=(-1, 0, 2)),
    "tree.parents[0] must be from -1 to -1, found -2": lambda it: tree(it, parents=(-2, 0, 1)),
    "tree.trunk: node 2 must be a child of 0, found a child of 1": lambda it: tree(it, trunk=(0, 2)),
    "tree.branches[0]: node 0 must be a child of 2": lambda it: tree(
        it, branches=(Branch("suffix", 1, (2, 0)),)
    ),
    "tree.branches[0]: node must be from 0 to 2, found 9": lambda it: tree(
        it, branches=(Branch("suffix", 1, (9,)),)
    ),
    "tree.branches[0].kind must be among": lambda it: tree(it, branches=(Branch("x", 1, (2,)),)),
    "forward must be 0 or more, found -1": lambda it: replace(it, forward=replace(it.forward, ms=-1.0)),
    "forward.picked must not exceed its 5 rows, found 6": lambda it: replace(
        it, forward=replace(it.forward, picked=6)
    ),
    "pool.lookups, hits, size must be 0 or more": lambda it: replace(it, pool=PoolRecord(size=-1)),
    "pool.hits must not exceed the 1 lookups, found 2": lambda it: replace(
        it, pool=PoolRecord(lookups=1, hits=2)
    ),
    "pool.inserted: phrase 3 must have a key token": lambda it: replace(it, pool=phrase(())),
    "pool.inserted: tokens of phrase 3 must be 0 or more": lambda it: replace(it, pool=phrase((-4,))),
    "draft[1].picks must have 1 entries": lambda it: replace(
        it, draft=(it.draft[0], replace(it.draft[1], picks=()))
    ),
}


def tree(iteration, **changes):
    return replace(iteration, tree=replace(iteration.tree, **changes))


def phrase(tokens):
    return PoolRecord(inserted=(PhraseRecord(3, tokens, "tail"),))


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_rule_is_named(fault, partial):
    trace = Trace("m", (7, 8), (BROKEN[fault](partial),))
    found = list(faults(trace))
    assert any(fault in one for one in found), found


def test_an_unknown_finish_reason_is_named(story):
    (fault,) = faults(replace(story, finish_reason="bored"))
    assert fault.startswith("finish_reason must be one of")


def test_iterations_must_follow_each_other(story):
    found = list(faults(replace(story, iterations=story.iterations[1:])))
    assert "iterations[0].index must be 0 by what was committed before, found 1" in found
    assert "iterations[0].root must be 8 by what was committed before, found 50" in found
    assert "iterations[2].position must be 8 by what was committed before, found 11" in found


def test_a_run_needs_a_prompt(partial):
    assert any("root must be None" in fault for fault in faults(Trace("m", (), (partial,))))
