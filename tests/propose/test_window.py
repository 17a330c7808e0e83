"""The lookahead window against a slow one written from the description (algorithms 1.3)."""

from __future__ import annotations

import random

import pytest

from phrasekit.decode import ROOT, Decoder, Knobs, Limits, Proposer
from phrasekit.propose import LookaheadWindow
from phrasekit.trace.records import LOOKUP, WINDOW
from tests.models import ScriptedModel, mixing

VOCABULARY = 30
SCRIPT = mixing(VOCABULARY, order=9, salt=3)  # sees further back than a window is deep
PROMPT = tuple((7 * i + 2) % VOCABULARY for i in range(12))
SHAPES = [(1, 2), (5, 2), (1, 3), (4, 3), (5, 4), (3, 6), (1, 6), (7, 5)]


class Recorder:
    """In place of a pool."""

    def __init__(self) -> None:
        self.inserted = []

    def insert(self, tokens, source):
        assert source == "window"
        self.inserted.append(tuple(tokens))

    def lookup(self, key, count):
        return ()


class SlowWindow:
    """Levels as lists; every prediction asks the script for the whole prefix, one at a time."""

    def __init__(self, first: list[int], level: int) -> None:
        self.levels = [first]
        self.level = level

    def step(self, context: list[int]) -> list[tuple[int, ...]]:
        """One forward behind `context`; what it completed."""

        def prediction(column: int, depth: int) -> int:
            chain = [self.levels[k][column] for k in range(1, depth + 1)]
            return SCRIPT((*context, *self.levels[0][:column], *chain))

        size, last = len(self.levels[0]), len(self.levels) - 1
        if len(self.levels) < self.level - 1:  # filling
            if last == 0:
                new = [prediction(column, 0) for column in range(1, size + 1)]
            else:
                new = [prediction(column, last) for column in range(1, len(self.levels[last]))]
            self.levels = [level[1:] for level in self.levels] + [new]
            return []
        picks = [prediction(column, last) for column in range(size + 1)]
        keys = [context[-1], *self.levels[0]]
        phrases = [
            (keys[column], *(self.levels[k][column] for k in range(1, last + 1)), picks[column])
            for column in range(size + 1)
        ]
        self.levels = [(self.levels + [picks])[1][1:], *(self.levels + [picks])[2:]]
        return phrases


class Jumps(Proposer):
    """Right guesses now and then, so that the context moves by more than one."""

    def propose(self, draft):
        text = list(draft.context)
        for _ in range(len(text) % 4):
            text.append(SCRIPT(tuple(text)))
        draft.tree.add_branch(ROOT, text[len(draft.context) :], LOOKUP)


def decoder(
    window: LookaheadWindow, *others: Proposer, knobs: Knobs, context: int | None = None, count: int = 99
):
    model = ScriptedModel(SCRIPT, vocabulary=VOCABULARY, context=context)
    return Decoder(
        model, PROMPT, proposers=(*others, window), knobs=knobs, limits=Limits(max_new_tokens=count)
    )


@pytest.mark.parametrize("others", [(), (Jumps(),)], ids=["one by one", "jumps"])
@pytest.mark.parametrize(("columns", "level"), SHAPES)
def test_fill_shift_and_phrases(columns, level, others):
    pool = Recorder()
    window = LookaheadWindow(pool)
    made = decoder(window, *others, knobs=Knobs(window=columns, level=level))
    slow = None
    for step in range(12):
        context, before = made.context.copy(), len(pool.inserted)
        iteration = made.step()
        if slow is None:
            slow = SlowWindow(list(iteration.window[0]), level)
            assert len(slow.levels[0]) == columns + level - 3
        assert [list(tokens) for tokens in iteration.window] == (slow.levels if columns + level > 3 else [[]])
        due = slow.step(context)
        assert pool.inserted[before:] == due
        assert len(due) == (columns if step >= level - 2 else 0), (
            "filled in N−2 forwards, then W phrases each"
        )
        assert all(len(phrase) == level for phrase in due)
    assert made.emitted == follow_from(PROMPT, len(made.emitted))


def follow_from(prompt, count):
    text = list(prompt)
    for _ in range(count):
        text.append(SCRIPT(tuple(text)))
    return tuple(text[len(prompt) :])


@pytest.mark.parametrize(("columns", "level"), SHAPES)
def test_rows_of_the_steady_state(columns, level):
    """W (N−1) rows with the root among them, of which the last level's need a pick, and the root."""
    made = decoder(LookaheadWindow(Recorder()), knobs=Knobs(window=columns, level=level))
    for _ in range(level + 1):
        iteration = made.step()
    assert iteration.forward.rows == columns * (level - 1)
    assert iteration.forward.picked == columns + (level > 2)
    assert set(iteration.tree.kinds) <= {WINDOW}
    assert sum(pick >= 0 for pick in iteration.picks) == iteration.forward.picked
    assert iteration.path == ()
    assert iteration.kinds == ("target",)


