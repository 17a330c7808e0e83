"""What the tests of output laws share: exact enumeration over toy trees, toy models, statistics.

Laws are numpy arrays of fractions where every outcome is added up, so "equal" means equal.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from torch import Tensor

from phrasekit.decode import ROOT, TokenTree, walk
from phrasekit.decode.rejection import Candidate, settle
from phrasekit.trace.records import DRAFT

ALPHA = 1e-6  # a right law fails one run in a million, and the seeds are fixed
Text = tuple[int, ...]
Joint = dict[Text, Fraction]


def law(*weights: int) -> np.ndarray:
    """Weights as probabilities."""
    return np.array([Fraction(weight, sum(weights)) for weight in weights], dtype=object)


class Toy:
    """A language model of any law per prefix, some tokens impossible.

    Args:
        seed: another one is another model.
        vocabulary: number of tokens.
        grain: probabilities are multiples of 1/grain.
    """

    def __init__(self, seed: int, vocabulary: int = 3, grain: int = 6) -> None:
        self.vocabulary = vocabulary
        self._seed, self._grain = seed, grain
        self._laws: dict[Text, np.ndarray] = {}

    def __call__(self, prefix: Text) -> np.ndarray:
        if prefix not in self._laws:
            rng = random.Random(f"{self._seed} {prefix}")
            cuts = sorted(rng.randint(0, self._grain) for _ in range(self.vocabulary - 1))
            self._laws[prefix] = law(*np.diff([0, *cuts, self._grain]).tolist())
        return self._laws[prefix]


def joint(target: Callable[[Text], np.ndarray], length: int, start: Text = ()) -> Joint:
    """The law of plain sampling: texts of `length` tokens that begin with `start`."""
    if len(start) >= length:
        return {start[:length]: Fraction(1)}
    found: Joint = defaultdict(Fraction)
    for token, chance in enumerate(target(start)):
        if chance:
            for text, rest in joint(target, length, (*start, token)).items():
                found[text] += chance * rest
    return found


def completed(emitted: Joint, target: Callable[[Text], np.ndarray], length: int) -> Joint:
    """The law of the first `length` tokens when plain sampling goes on behind what was emitted."""
    found: Joint = defaultdict(Fraction)
    for start, chance in emitted.items():
        for text, rest in joint(target, length, start).items():
            found[text] += chance * rest
    return {text: chance for text, chance in found.items() if chance}


def distance(left: Joint, right: Joint) -> Fraction:
    """Total variation."""
    return sum((abs(left.get(text, 0) - right.get(text, 0)) for text in {*left, *right}), Fraction(0)) / 2


def tree_of(branches: Iterable[Sequence[int]], vocabulary: int = 3) -> TokenTree:
    tree = TokenTree(vocabulary=vocabulary, limit=9)
    for branch in branches:
        tree.add_branch(ROOT, branch, DRAFT)
    return tree


def prefixes(tree: TokenTree) -> list[Text]:
    """What every row stands behind, the root's first."""
    return [tuple(tree.path_tokens(node)) for node in range(-1, len(tree))]


def every_walk(tree: TokenTree, rows: Sequence[np.ndarray]) -> Joint:
    """What the real walk emits, over all picks, each row drawing on its own from `rows`."""
    found: Joint = defaultdict(Fraction)
    possible = [[token for token, chance in enumerate(row) if chance] for row in rows]
    for picks in product(*possible):
        chance = Fraction(1)
        for row, pick in zip(rows, picks, strict=True):
            chance *= row[pick]
        found[emitted(tree, picks)] += chance
    return found


def emitted(tree: TokenTree, picks: Sequence[int]) -> Text:
    path = walk(tree, picks)
    return (*(tree.tokens[node] for node in path), picks[path[-1] + 1 if path else 0])


def followed(
    tree: TokenTree, row: Callable[[Text], np.ndarray], node: int = ROOT
) -> Iterator[tuple[Text, Fraction]]:
    """The same with rows asked for only where the walk comes; `row(prefix)` is the law of the pick there."""
    prefix = tuple(tree.path_tokens(node))
    for token, chance in enumerate(row(prefix)):
        child = tree.child(node, token)
        if chance and child is None:
            yield (*prefix, token), chance
        elif chance:
            for text, rest in followed(tree, row, child):
                yield text, chance * rest


class Coin:
    """Is below `chance` with probability `chance`, and here it is told whether."""

    def __init__(self, below: bool) -> None:
        self.below = below
        self.weight = Fraction(1)

    def __lt__(self, chance: Fraction) -> bool:
        self.weight = Fraction(chance if self.below else 1 - chance)
        return self.below


def executions(target: np.ndarray, candidates: Sequence[Candidate], *, rule: Callable = settle) -> np.ndarray:
    """The law of the emitted token: the real `settle`, run once for each way its coins can fall."""
    found = target * 0
    for turned_down in range(len(candidates) + 1):
        coins = [Coin(place == turned_down) for place in range(len(candidates))]
        token, left = rule(target, candidates, coins)
        weight = Fraction(1)
        for coin in coins:
            weight *= coin.weight
        if token is None:
            found = found + weight * left
        else:
            found[token] += weight
    return found


# --- models and statistics ----------------------------------------------------------------------


class MarkovModel:
    """Stands in for a `LanguageModel`: the next token depends on the last one.

    Args:
        laws: `[vocabulary, vocabulary]`, a row for every last token.
    """

    name, context, device, weights = "markov", None, torch.device("cpu"), 1

    def __init__(self, laws: Tensor) -> None:
        self.logits = laws.double().log()
        self.vocabulary = laws.shape[1]

    def session(self, capacity: int) -> MarkovSession:
        return MarkovSession(self)


class MarkovSession:
    def __init__(self, model: MarkovModel) -> None:
        self.model = model
        self._kept: list[int] = []
        self._rows: list[int] = []

    @property
    def length(self) -> int:
        return len(self._kept)

    def forward(self, pending, tokens, parents, *, rows=None) -> Tensor:
        self._rows = [*pending, *tokens]
        last = self._rows[len(pending) - 1 :]
        return self.model.logits[last if rows is None else [last[row] for row in rows]]

    def commit(self, pending: int, path: Sequence[int]) -> None:
        self._kept += [*self._rows[:pending], *(self._rows[pending + node] for node in path)]

    def crop(self, length: int) -> None:
        del self._kept[length:]


def p_value(counts: np.ndarray, expected: np.ndarray, fixed: int = 1) -> float:
    """Chi-square over cells, those with fewer than ten expected pooled; `fixed` sums were given."""
    counts, expected = np.asarray(counts, float).ravel(), np.asarray(expected, float).ravel()
    assert not counts[expected == 0].any(), "something of no probability happened"
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 1e-300)).sum()
    degrees = torch.tensor((len(counts) - fixed) / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(degrees, torch.tensor(statistic / 2, dtype=torch.float64)))
