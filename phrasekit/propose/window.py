"""The lookahead window: n-grams from parallel Jacobi rows in the same forward (lookahead decoding).

Level 0 is a chain of W−1 guessed tokens behind the last one; column 0 is that last token itself.
Level k ≥ 1 holds W tokens, the one in column i being the model's own prediction k steps along
column i. The picks of the last level complete one n-gram per column, and the window moves on by one.
The levels fill during the first N−2 iterations. Window tokens are never emitted.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.proposer import Draft, Proposer, Verdict
from phrasekit.decode.tree import ROOT, TokenTree
from phrasekit.pool.journal import PoolJournal
from phrasekit.pool.phrase import WINDOW

Levels = list[list[int]]


class LookaheadWindow(Proposer):
    """Adds the window's rows to the tree and turns their picks into pool phrases.

    Args:
        pool: receives the n-grams.
        special: token ids that never start a window.
        seed: the window's start is drawn from the prompt by its own generator.
    """

    def __init__(self, pool: PoolJournal, *, special: frozenset[int] = frozenset(), seed: int = 0) -> None:
        self.pool = pool
        self.special = special
        self.seed = seed
        self.levels: Levels = []
        self._prompt: Sequence[int] = ()
        self._shape = (0, 0)
        self._nodes: Levels = []
        self._tree: TokenTree | None = None

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """See `Proposer.start`."""
        self._prompt = list(prompt)
        self._shape = (0, 0)

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        window, level = draft.knobs.window, draft.knobs.level
        self._nodes, self._tree = [], draft.tree
        if not window:
            return
        if self._shape != (window, level):
            self._shape = (window, level)
            self.levels = [self._first_level(window + level - 3)]
        if draft.reach is not None and draft.reach <= window + 2 * level:
            return  # rows would lie beyond the model's context
        draft.window = tuple(map(tuple, self.levels))
        last = len(self.levels) - 1
        parent, nodes = ROOT, []
        for token in self.levels[0]:
            parent = draft.tree.add_window(parent, token, silent=last > 0)
            nodes.append(parent)
        self._nodes = [nodes]
        above = [ROOT, *nodes]
        for k, tokens in enumerate(self.levels[1:], start=1):
            above = [
                draft.tree.add_window(parent, token, silent=k < last)
                for parent, token in zip(above, tokens, strict=False)
            ]
            self._nodes.append(above)

    def learn(self, verdict: Verdict) -> None:
        """See `Proposer.learn`."""
        if not self._nodes or verdict.tree is not self._tree:  # the tree went for want of memory
            return
        _, level = self._shape
        picks = [verdict.after(node) for node in self._nodes[-1]]
        if min(picks, default=0) < 0:
            return  # a window row without a finite pick teaches nothing
        if len(self.levels) < level - 1:
            self._fill(picks)
            return
        if level == 2:  # the last level is level 0, whose column 0 is the last token itself
            picks = [verdict.after(ROOT), *picks]
        columns = [verdict.context[-len(verdict.emitted) - 1], *self.levels[0]]
        rows = [*self.levels[1:], picks]
        for key, *followers in zip(columns, *rows, strict=False):
            self.pool.insert((key, *followers), WINDOW)
        self.levels = [rows[0][1:], *rows[1:]]

    def _first_level(self, size: int) -> list[int]:
        choices = [token for token in self._prompt if token not in self.special] or list(self._prompt)
        rng = random.Random(self.seed)  # noqa: S311  (a reproducible start, no secret)
        return [rng.choice(choices) for _ in range(size)]

    def _fill(self, picks: list[int]) -> None:
        new = picks if len(self.levels) == 1 else picks[1:]
        self.levels = [*(tokens[1:] for tokens in self.levels), new]
