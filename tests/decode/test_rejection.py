"""The textbook rejection rule: its arithmetic, its pickers, and where it accepts more."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from phrasekit import decoder, generate
from phrasekit.decode import (
    GreedyPicker,
    KeyedPicker,
    Knobs,
    Sampling,
    TokenTree,
    Verdict,
    picker_of,
    pickers_of,
    rejection_picker,
)
from phrasekit.decode.picker import Rows
from phrasekit.decode.rejection import (
    Candidate,
    acceptance,
    agreement,
    chance_agreement,
    emission,
    race_agreement,
    residual,
    settle,
    siblings,
)
from phrasekit.decode.rejection_picker import DraftSampler, RejectionPicker, _candidates, numbers
from tests import models
from tests.decode.laws import ALPHA, executions, law, p_value

DRAWS = 20_000
CALL = 500  # rows of one call
P = np.array([0.45, 0.3, 0.15, 0.1])
Q = np.array([0.05, 0.25, 0.3, 0.4])

weights = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any)
laws = weights.map(lambda found: law(*found))
tokens = st.integers(0, 2)


# --- the rule, exactly ----------------------------------------------------------------------------


@given(laws, laws)
def test_a_kept_or_replaced_draw_follows_the_target(p, q):
    drawn = [Candidate(token, q) for token in range(3) if q[token]]
    assert sum(q[one.token] * emission(p, [one]) for one in drawn).tolist() == p.tolist()


@given(laws, laws)
def test_a_draw_is_kept_as_often_as_the_laws_overlap(p, q):
    """No exact rule keeps more: 1 − TV."""
    drawn = [Candidate(token, q) for token in range(3) if q[token]]
    kept = sum(q[one.token] * acceptance(p, one) for one in drawn)
    assert kept == agreement(p, q) == np.minimum(p, q).sum() == 1 - abs(p - q).sum() / 2


@given(laws, st.lists(tokens, max_size=4))
def test_fixed_proposals_change_nothing_and_all_their_probability_is_kept(p, proposed):
    candidates = [Candidate(token) for token in proposed]
    assert emission(p, candidates).tolist() == p.tolist()
    turned_down = 1
    left = p
    for one in candidates:
        turned_down, left = turned_down * (1 - acceptance(left, one)), residual(left, one)
    assert 1 - turned_down == sum(p[token] for token in set(proposed))


@given(laws, laws, st.lists(st.tuples(tokens, st.booleans()), max_size=3))
def test_adding_up_is_running_the_rule_over_all_coins(p, q, proposed):
    candidates = [Candidate(token, q if drawn and q[token] else None) for token, drawn in proposed]
    assert emission(p, candidates).tolist() == executions(p, candidates).tolist()


@given(laws, laws, st.lists(tokens, min_size=1, max_size=3))
def test_numpy_and_torch_say_what_fractions_say(p, q, proposed):
    def found(of):
        candidates = [Candidate(token, of(q) if q[token] else None) for token in proposed]
        return emission(of(p), candidates)

    exact = np.array(found(lambda a: a), dtype=float)
    assert np.allclose(found(lambda a: a.astype(float)), exact, atol=1e-12)
    assert np.allclose(found(lambda a: torch.tensor(a.astype(float))), exact, atol=1e-12)


@given(laws)
def test_where_nothing_is_left_the_target_itself_is_drawn_from(p):
    token = int(np.argmax(p))
    assert residual(p, Candidate(token, p)).tolist() == p.tolist()
    certain = law(0, 1, 0)
    assert residual(certain, Candidate(1)).tolist() == certain.tolist()
    almost = p.astype(float) * (1 - 2e-16)  # equal up to rounding: still a law, never NaN
    left = residual(almost, Candidate(token, p.astype(float)))
    assert math.isclose(left.sum(), 1, abs_tol=1e-9)


def test_a_coin_of_zero_keeps_nothing_impossible():
    """sglang#35771: `torch.rand` can return 0, and `<=` then keeps a token of probability 0."""
    p = np.array([0.0, 1.0])
    for candidate in (Candidate(0), Candidate(0, np.array([1.0, 0.0]))):
        token, left = settle(p, [candidate], [0.0])
        assert token is None
        assert left.tolist() == [0, 1]


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_nothing_is_kept_with_nan(kind):
    for candidate in (Candidate(0), Candidate(0, kind([0.5, 0.5]))):
        token, left = settle(kind([math.nan, math.nan]), [candidate], [0.0])
        assert token is None
        assert math.isnan(left[0])


