"""L1 of the ladder: the law of the output, every outcome added up; then the same by statistics.

Every check has a control: a rule known to be wrong, from published code where there is one, that the
same check must find.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.decode import (
    Decoder,
    Knobs,
    Limits,
    Proposer,
    Sampling,
    TokenTree,
    pickers_of,
    rejection,
    rejection_picker,
)
from phrasekit.decode.rejection import (
    Candidate,
    acceptance,
    agreement,
    emission,
    race_agreement,
    residual,
    settle,
    siblings,
)
from phrasekit.decode.rejection_picker import RejectionPicker, numbers
from phrasekit.lm import Pair
from phrasekit.methods import METHODS, Parts
from phrasekit.pool import PhrasePool
from phrasekit.trace.records import DRAFT
from tests.decode.laws import (
    ALPHA,
    Joint,
    MarkovModel,
    Text,
    Toy,
    completed,
    distance,
    emitted,
    every_walk,
    executions,
    followed,
    joint,
    law,
    p_value,
    prefixes,
    tree_of,
)

LENGTH = 3
DEPTH = 3
SUFFIXES = [(0, 1), (0, 2), (1, 0), (0, 1)]

branches = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=DEPTH), max_size=4)
small_trees = branches.map(tree_of).filter(lambda tree: len(tree) <= 6)
toys = st.integers(0, 10**6).map(Toy)


def gap(found: Joint, target: Toy, length: int = LENGTH) -> Fraction:
    """Total variation to plain sampling, where plain sampling goes on behind what was emitted."""
    return distance(completed(found, target, length), joint(target, length))


def exact(found: Joint, target: Toy, length: int = LENGTH) -> bool:
    return gap(found, target, length) == 0


# --- rule A: draw, then match ---------------------------------------------------------------------


@settings(max_examples=40)
@given(small_trees, toys)
def test_a_draw_per_node_and_the_walk_give_the_target_law(tree, target):
    assert exact(every_walk(tree, [target(prefix) for prefix in prefixes(tree)]), target)


@settings(max_examples=12)
@given(small_trees, toys)
def test_a_draw_per_position_that_all_nodes_there_share_does_too(tree, target):
    """As keyed noise does: the number belongs to the position, the law to the node."""
    assert exact(by_position(tree, target, lambda numbers: numbers), target)


def test_one_number_for_all_positions_is_found():
    """PEARL's reference code, algorithms 3.3."""
    target = Toy(1)
    found = by_position(
        tree_of([(0, 1, 2), (1, 0), (2, 2)]), target, lambda numbers: [numbers[0]] * len(numbers)
    )
    assert gap(found, target) > Fraction(1, 20)


def by_position(tree: TokenTree, target: Toy, used, grain: int = 6) -> Joint:
    """The walk where position k draws with the k-th of the numbers 0 … grain − 1, each as likely."""
    rows = [(len(prefix), target(prefix).cumsum()) for prefix in prefixes(tree)]
    found: Joint = defaultdict(Fraction)
    for drawn in product(range(grain), repeat=1 + DEPTH):
        at = used(drawn)
        picks = [int(np.argmax(total > Fraction(at[depth], grain))) for depth, total in rows]
        found[emitted(tree, picks)] += Fraction(1, grain ** (1 + DEPTH))
    return found


def test_a_draw_per_row_with_the_longest_match_is_found():
    """Algorithms 0.2, condition 1: suffixes 01, 02, 10, 01, each of whose rows draws for itself."""
    root, after = law(6, 3, 1), {0: law(1, 4, 5), 1: law(1, 1, 1), 2: law(1, 1, 1)}

    def target(prefix: Text) -> np.ndarray:
        return after[prefix[0]] if prefix else root

    found: Joint = defaultdict(Fraction)
    for first, *second in product(range(3), repeat=1 + len(SUFFIXES)):
        chance = root[first]
        for suffix, token in zip(SUFFIXES, second, strict=True):
            chance *= after[suffix[0]][token]
        alive = [
            (token == suffix[1], token)
            for suffix, token in zip(SUFFIXES, second, strict=True)
            if suffix[0] == first
        ]
        matched = max(alive, key=lambda one: one[0], default=None)
        found[(first,) if matched is None else (first, matched[1])] += chance
    assert distance(completed(found, target, 2), joint(target, 2)) == Fraction(72, 1000)
    tree = tree_of(SUFFIXES)
    per_node = [target(prefix[:1]) for prefix in prefixes(tree)]
    assert exact(every_walk(tree, per_node), target, 2)


