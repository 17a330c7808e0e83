"""What becomes a phrase: rules checked on paper, and in the loop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasekit.decode import ROOT, Decoder, Knobs, Limits, Proposer, TokenTree, Verdict
from phrasekit.pool import PhrasePool, PoolJournal
from phrasekit.pool.harvest import discarded_runs, new_ngrams, repaired
from phrasekit.propose import Harvest
from tests.models import ScriptedModel


@pytest.mark.parametrize(
    ("draft", "verdicts", "accepted", "due"),
    [
        # wrong, right, right: the run behind the correction that stands before it
        ([1, 2, 3], [9, 2, 3], 0, [(9, 2, 3)]),
        # a run of one token is no phrase
        ([1, 2, 3], [9, 2, 8], 0, []),
        # accepted tokens are not part of the discarded tail
        ([1, 2, 3, 4, 5], [1, 2, 9, 4, 5], 2, [(9, 4, 5)]),
        # two runs, each with its own key
        ([1, 2, 3, 4, 5, 6, 7], [9, 2, 3, 8, 5, 6, 7], 0, [(9, 2, 3), (8, 5, 6, 7)]),
        # two wrong tokens in a row: the second correction is the key
        ([1, 2, 3, 4], [9, 8, 3, 4], 0, [(8, 3, 4)]),
        # a run that ends before the draft does
        ([1, 2, 3, 4], [9, 2, 3, 7], 0, [(9, 2, 3)]),
        # single right tokens between wrong ones
        ([1, 2, 3, 4, 5], [9, 2, 8, 4, 7], 0, []),
        ([1], [9], 0, []),
        ([1, 2], [1, 9], 1, []),
    ],
)
def test_runs_of_right_tokens_in_the_discarded_tail(draft, verdicts, accepted, due):
    """Decision P6. Ouroboros D2: its code keeps full-length completions only, under draft tokens as keys."""
    assert discarded_runs(draft, verdicts, accepted) == due


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_every_run_is_maximal_and_none_is_missed(pairs):
    draft, verdicts = map(list, zip(*pairs, strict=True))
    accepted = next((i for i, (d, v) in enumerate(pairs) if d != v), None)
    if accepted is None:
        return
    hits = "".join("x" if d == v else "." for d, v in pairs)[accepted:]
    runs = [run for run in hits.split(".") if len(run) >= 2]
    found = discarded_runs(draft, verdicts, accepted)
    assert [len(phrase) - 1 for phrase in found] == [len(run) for run in runs]
    at = accepted
    for phrase in found:
        at = hits.index("x" * (len(phrase) - 1), at - accepted) + accepted
        assert phrase == (verdicts[at - 1], *draft[at : at + len(phrase) - 1])
        at += len(phrase) - 1


@pytest.mark.parametrize(
    ("suffix", "verdicts", "paper", "prefix"),
    [
        ([2, 3, 4], [2, 9, 8], (1, 2, 9, 8), (1, 2, 9)),
        ([2, 3, 4], [7, 9, 8], (1, 7, 9, 8), (1, 7)),
        ([2, 3, 4], [2, 3, 8], (1, 2, 3, 8), (1, 2, 3, 8)),
        ([2, 3, 4], [2, 3, 4], None, None),
        ([2], [3], (1, 3), (1, 3)),
    ],
)
def test_unused_suffixes_with_their_corrections(suffix, verdicts, paper, prefix):
    """Decision P7."""
    assert repaired(1, suffix, verdicts, rule="paper") == paper
    assert repaired(1, suffix, verdicts, rule="prefix") == prefix
    assert repaired(1, suffix, verdicts, rule="off") is None


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(0, 12), st.integers(2, 5))
def test_ngrams_are_those_that_end_in_the_new_part(context, before, size):
    before = min(before, len(context))
    due = [tuple(context[i : i + size]) for i in range(len(context) - size + 1) if i + size > before]
    assert list(new_ngrams(context, before, size)) == due


# --- in the loop ------------------------------------------------------------------------------------


def judged(trunk, suffixes, picks, emitted, *, context=(5, 6), **knobs) -> PhrasePool:
    """The pool after one verdict; picks by prefix, 0 where none is given."""
    tree = TokenTree(vocabulary=99, limit=50)
    tree.extend_trunk(trunk, ["draft"] * len(trunk), [-1] * len(trunk))
    for number, suffix in enumerate(suffixes):
        tree.add_branch(tree.trunk[-1] if trunk else ROOT, suffix, "suffix", number)
    said = [picks.get(tuple(tree.path_tokens(node)), 0) for node in range(-1, len(tree))]
    path, node = [], tree.child(ROOT, said[0])
    while node is not None:
        path.append(node)
        node = tree.child(node, said[node + 1])
    pool = PhrasePool()
    off = {"harvest_committed": False, "harvest_discarded": False, "repair": "off"}
    verdict = Verdict(tree, said, path, emitted, [*context, *emitted], Knobs(**{**off, **knobs}))
    Harvest(PoolJournal(pool)).learn(verdict)
    return pool


def texts(pool: PhrasePool) -> list[tuple[int, ...]]:
    return [phrase.tokens for phrase in pool]


def test_a_refused_draft_gives_its_right_runs():
    picks = {(): 1, (1,): 9, (1, 2): 3, (1, 2, 3): 4, (1, 2, 3, 4): 7}
    pool = judged([1, 2, 3, 4], [], picks, [1, 9], harvest_discarded=True)
    assert texts(pool) == [(9, 3, 4)]
    assert {phrase.source for phrase in pool} == {"discarded"}
    assert texts(judged([1, 2, 3, 4], [], picks, [1, 9])) == []


@pytest.mark.parametrize(
    ("repair", "due"),
    [("paper", [(2, 3, 8, 6), (2, 3, 4, 7)]), ("prefix", [(2, 3, 8), (2, 3, 4, 7)]), ("off", [])],
)
def test_suffixes_are_repaired_when_their_draft_was_accepted(repair, due):
    """Ouroboros D3: its code repairs in the accepting branch only, the other being dead code."""
    picks = {(): 1, (1,): 2, (1, 2): 3, (1, 2, 3): 8, (1, 2, 3, 4): 6, (1, 2, 3, 4, 5): 6}
    picks |= {(1, 2, 3): 8, (1, 2, 3, 8): 0}
    tree_suffixes = [[3, 4, 5]]
    pool = judged([1, 2], tree_suffixes, picks, [1, 2, 3, 8], repair=repair)
    assert texts(pool) == due[:1]
    assert all(phrase.source == "suffix" for phrase in pool)
    picks = {(): 1, (1,): 2, (1, 2): 3, (1, 2, 3): 4, (1, 2, 3, 4): 7}
    assert texts(judged([1, 2], [[3, 4, 5]], picks, [1, 2, 3, 4, 7], repair=repair)) == due[1:]


def test_suffixes_behind_a_refused_draft_teach_nothing():
    picks = {(): 1, (1,): 9, (1, 2): 3, (1, 2, 3): 8}
    assert texts(judged([1, 2], [[3, 4, 5]], picks, [1, 9], repair="paper")) == []


def test_without_a_draft_the_key_is_the_last_committed_token():
    picks = {(): 3, (3,): 8}
    assert texts(judged([], [[3, 4]], picks, [3, 8], repair="prefix")) == [(6, 3, 8)]


def test_verdicts_that_never_were_are_no_tokens():
    """A row of NaN has the pick −1; it must not become part of a phrase."""
    picks = {(): 1, (1,): 2, (1, 2): 3, (1, 2, 3): -1, (1, 2, 3, 4): -1}
    for repair in ("paper", "prefix"):
        pool = judged([1, 2], [[3, 4, 5]], picks, [1, 2, 3], repair=repair, harvest_discarded=True)
        assert all(token >= 0 for tokens in texts(pool) for token in tokens)


def test_accepted_tokens_are_credited_to_their_phrase():
    pool = PhrasePool()
    phrase, _ = pool.insert((7, 1, 2, 3), "window")
    tree = TokenTree(vocabulary=99, limit=9)
    tree.add_branch(ROOT, [1, 2, 3], "phrase", phrase.id)
    verdict = Verdict(tree, [1, 2, 9, 9], [0, 1], [1, 2, 9], [7, 1, 2, 9], Knobs(harvest_committed=False))
    Harvest(PoolJournal(pool)).learn(verdict)
    assert phrase.accepted == 2


class Two(Proposer):
    def propose(self, draft):
        draft.tree.add_branch(ROOT, [len(draft.context) % 9, (len(draft.context) + 1) % 9], "lookup")


@pytest.mark.parametrize("level", [2, 3, 5])
def test_committed_text_becomes_ngrams_each_once(level):
    """Whatever number of tokens a step commits; the prompt's own come first."""
    pool = PhrasePool(per_key=200)
    inserted = []
    insert = pool.insert
    pool.insert = lambda tokens, source: inserted.append((tuple(tokens), source)) or insert(tokens, source)
    model = ScriptedModel(lambda prefix: len(prefix) % 9, vocabulary=9)
    made = Decoder(
        model,
        (4, 4, 4, 8),
        proposers=[Two(), Harvest(PoolJournal(pool))],
        knobs=Knobs(level=level),
        limits=Limits(max_new_tokens=20),
    )
    for _ in made:
        pass
    text = made.context
    assert inserted == [(tuple(text[i : i + level]), "committed") for i in range(len(text) - level + 1)]


def test_nothing_is_harvested_from_text_that_was_cut_off():
    pool = PhrasePool()
    model = ScriptedModel(lambda prefix: len(prefix) % 9, vocabulary=9)
    made = Decoder(
        model,
        (4, 4, 4, 8),
        proposers=[Two(), Harvest(PoolJournal(pool))],
        knobs=Knobs(level=2),
        limits=Limits(max_new_tokens=50, eos=frozenset({5})),
    )
    for _ in made:
        pass
    assert made.emitted == (4, 5)
    assert (5, 6) not in texts(pool)