def test_a_candidate_that_its_law_cannot_bring_is_refused():
    """transformers#32867: a greedy draft's token judged by another law than it came from."""
    with pytest.raises(ValueError, match=r"token 2 has probability 0.*give the law after"):
        acceptance(P, Candidate(2, np.array([0.5, 0.5, 0.0, 0.0])))


def test_siblings_know_the_law_of_their_own_draw():
    q = law(3, 2, 1)
    assert [one.law.tolist() for one in siblings(q, [0, 0], replacement=True)] == [q.tolist()] * 2
    without = siblings(q, [0, 2], replacement=False)
    assert [one.law.tolist() for one in without] == [q.tolist(), law(0, 2, 1).tolist()]
    assert siblings(q, [], replacement=False) == []
    with pytest.raises(ValueError, match=r"without replacement must differ, but got \[1, 1\]"):
        siblings(q, [1, 1], replacement=False)


# --- where each rule accepts more -----------------------------------------------------------------


@given(weights, weights)
def test_the_race_agrees_less_often_than_the_overlap_but_never_much(left, right):
    """(1 − TV) / (1 + TV) ≤ race ≤ 1 − TV, arXiv 2408.07978."""
    p, q = law(*left), law(*right)
    gap = 1 - agreement(p, q)
    assert (1 - gap) / (1 + gap) <= race_agreement(p, q) <= 1 - gap
    assert chance_agreement(p, q) <= 1 - gap


def test_equal_laws_always_agree_by_race_and_seldom_by_chance():
    p = law(1, 1, 2)
    assert agreement(p, p) == race_agreement(p, p) == 1
    assert float(chance_agreement(p, p)) == 0.375


def test_the_keyed_picker_agrees_as_the_race_does():
    """The closed form against the picker itself, within five standard errors."""
    rows = Rows(positions=range(DRAWS), prefix=lambda row: [0] * row)
    target, draft = (
        KeyedPicker(Sampling(temperature=1.0, seed=4)).pick(torch.tensor(one).log().expand(DRAWS, -1), rows)
        for one in (P, Q)
    )
    due = float(race_agreement(P, Q))
    assert abs(float((target == draft).double().mean()) - due) < 5 * math.sqrt(due * (1 - due) / DRAWS)


@pytest.mark.parametrize(
    ("noise", "least", "most"), [(0.3, 0.96, 0.975), (1.0, 0.90, 0.92), (3.0, 0.85, 0.87)]
)
def test_how_much_the_race_gives_away(noise, least, most):
    """Measured: 97, 91 and 86 % of the overlap is left, less where draft and target agree less.

    Unrelated draws are far below both.
    """
    generator = torch.Generator().manual_seed(1)
    logits = 2 * torch.randn(100, 50, generator=generator, dtype=torch.float64)
    drafts = (logits + noise * torch.randn(100, 50, generator=generator, dtype=torch.float64)).softmax(-1)
    pairs = [(p.numpy(), q.numpy()) for p, q in zip(logits.softmax(-1), drafts, strict=True)]
    overlap, race, chance = (
        sum(float(rule(p, q)) for p, q in pairs) / 100
        for rule in (agreement, race_agreement, chance_agreement)
    )
    assert least < race / overlap < most
    assert chance < 0.5 * race


# --- the pickers ----------------------------------------------------------------------------------


def rejection(seed: int = 0, **options) -> Sampling:
    return Sampling(**{"temperature": 1.0, "rule": "rejection", "seed": seed, **options})