# --- rule B: fixed proposals, one after another ---------------------------------------------------


@settings(max_examples=40)
@given(small_trees, toys)
def test_fixed_proposals_judged_in_turn_give_the_target_law(tree, target):
    assert exact(judged(tree, target), target)


def judged(tree: TokenTree, target: Toy, rule=settle) -> Joint:
    def row(prefix: Text) -> np.ndarray:
        node = -1
        for token in prefix:
            node = tree.child(node, token)
        return executions(target(prefix), [Candidate(token) for token in tree.children(node)], rule=rule)

    return dict(followed(tree, row))


# --- rule C: a chain drawn from the draft's law ---------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_drawn_chain_gives_the_target_law(seed):
    target, draft = Toy(seed), Toy(seed + 1000)
    assert exact(chained(target, draft), target)


def chained(target: Toy, draft: Toy, *, rule=settle, said=None, drawn_from=None, gamma: int = 2) -> Joint:
    """Over all chains of γ draws and all coins.

    Args:
        rule: judges.
        said: the law handed to the rule.
        drawn_from: the law the chain is really drawn from.
    """
    said, drawn_from = said or draft, drawn_from or draft
    found: Joint = defaultdict(Fraction)
    for chain, chance in joint(drawn_from, gamma).items():
        tree = tree_of([chain])

        def row(prefix: Text, chain=chain) -> np.ndarray:
            drawn = [Candidate(chain[len(prefix)], said(prefix))] if len(prefix) < gamma else []
            return executions(target(prefix), drawn, rule=rule)

        for text, rest in followed(tree, row):
            found[text] += chance * rest
    return found


@settings(max_examples=25)
@given(st.integers(0, 10**6), branches)
def test_a_drawn_chain_with_fixed_branches_beside_and_behind_gives_the_target_law(seed, fixed):
    """The shape of `ouroboros` and `hybrid`: the draw is judged first, whatever else it is equal to."""
    target, draft = Toy(seed), Toy(seed + 1)
    found: Joint = defaultdict(Fraction)
    for chain, chance in joint(draft, 2).items():
        tree = tree_of([chain, *fixed, (*chain, 0), (*chain, 2)])

        def row(prefix: Text, chain=chain, tree=tree) -> np.ndarray:
            node = -1
            for token in prefix:
                node = tree.child(node, token)
            on_chain = len(prefix) < 2 and prefix == chain[: len(prefix)]
            drawn = [Candidate(chain[len(prefix)], draft(prefix))] if on_chain else []
            others = [
                Candidate(token) for token in tree.children(node) if token not in [one.token for one in drawn]
            ]
            return emission(target(prefix), [*drawn, *others])

        for text, rest in followed(tree, row):
            found[text] += chance * rest
    assert exact(found, target)


# --- several draws at a node ----------------------------------------------------------------------


