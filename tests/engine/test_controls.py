"""Negative controls: with a bug injected, the comparisons of this suite must go red.

A decoy proposer offers wrong branches before the right one, so that in every iteration siblings are
there to be seen, positions differ from rows, and accepted rows have to move.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from phrasekit.decode import ROOT, Decoder, KeyedPicker, Limits, Proposer, Sampling
from phrasekit.decode.picker import Rows
from phrasekit.lm import LanguageModel
from phrasekit.trace.records import LOOKUP
from tests import models
from tests.engine import bugs
from tests.models import PROMPT, VOCABULARY, generated

TOKENS = 40


class Decoys(Proposer):
    """The true continuation of a known text, behind and between wrong ones."""

    def __init__(self, truth: tuple[int, ...], count: int = 4) -> None:
        self.truth = truth
        self.count = count

    def propose(self, draft):
        at = len(draft.context) - len(PROMPT)
        right = self.truth[at : at + self.count]
        for cut in (0, 1, 2):
            draft.tree.add_branch(ROOT, [*right[:cut], *((t + 7) % VOCABULARY for t in right[cut:])], LOOKUP)
        draft.tree.add_branch(ROOT, right, LOOKUP)


@lru_cache
def unprobed(family: str) -> LanguageModel:
    """The start-up probe would refuse what is about to be done to it."""
    return LanguageModel(models.target(family).model, probe=False)


def decode(family: str, *proposers: Proposer, steps: list | None = None) -> tuple[int, ...]:
    decoder = Decoder(unprobed(family), PROMPT, proposers=proposers, limits=Limits(max_new_tokens=TOKENS))
    for iteration in decoder:
        if steps is not None:
            steps.append(iteration)
    return decoder.emitted


def test_without_a_bug_everything_agrees(family):
    truth, steps = generated(family, TOKENS), []
    assert decode(family, Decoys(truth), steps=steps) == truth
    assert len(steps) == TOKENS / 5
    for iteration in steps[:-1]:
        assert iteration.path[0] != 0
        assert iteration.path[-1] == len(iteration.tree.tokens) - 1


@pytest.mark.parametrize("bug", bugs.ALL.values(), ids=bugs.ALL)
def test_every_bug_is_seen(family, bug, monkeypatch):
    truth = generated(family, TOKENS)
    bug(monkeypatch)
    try:
        found = decode(family, Decoys(truth))
    except (IndexError, RuntimeError, ValueError):
        return  # red as well
    assert found != truth


@pytest.mark.parametrize("bug", [bugs.compaction_skipped, bugs.positions_by_row, bugs.positions_off_by_one])
def test_chains_alone_would_miss_some(family, bug, monkeypatch):
    """Why the decoys: plain decoding moves no row and has no siblings, so it cannot tell."""
    bug(monkeypatch)
    assert (decode(family) != generated(family, TOKENS)) == (bug is bugs.positions_off_by_one)


def test_a_walk_that_ends_a_token_early_is_seen_by_its_steps(monkeypatch):
    """Ouroboros D7: the bonus after a phrase that matched whole was thrown away; the text is the same."""
    truth, right, fewer = generated("llama", TOKENS), [], []
    decode("llama", Decoys(truth), steps=right)
    monkeypatch.setattr("phrasekit.decode.decoder.walk", lambda tree, picks: _short(tree, picks))
    assert decode("llama", Decoys(truth), steps=fewer) == truth
    assert len(right) == TOKENS / 5
    assert len(fewer) > TOKENS / 4


def _short(tree, picks):
    path, node = [], tree.child(ROOT, picks[0])
    while node is not None:
        path.append(node)
        node = tree.child(node, picks[node + 1])
    return path[:-1]


def test_a_draw_of_its_own_for_every_row_is_seen(monkeypatch):
    """Algorithms 0.2, condition 1, and the position key: a stream that runs on with every row asked for."""
    sampling = Sampling(temperature=1.0, seed=5)

    def sampled(*proposers):
        made = Decoder(
            unprobed("llama"),
            PROMPT,
            proposers=proposers,
            picker=KeyedPicker(sampling),
            limits=Limits(max_new_tokens=TOKENS),
        )
        for _ in made:
            pass
        return made.emitted

    plain = sampled()
    assert sampled(Decoys(plain)) == plain
    right, asked = KeyedPicker.pick, iter(range(10**9))

    def wrong(self, logits, rows):
        return right(self, logits, Rows(positions=[next(asked) for _ in rows.positions], prefix=rows.prefix))

    monkeypatch.setattr(KeyedPicker, "pick", wrong)
    asked = iter(range(len(PROMPT), 10**9))
    assert sampled() == plain, "one row a step: the stream is as good as the key"
    asked = iter(range(len(PROMPT), 10**9))
    assert sampled(Decoys(plain)) != plain