def chain(start: int, proposed: list[int]) -> tuple[Rows, list[int]]:
    """Rows of a chain in one call: each stands behind the proposals before it."""
    text = [0] * start + proposed
    rows = Rows(
        positions=range(start, start + len(proposed)),
        prefix=lambda row: text[: start + row],
        children=lambda row: [proposed[row]],
    )
    return rows, text


def chain_picks(target: RejectionPicker, *, q: np.ndarray = Q, p: np.ndarray = P, count: int = DRAWS):
    """Draft and judge in calls of `CALL` rows whose laws are the same everywhere; (proposed, picked)."""
    proposed, picked = [], []
    for _ in range(0, count, CALL):
        blank, _ = chain(1, [0] * CALL)
        drawn = target.draft.pick(torch.tensor(q).log().expand(CALL, -1), blank).tolist()
        rows, text = chain(1, drawn)
        # the draft decoder's own loop walks along its picks; here its rows stood there all the time
        target.draft._rows = rows
        target.draft.learn(Verdict(TokenTree(vocabulary=4, limit=0), [], [], drawn, text, Knobs()))
        proposed += drawn
        picked += target.pick(torch.tensor(p).log().expand(CALL, -1), rows).tolist()
    return np.array(proposed), np.array(picked)


def sampled_pair(seed: int = 0, vocabulary: int = 4) -> RejectionPicker:
    return RejectionPicker(rejection(seed), draft=DraftSampler(rejection(seed), vocabulary=vocabulary))


def single(picked: np.ndarray) -> float:
    return p_value(np.bincount(picked, minlength=4), P * len(picked))