def test_window_rows_see_their_own_column_only():
    """Row (k, i) sees the context, columns 0…i of level 0, and its own column below it."""
    columns, level = 4, 4
    made = decoder(LookaheadWindow(Recorder()), knobs=Knobs(window=columns, level=level))
    for _ in range(4):
        iteration = made.step()
    tree = iteration.tree
    assert [len(tokens) for tokens in iteration.window] == [columns - 1, columns, columns]
    flat = [token for tokens in iteration.window for token in tokens]
    assert list(tree.tokens) == flat
    assert tree.parents[: columns - 1] == (-1, 0, 1)
    assert tree.parents[columns - 1 : 2 * columns - 1] == (-1, 0, 1, 2)
    assert tree.parents[2 * columns - 1 :] == (3, 4, 5, 6)
    assert [tree.depth(node) for node in range(len(tree.tokens))] == [1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5]


def test_another_shape_starts_the_window_anew_and_the_same_goes_on():
    pool = Recorder()
    made = decoder(LookaheadWindow(pool), knobs=Knobs(window=4, level=3))
    first = made.step().window
    for columns, level in ((4, 3), (6, 3), (6, 5), (2, 2), (4, 3)):
        made.knobs = Knobs(window=columns, level=level)
        restarted = made.step().window
        if (columns, level) == (4, 3) and made._count == 2:
            assert len(restarted) == 2, "the same shape goes on filling"
            continue
        assert [len(tokens) for tokens in restarted] == [columns + level - 3]
        for _ in range(level - 2):
            made.step()
        before = len(pool.inserted)
        made.step()
        assert len(pool.inserted) - before == columns
    assert first == restarted, "the start is a function of prompt and shape"
    made.knobs = Knobs(window=0)
    assert made.step().window == ()
    made.knobs = Knobs(window=4, level=3)
    assert len(made.step().window) >= 1
    assert made.emitted == follow_from(PROMPT, len(made.emitted))


def test_the_start_comes_from_the_prompt_without_special_tokens():
    """Decision P2: by a generator of its own; Ouroboros reseeds Python's with 10 in every round."""
    random.seed(5)
    state = random.getstate()
    special = frozenset(PROMPT[:6])
    starts = []
    for seed in (0, 0, 1):
        window = LookaheadWindow(Recorder(), special=special, seed=seed)
        made = decoder(window, knobs=Knobs(window=20, level=5))
        starts.append(made.step().window[0])
    assert random.getstate() == state
    assert starts[0] == starts[1] != starts[2]
    assert set(starts[0]) <= set(PROMPT) - special


def test_a_prompt_of_special_tokens_only_still_starts_a_window():
    made = decoder(LookaheadWindow(Recorder(), special=frozenset(PROMPT)), knobs=Knobs(window=4, level=3))
    assert set(made.step().window[0]) <= set(PROMPT)


@pytest.mark.parametrize(("columns", "level"), [(1, 2), (5, 2), (4, 3), (3, 6)])
@pytest.mark.parametrize("space", [1, 2, 5, 9, 14, 30])
def test_no_row_leaves_the_context(columns, level, space):
    """The scripted session refuses rows beyond the context."""
    pool = Recorder()
    window = LookaheadWindow(pool)
    made = decoder(
        window, Jumps(), knobs=Knobs(window=columns, level=level), context=len(PROMPT) + space, count=99
    )
    windows = [iteration.window for iteration in made]
    assert made.finish_reason == "context"
    assert made.emitted == follow_from(PROMPT, space)
    assert space < 30 or windows[0]
    assert windows[-1] == ()


def test_after_the_end_of_the_context_was_near_learning_makes_nothing_of_it():
    pool = Recorder()
    made = decoder(LookaheadWindow(pool), knobs=Knobs(window=4, level=3), context=len(PROMPT) + 16, count=99)
    for iteration in made:
        before = len(pool.inserted)
    assert iteration.window == ()
    assert len(pool.inserted) == before


def test_rows_without_a_finite_pick_teach_nothing():
    made = decoder(LookaheadWindow(pool := Recorder()), knobs=Knobs(window=4, level=3))
    made.model.script = lambda prefix: SCRIPT(prefix) if len(prefix) < len(PROMPT) + 7 else None
    for _ in range(4):
        made.step()
    assert all(token >= 0 for phrase in pool.inserted for token in phrase)
    assert all(token >= 0 for level in made.proposers[0].levels for token in level)


def test_an_iteration_that_failed_does_not_move_the_window():
    """Else the retry would harvest columns that were never computed."""
    pool = Recorder()
    window = LookaheadWindow(pool)
    made = decoder(window, knobs=Knobs(window=4, level=3))
    for _ in range(3):
        made.step()
    before, levels = list(pool.inserted), [list(level) for level in window.levels]
    forward = made._session.forward
    made._session.forward = lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        made.step()
    made._session.forward = forward
    assert (pool.inserted, window.levels) == (before, levels)
    assert made.step().window == tuple(map(tuple, levels))