@pytest.mark.parametrize("replacement", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("seed", range(4))
def test_trees_of_drawn_siblings_give_the_target_law(seed, replacement):
    """SpecInfer's multi-round rule: trees of up to six nodes, two draws at a node, two levels."""
    target, draft = Toy(seed), full(Toy(seed + 1000, grain=9))
    assert exact(sibling_trees(target, draft, replacement=replacement), target)


@pytest.mark.parametrize("replacement", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_any_number_of_drawn_siblings_gives_the_target_law(count, replacement):
    for seed in range(4):
        p, q = Toy(seed, vocabulary=4)(()), full(Toy(seed + 50, vocabulary=4))(())
        assert drawn_at_one_node(p, q, count, replacement=replacement).tolist() == p.tolist()


def full(draft: Toy):
    """A law with every token possible, so that draws without replacement do not run out."""

    def mixed(prefix: Text) -> np.ndarray:
        return (draft(prefix) + Fraction(1, draft.vocabulary)) / 2

    return mixed


def draws_of(q: np.ndarray, count: int, *, replacement: bool):
    """Every sequence of draws at one node, with its probability."""
    some = product(range(len(q)), repeat=count) if replacement else permutations(range(len(q)), count)
    for tokens in some:
        chance = Fraction(1)
        for one in siblings(q, tokens, replacement=replacement):
            chance *= one.law[one.token]
        yield tokens, chance


def drawn_at_one_node(
    p: np.ndarray, q: np.ndarray, count: int, *, replacement: bool, rule=settle, said=siblings
):
    found = p * 0
    for tokens, chance in draws_of(q, count, replacement=replacement):
        found = found + chance * executions(p, said(q, tokens, replacement=replacement), rule=rule)
    return found


def sibling_trees(target: Toy, draft, *, replacement: bool) -> Joint:
    """Every tree of two draws at the root and two behind each distinct one."""
    rows: dict[tuple[Text, Text], np.ndarray] = {}
    found: Joint = defaultdict(Fraction)
    for top, chance in draws_of(draft(()), 2, replacement=replacement):
        behind = sorted(set(top))
        every = [list(draws_of(draft((token,)), 2, replacement=replacement)) for token in behind]
        for below in product(*every):
            drawn = {(): top, **{(token,): tokens for token, (tokens, _) in zip(behind, below, strict=True)}}
            tree = tree_of([(token, last) for token in behind for last in drawn[(token,)]])
            weight = chance * math.prod((rest for _, rest in below), start=Fraction(1))

            def row(prefix: Text, drawn=drawn) -> np.ndarray:
                tokens = drawn.get(prefix, ())
                if (prefix, tokens) not in rows:
                    some = siblings(draft(prefix), tokens, replacement=replacement) if tokens else []
                    rows[prefix, tokens] = executions(target(prefix), some)
                return rows[prefix, tokens]

            for text, rest in followed(tree, row):
                found[text] += weight * rest
    return found


# --- controls: rules known to be wrong ------------------------------------------------------------


def rule_with(*, below=operator.lt, left=residual, ratio=acceptance):
    """`settle` with one part replaced."""

    def rule(p, candidates, coins):
        for candidate, coin in zip(candidates, coins, strict=True):
            if below(coin, ratio(p, candidate)):
                return candidate.token, p
            p = left(p, candidate)
        return None, p

    return rule


P, Q = law(5, 3, 2, 0), law(1, 2, 3, 4)


def off(found: np.ndarray, p: np.ndarray = P) -> Fraction:
    return abs(found - p).sum() / 2


def test_the_rule_rebuilt_from_its_parts_is_right():
    for replacement in (True, False):
        assert off(drawn_at_one_node(P, Q, 2, replacement=replacement, rule=rule_with())) == 0


def test_drawing_from_the_target_itself_after_a_rejection_is_found():
    wrong = rule_with(left=lambda p, _: p)
    assert off(drawn_at_one_node(P, Q, 1, replacement=True, rule=wrong)) > Fraction(1, 10)
    target = Toy(3)
    assert gap(judged(tree_of(SUFFIXES), target, rule=wrong), target) > Fraction(1, 10)


def test_a_second_sibling_judged_by_the_first_ones_law_is_found():
    """p₂ instead of p₂ / (1 − p₁), and what is left drawn from as it should be."""

    def wrong(p, candidates, coins):
        left = p
        for candidate, coin in zip(candidates, coins, strict=True):
            if coin < acceptance(p, candidate):
                return candidate.token, p
            left = residual(left, candidate)
        return None, left

    assert off(executions(P, [Candidate(0), Candidate(1)], rule=wrong)) > Fraction(1, 20)
    assert off(drawn_at_one_node(P, Q, 2, replacement=True, rule=wrong)) > Fraction(1, 50)


def test_or_equal_is_found():
    """A coin from 0, 1/10 … 9/10, as floats have a grain too: `<=` keeps what has probability 0."""
    impossible = [Candidate(3, Q)]
    for below, due in ((operator.lt, 0), (operator.le, Fraction(1, 10))):
        rule = rule_with(below=below)
        kept = sum(rule(P, impossible, [Fraction(coin, 10)])[0] == 3 for coin in range(10))
        assert Fraction(kept, 10) == due


def test_top_tokens_taken_for_draws_are_found():
    """EAGLE#93 and four more: the k likeliest tokens of q are no draws from q."""
    top = siblings(Q, [3, 2], replacement=False)
    assert off(executions(P, top)) > Fraction(1, 10)
    assert off(executions(P, [Candidate(one.token) for one in top])) == 0


def test_a_greedy_draft_judged_by_its_softmax_is_found():
    """transformers#32867."""
    target, draft = Toy(5), full(Toy(6))

    def greedy(prefix: Text) -> np.ndarray:
        return law(*[int(token == np.argmax(draft(prefix))) for token in range(3)])

    assert gap(chained(target, draft, drawn_from=greedy), target) > Fraction(1, 20)
    assert exact(chained(target, draft, drawn_from=greedy, said=greedy), target)


def test_draws_without_replacement_judged_by_the_first_draws_law_are_found():
    """EAGLE#74."""

    def wrong(q, tokens, *, replacement):
        return [Candidate(token, q) for token in tokens]

    assert off(drawn_at_one_node(P, Q, 3, replacement=False, said=wrong)) > Fraction(1, 50)


def test_dropping_a_draw_for_its_probability_is_found():
    """Algorithms 0.4: a confidence rule must keep the token that triggers it."""
    kept_only = P * 0
    for token in range(4):
        some = [Candidate(token, Q)] if Q[token] >= Fraction(3, 10) else []
        kept_only = kept_only + Q[token] * emission(P, some)
    assert off(kept_only) > Fraction(1, 20)


def test_the_module_is_what_these_checks_run(monkeypatch):
    """A slip in the module itself turns them red."""
    monkeypatch.setattr(rejection, "residual", lambda p, _: p)
    assert not exact(judged(tree_of(SUFFIXES), Toy(3)), Toy(3))


# --- the same through the real loop ---------------------------------------------------------------

TARGET = torch.tensor(
    [[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.3, 0.2], [0.7, 0.1, 0.1, 0.1]]
)
NEAR = torch.tensor(
    [[0.4, 0.3, 0.2, 0.1], [0.2, 0.2, 0.3, 0.3], [0.15, 0.25, 0.2, 0.4], [0.5, 0.2, 0.2, 0.1]]
)
BLOCKS = 20_000  # pairs of tokens
RUN = 200  # tokens of one run


def toy_run(method: str, seed: int, rule: str) -> Decoder:
    pair = Pair(target=MarkovModel(TARGET), draft=MarkovModel(NEAR))
    sampling = Sampling(temperature=1.0, seed=seed, rule=rule)
    parts = Parts(
        pair=pair,
        prompt=[0],
        pickers=pickers_of(sampling, vocabulary=4),
        limits=Limits(max_new_tokens=RUN),
        knobs=Knobs(gamma=3, window=3, level=3, guesses=2, suffixes=2, beta=3),
        pool=PhrasePool(),
    )
    return METHODS[method].build(parts)


def texts(method: str, rule: str, count: int) -> list[Text]:
    runs = [toy_run(method, seed, rule) for seed in range(count)]
    for run in runs:
        for _ in run:
            pass
    return [run.emitted for run in runs]


def deviation(runs: list[Text]) -> tuple[float, float]:
    """Joint law of two tokens given the one before: chi-square, and total variation over its noise floor.

    Blocks do not overlap. The floor is what a right law shows on average, ½ Σ √(2 p (1 − p) / πN).
    """
    counts = np.zeros((4, 4, 4))
    for text in runs:
        whole = (0, *text)
        for at in range(0, len(whole) - 2, 2):
            counts[whole[at : at + 3]] += 1
    total, chances = counts.sum(), TARGET.double().numpy()
    due = counts.sum((1, 2))[:, None, None] * chances[:, :, None] * chances[None]
    floor = np.sqrt(2 * due / total * (1 - due / total) / (math.pi * total)).sum() / 2
    return p_value(counts, due, fixed=4), abs(counts - due).sum() / total / 2 / floor


class Bracket:
    """Accepted draws against the chance each of them had: a martingale, so five sigmas hold for any text."""

    def __init__(self, rule) -> None:
        self.due = [
            float(rule(p, q)) for p, q in zip(TARGET.double().numpy(), NEAR.double().numpy(), strict=True)
        ]
        self.sum = self.variance = self.trials = self.kept = 0.0

    def add(self, iteration) -> None:
        tokens = [iteration.root, *(iteration.tree.tokens[node] for node in iteration.tree.trunk)]
        for place, node in enumerate(iteration.tree.trunk[: iteration.accepted + 1]):
            due, kept = self.due[tokens[place]], iteration.trunk_hits[place]
            self.sum += kept - due
            self.variance += due * (1 - due)
            self.trials += 1
            self.kept += kept
            assert iteration.tree.parents[node] < node

    @property
    def sigmas(self) -> float:
        return self.sum / math.sqrt(self.variance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "blocks", "agreeing"),
    [("rejection", BLOCKS, agreement), ("match", BLOCKS // 4, race_agreement)],
    ids=["rejection", "match"],
)
def test_joint_law_and_acceptance_of_a_drawn_chain(rule, blocks, agreeing):
    """Accepted as often as Σ min(p, q) says, and by the keyed race as often as its closed form says."""
    runs, bracket = [], Bracket(agreeing)
    for seed in range(2 * blocks // RUN):
        run = toy_run("speculative", seed, rule)
        for iteration in run:
            bracket.add(iteration)
        runs.append(run.emitted)
    chance, excess = deviation(runs)
    assert chance > ALPHA
    assert excess < 1.5
    assert abs(bracket.sigmas) < 5
    assert bracket.trials > blocks


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ouroboros", "lookahead"])
def test_joint_law_where_picks_come_back_as_phrases(method):
    chance, excess = deviation(texts(method, "rejection", 25))
    assert chance > ALPHA
    assert excess < 1.5


def test_a_wrong_rule_in_the_loop_is_found(monkeypatch):
    monkeypatch.setattr(rejection_picker, "settle", rule_with(left=lambda p, _: p))
    chance, excess = deviation(texts("speculative", "rejection", 20))
    assert chance < ALPHA
    assert excess > 1.5


class Echo(Proposer):
    """Proposes at every position what was picked there beyond the accepted path of an earlier tree."""

    def __init__(self) -> None:
        self.heard: dict[int, int] = {}

    def propose(self, draft) -> None:
        start = len(draft.context)
        tokens = [self.heard.get(position, 3) for position in range(start, start + 4)]
        draft.tree.extend_trunk(tokens, [DRAFT] * 4, [-1] * 4)

    def learn(self, verdict) -> None:
        start = len(verdict.context) - len(verdict.emitted)
        for depth, pick in enumerate(verdict.picks):
            self.heard[start + depth] = pick


class CoinsByPosition:
    """Coins that belong to a position, as the keyed noise does."""

    def __init__(self, seed: int) -> None:
        self.seed, self.position = seed, 0

    def random(self, count: int) -> np.ndarray:
        found = numbers(self.seed, 1000 + self.position).random(count)
        self.position += 1
        return found


class ByPosition(RejectionPicker):
    def pick(self, logits, rows):
        self._coins = CoinsByPosition(self.sampling.seed)
        self._coins.position = rows.positions[0]  # the rows of a chain follow one another
        return super().pick(logits, rows)


def echoed(kind) -> float:
    flat = TARGET[1].expand(4, -1)
    counts = np.zeros(4)
    for seed in range(10):
        sampling = Sampling(temperature=1.0, seed=seed, rule="rejection")
        run = Decoder(
            MarkovModel(flat),
            [0],
            picker=kind(sampling),
            proposers=[Echo()],
            limits=Limits(max_new_tokens=RUN),
        )
        for _ in run:
            pass
        counts += np.bincount(run.emitted, minlength=4)
    return p_value(counts, TARGET[1].numpy() * counts.sum())


def test_a_proposal_that_knows_earlier_picks_is_judged_by_new_coins():
    """Coins that belong to a position judge their own picks: token 3 comes out at 0.5 instead of 0.4."""
    assert echoed(RejectionPicker) > ALPHA
    assert echoed(ByPosition) < ALPHA