def neighbours(picked: np.ndarray) -> float:
    pairs = np.bincount(4 * picked[:-1:2] + picked[1::2], minlength=16)
    return p_value(pairs, np.outer(P, P) * (len(picked) // 2))


def test_picks_follow_the_target_and_draws_are_kept_as_often_as_the_laws_overlap():
    proposed, picked = chain_picks(sampled_pair())
    assert single(picked) > ALPHA
    assert neighbours(picked) > ALPHA
    due = np.minimum(P, Q).sum()
    assert abs((proposed == picked).mean() - due) < 5 * math.sqrt(due * (1 - due) / DRAWS)
    assert p_value(np.bincount(proposed, minlength=4), Q * DRAWS) > ALPHA


class Queue:
    """Stands in for a stream of coins."""

    def __init__(self, coins: Iterable[float]) -> None:
        self.coins = iter(coins)

    def random(self, count: int) -> np.ndarray:
        return np.array([next(self.coins) for _ in range(count)])


def test_one_coin_for_two_positions_is_found():
    """PEARL's reference code reuses one number; every single pick still has the right law."""
    picker = sampled_pair()
    picker._coins = Queue(np.repeat(numbers(9, 9).random(DRAWS // 2), 2))
    _, picked = chain_picks(picker)
    assert single(picked) > ALPHA
    assert neighbours(picked) < ALPHA


def test_a_stream_that_the_draft_also_uses_is_found(monkeypatch):
    """vLLM's distribution test found draft and recovery on one stream."""
    monkeypatch.setattr(rejection_picker, "REST", rejection_picker.DRAFT)
    _, picked = chain_picks(sampled_pair())
    assert single(picked) < ALPHA


def test_coins_that_come_from_the_draft_are_found():
    race = numbers(0, rejection_picker.DRAFT).standard_exponential((DRAWS, 4))
    picker = sampled_pair()
    picker._coins = Queue(1 - np.exp(-race[:, 0]))  # uniform, but small where token 0 wins the race
    _, picked = chain_picks(picker)
    assert single(picked) < ALPHA


def test_streams_of_neighbouring_seeds_and_purposes_do_not_meet():
    """A CPU `torch.Generator` looks at 32 bits of its seed; Philox at all of them."""
    keys = [(0, 1), (0, 2), (1, 1), (-1, 1), (2**32, 1), (2**63, 1)]
    found = [numbers(*key).random(50) for key in keys]
    assert len(np.unique(np.concatenate(found))) == 50 * len(keys)
    assert numbers(2**64, 1).random() == numbers(0, 1).random()  # seeds count modulo 2⁶⁴
    assert numbers(5, 1).random() == numbers(5, 1).random()


def test_fixed_children_are_kept_with_all_their_probability():
    picker = RejectionPicker(rejection(3))
    rows = Rows(positions=range(DRAWS), prefix=lambda row: [0] * row, children=lambda _: [3, 1])
    picked = picker.pick(torch.tensor(P).log().expand(DRAWS, -1), rows).numpy()
    assert single(picked) > ALPHA
    assert neighbours(picked) > ALPHA


def test_only_what_the_draft_emitted_is_judged_by_its_law_and_only_once():
    sampler = DraftSampler(rejection(), vocabulary=4)
    rows, text = chain(2, [1, 2, 3])
    sampler.pick(torch.tensor(np.array([P, Q, P])).log(), rows)
    sampler.learn(Verdict(TokenTree(vocabulary=4, limit=0), [], [], [1, 2], text[:4], Knobs()))
    drawn = sampler.take()
    assert [drawn.at(row, rows) and drawn.at(row, rows).token for row in range(3)] == [1, 2, None]
    assert np.allclose(drawn.at(1, rows).law, Q)
    elsewhere = Rows(positions=[3], prefix=lambda _: [0, 0, 2])
    assert drawn.at(0, elsewhere) is None, "the same position behind another text"
    assert sampler.take().at(0, rows) is None


def test_a_draft_that_goes_back_forgets_what_it_drew_there():
    sampler = DraftSampler(rejection(), vocabulary=4)
    for proposed in ([1, 2, 3], [1, 0]):
        rows, text = chain(2, proposed)
        sampler.pick(torch.tensor(P).log().expand(len(proposed), -1), rows)
        sampler.learn(Verdict(TokenTree(vocabulary=4, limit=0), [], [], proposed, text, Knobs()))
    assert {at: one.token for at, one in sampler.take().candidates.items()} == {2: 1, 3: 0}


@pytest.mark.parametrize("size", [3, 4, 6])
def test_a_draft_of_another_vocabulary_draws_what_the_target_knows(size):
    sampler = DraftSampler(rejection(), vocabulary=4)
    rows = Rows(positions=range(200), prefix=lambda row: [0] * row)
    picks = sampler.pick(torch.zeros(200, size), rows)
    assert set(picks.tolist()) == set(range(min(size, 4)))
    assert sampler._laws.shape == (200, 4)
    assert np.allclose(sampler._laws.sum(-1), 1)


def test_rows_without_a_finite_maximum_have_no_pick():
    logits = torch.zeros(5, 4)
    logits[1, 3] = math.nan
    logits[2] = -math.inf
    logits[3, 0] = math.inf
    logits[4, :3] = -math.inf
    picker = sampled_pair()
    rows, text = chain(2, [0, 0, 0, 0, 3])
    picker.draft.pick(torch.zeros(5, 4), rows)
    picker.draft.learn(Verdict(TokenTree(vocabulary=4, limit=0), [], [], text[2:], text, Knobs()))
    picks = picker.pick(logits, rows).tolist()
    assert picks[1:] == [-1, -1, -1, 3]
    assert picks[0] >= 0


def test_cut_offs_and_processors_reach_both_laws():
    """Neither draws what top-k removed or a processor forbids, each row with its own prefix."""

    def no_repeats(ids, scores):
        return scores.scatter(1, ids[:, -1:], -torch.inf)

    sampling = rejection(top_k=2)
    picker = RejectionPicker(sampling, [no_repeats], draft=DraftSampler(sampling, [no_repeats], vocabulary=4))
    for one in (picker, picker.draft):
        rows = Rows(positions=[1] * 100, prefix=lambda row: [row % 2], children=lambda _: [0, 1, 2, 3])
        picks = one.pick(torch.tensor([3.0, 2.0, 1.0, 0.0]).expand(100, -1), rows)
        assert set(picks[::2].tolist()) <= {1, 2}
        assert set(picks[1::2].tolist()) <= {0, 2}


# --- as users ask for it --------------------------------------------------------------------------


def test_the_rule_is_a_sampling_setting():
    kinds = [type(one) for one in pickers_of(rejection(), vocabulary=4)]
    assert kinds == [RejectionPicker, DraftSampler, GreedyPicker]
    assert isinstance(picker_of(rejection()), RejectionPicker)
    assert [type(one) for one in pickers_of(Sampling(temperature=1.0), vocabulary=4)] == [KeyedPicker]
    assert [type(one) for one in pickers_of(rejection(temperature=0.0), vocabulary=4)] == [GreedyPicker]
    for wrong in ("typical", None, ["match"]):
        with pytest.raises(ValueError, match="rule must be one of match, rejection, but got"):
            Sampling(rule=wrong)


METHODS = ["vanilla", "speculative", "prompt_lookup", "lookahead", "cascade", "ouroboros", "hybrid"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_with_it_and_repeats_itself(method):
    pair = models.pair_of("llama")
    settings = {"method": method, "max_new_tokens": 24, "temperature": 1.0, "seed": 3, "rule": "rejection"}
    run = generate(pair, models.PROMPT, **settings)
    assert len(run.tokens) == 24
    assert run.trace.settings["rule"] == "rejection"
    if method != "hybrid":  # which chooses by the clock
        assert generate(pair, models.PROMPT, **settings).tokens == run.tokens
    assert generate(pair, models.PROMPT, **{**settings, "seed": 4}).tokens != run.tokens
    cold = {**settings, "temperature": 0.0}
    assert generate(pair, models.PROMPT, **cold).tokens == models.generated("llama", 24)


@pytest.mark.parametrize("method", ["speculative", "ouroboros", "cascade"])
def test_a_draft_equal_to_the_target_is_always_kept(method):
    """p = q: the ratio is 1 wherever the law that was drawn from is the one handed over."""
    run = decoder(
        models.pair_of("llama", "same"),
        models.PROMPT,
        method=method,
        max_new_tokens=40,
        temperature=1.3,
        top_p=0.9,
        rule="rejection",
    )
    iterations = list(run)
    assert all(one.accepted == one.drafted for one in iterations)
    assert max(one.drafted for one in iterations) > 1


def test_of_rows_at_one_position_the_one_with_the_right_text_gives_the_law():
    """A draft of the draft leaves siblings: its position alone does not name a row."""
    sampler = DraftSampler(rejection(), vocabulary=4)
    texts = [[0], [0, 1], [0, 2], [0, 3]]
    rows = Rows(positions=[1, 2, 2, 2], prefix=lambda row: texts[row])
    sampler.pick(torch.tensor(np.array([P, P, Q, P])).log(), rows)
    sampler.learn(Verdict(TokenTree(vocabulary=4, limit=0), [], [], [2, 1], [0, 2, 1], Knobs()))
    drawn = sampler.take()
    assert np.allclose(drawn.candidates[1].law, P)
    assert np.allclose(drawn.candidates[2].law, Q)


def test_siblings_keep_token_and_law_of_each_draw():
    for replacement, due in ((True, [Q, Q]), (False, [Q, Q * (np.arange(4) != 3) / (1 - Q[3])])):
        found = siblings(Q, [3, 1], replacement=replacement)
        assert [one.token for one in found] == [3, 1]
        for one, expected in zip(found, due, strict=True):
            assert np.allclose(one.law, expected)


def test_the_draw_is_judged_first_and_every_other_child_after_it():
    drawn = Candidate(2, Q)
    found = _candidates(drawn, [3, 2, 1])
    assert found[0] is drawn
    assert found[1:] == [Candidate(3), Candidate(1)]
    assert _candidates(None, [3, 1]) == [Candidate(3), Candidate(1)]


@pytest.mark.parametrize("coins", [[], [1.0, 1.0]])
def test_every_candidate_has_one_coin(coins):
    with pytest.raises(ValueError, match="shorter|longer"):
        settle(P, [Candidate(0)], coins)


def test_a_token_that_one_law_excludes_never_wins_both_races():
    assert race_agreement(law(0, 1, 1), law(1, 1, 0)) * 3 == 1
    assert race_agreement(law(1, 0), law(0, 1)) == 0
