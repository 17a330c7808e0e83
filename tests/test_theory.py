"""The closed forms, against values worked out by hand and against a simulated decoder."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasekit.theory import (
    Acceptance,
    best_gamma,
    effective_draft_length,
    length_over_rounds,
    ouroboros_speedup,
    parallel_ceiling,
    parallel_turns_speedup,
    pearl_speedup,
    rejected_length,
    speculative_speedup,
    turns_speedup,
)

chances = st.floats(0, 1)
COSTS = {"t_draft": 1.0, "t_target": 4.0}


def test_constant_chance_gives_the_geometric_sum():
    half = Acceptance(beyond=0.5)
    assert [half.survival(k) for k in range(4)] == [1.0, 0.5, 0.25, 0.125]
    assert half.expected(3) == 0.875
    assert half.expected(0) == 0.0


@given(st.floats(0, 0.99), st.integers(0, 30))
def test_geometric_sum_is_the_textbook_formula(p, gamma):
    assert math.isclose(Acceptance(beyond=p).expected(gamma), p * (1 - p**gamma) / (1 - p), abs_tol=1e-12)


def test_hazards_come_first_and_the_constant_chance_behind_them():
    acceptance = Acceptance((0.5, 0.25), beyond=0.1)
    assert acceptance.survival(2) == 0.375
    assert acceptance.survival(3) == pytest.approx(0.0375)
    assert acceptance.expected(3) == pytest.approx(0.5 + 0.375 + 0.0375)


def test_a_position_never_tested_takes_the_constant_chance():
    assert Acceptance.of((0.5, None), beyond=0.75) == Acceptance((0.5, 0.25), 0.75)


def test_equation_5_by_hand():
    # A(2) = 0.5 + 0.25; (0.75 + 1) · 4 / (2 · 1 + 4)
    assert speculative_speedup(Acceptance(beyond=0.5), 2, **COSTS) == pytest.approx(7 / 6)


def test_equation_6_by_hand():
    # A(2 + 1) = 0.875; (0.875 + 1) · 4 / (2 · 1 / 2 + 4)
    assert ouroboros_speedup(Acceptance(beyond=0.5), 2, 1, c=2.0, **COSTS) == pytest.approx(1.5)


def test_no_draft_is_plain_decoding():
    assert ouroboros_speedup(Acceptance(beyond=0.9), 0, 0, c=3.0, **COSTS) == 1.0


def simulated_speedup(hazards, beyond, gamma, beta, c, t_draft, t_target, iterations):
    """Draw every token's verdict, add up the clock, divide plain decoding's clock by it."""
    rng = random.Random(7)
    tokens, clock = 0, 0.0
    for _ in range(iterations):
        accepted = 0
        for position in range(gamma + beta):
            chance = 1 - hazards[position] if position < len(hazards) else beyond
            if rng.random() >= chance:
                break
            accepted += 1
        tokens += accepted + 1
        clock += gamma / c * t_draft + t_target
    return tokens * t_target / clock


@pytest.mark.parametrize(
    ("hazards", "beyond", "gamma", "beta", "c"),
    [
        ((), 0.8, 4, 0, 1.0),
        ((), 0.6, 5, 5, 2.5),
        ((0.05, 0.5, 0.1), 0.7, 4, 3, 2.0),
        ((1.0,), 0.9, 3, 2, 1.5),
    ],
)
def test_equations_agree_with_a_simulated_decoder(hazards, beyond, gamma, beta, c):
    found = ouroboros_speedup(Acceptance(hazards, beyond), gamma, beta, c=c, t_draft=0.3, t_target=1.7)
    simulated = simulated_speedup(hazards, beyond, gamma, beta, c, 0.3, 1.7, iterations=20_000)
    assert found == pytest.approx(simulated, rel=0.02)
    if beta == 0 and c == 1.0:
        plain = speculative_speedup(Acceptance(hazards, beyond), gamma, t_draft=0.3, t_target=1.7)
        assert plain == found


def test_equations_5_and_6_differ_by_what_phrases_bring():
    acceptance = Acceptance(beyond=0.8)
    plain = speculative_speedup(acceptance, 4, **COSTS)
    assert ouroboros_speedup(acceptance, 4, 0, c=2.0, **COSTS) == pytest.approx(plain * (4 + 4) / (2 + 4))
    assert ouroboros_speedup(acceptance, 4, 3, c=1.0, **COSTS) == pytest.approx(
        plain * (acceptance.expected(7) + 1) / (acceptance.expected(4) + 1)
    )


def test_best_gamma_is_where_the_formula_peaks():
    acceptance = Acceptance(beyond=0.8)
    speedups = [speculative_speedup(acceptance, gamma, t_draft=1, t_target=10) for gamma in range(21)]
    assert best_gamma(acceptance, 20, t_draft=1, t_target=10) == speedups.index(max(speedups)) == 6
    assert best_gamma(Acceptance(beyond=0.0), 20, t_draft=1, t_target=10) == 0


def test_parallel_drafting_is_bounded_by_the_ratio_of_speeds():
    assert parallel_ceiling(t_draft=2.0, t_target=7.0) == 3.5


def accepted(rng: random.Random, chance: float, gamma: int) -> int:
    """Tokens accepted of a draft of γ."""
    count = 0
    while count < gamma and rng.random() < chance:
        count += 1
    return count


@pytest.mark.parametrize(("chance", "gamma"), [(0.3, 2), (0.7, 4), (0.9, 8), (0.99, 3)])
def test_the_length_of_a_broken_draft_agrees_with_simulation(chance, gamma):
    rng = random.Random(1)
    lengths = [accepted(rng, chance, gamma) for _ in range(200_000)]
    broken = [length for length in lengths if length < gamma]
    assert rejected_length(chance, gamma) == pytest.approx(sum(broken) / len(broken), rel=0.03)


def test_the_length_of_a_broken_draft_at_the_ends():
    assert rejected_length(0.0, 5) == 0.0
    assert rejected_length(1.0, 5) == 2.0  # the limit: every place of the mistake is as likely
    assert rejected_length(0.999999, 5) == pytest.approx(2.0, abs=1e-4)
    assert rejected_length(0.5, 1) == 0.0


@pytest.mark.parametrize("bonus", [False, True])
def test_length_over_rounds_agrees_with_simulation(bonus):
    rng, k, chance, gamma = random.Random(2), 3, 0.6, 4
    runs = []
    while len(runs) < 3_000:
        lengths = [accepted(rng, chance, gamma) for _ in range(k)]
        if lengths[:-1] == [gamma] * (k - 1) and lengths[-1] < gamma:
            runs.append(sum(lengths) + bonus * (k - 1) + 1)
    assert length_over_rounds(k, chance, gamma, bonus=bonus) == pytest.approx(sum(runs) / len(runs), rel=0.02)


@pytest.mark.parametrize(("chance", "gamma"), [(0.2, 1), (0.5, 3), (0.8, 4), (0.95, 8)])
def test_the_long_run_of_pearl_agrees_with_simulated_rounds(chance, gamma):
    rng, rounds, tokens, tail = random.Random(3), 100_000, 0, 0
    for _ in range(rounds):
        right = accepted(rng, chance, tail)
        tokens += right + 1
        # the draft survives where the tail was right and its first token is the target's
        tail = gamma - 1 if right == tail and rng.random() < chance else 0
    speedup = pearl_speedup(chance, gamma, t_draft=1.0, t_target=gamma)
    assert speedup == pytest.approx(tokens / rounds, rel=0.02)


@given(chances, st.integers(1, 12), st.integers(1, 20), st.floats(1.0, 20.0))
def test_theorem_3_parallel_drafting_wins_but_never_passes_the_ceiling(chance, gamma, rounds, ratio):
    costs = {"t_draft": 1.0, "t_target": ratio}
    assert parallel_turns_speedup(rounds, chance, gamma, **costs) <= ratio + 1e-9
    assert pearl_speedup(chance, gamma, **costs) <= ratio + 1e-9
    matched = {"t_draft": 1.0, "t_target": float(gamma)}  # γ = C
    in_turn = turns_speedup(rounds, chance, gamma, **matched)
    assert in_turn <= parallel_turns_speedup(rounds, chance, gamma, **matched) + 1e-9


def test_a_perfect_draft_reaches_the_ceiling():
    assert pearl_speedup(1.0, 4, **COSTS) == pytest.approx(4.0)
    assert parallel_turns_speedup(1000, 1.0, 4, **COSTS) == pytest.approx(4.0, rel=1e-3)


def test_matched_phrases_lift_the_ceiling():
    assert effective_draft_length(matched=0.0, **COSTS) == parallel_ceiling(**COSTS) == 4.0
    assert effective_draft_length(matched=0.9, **COSTS) == pytest.approx(7.6)


@given(st.lists(chances, max_size=5), chances, st.integers(0, 12))
def test_a_longer_draft_never_loses_accepted_tokens(hazards, beyond, length):
    acceptance = Acceptance(tuple(hazards), beyond)
    assert 0 <= acceptance.expected(length) <= acceptance.expected(length + 1) <= length + 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Acceptance((0.5, 1.5)), "the hazard at position 2 must be from 0 to 1, but got 1.5"),
        (lambda: Acceptance(beyond=-0.1), "beyond must be from 0 to 1, but got -0.1"),
        (lambda: Acceptance(beyond=float("nan")), "beyond must be from 0 to 1, but got nan"),
        (lambda: Acceptance().expected(-1), "length must be a whole number from 0 to 4096, but got -1"),
        (lambda: Acceptance().survival(2.0), "k must be a whole number from 0 to 4096, but got 2.0"),
        (lambda: ouroboros_speedup(Acceptance(), 1, 5000, c=1.0, **COSTS), "beta must be a whole number"),
        (lambda: ouroboros_speedup(Acceptance(), 1, 0, c=0.0, **COSTS), "c must be finite and above 0"),
        (
            lambda: speculative_speedup(Acceptance(), 1, t_draft=math.inf, t_target=1),
            "t_draft must be finite",
        ),
        (lambda: parallel_ceiling(t_draft=1, t_target=0), "t_target must be finite and above 0, but got 0"),
        (lambda: rejected_length(0.5, 0), "gamma must be 1 or more, but got 0"),
        (lambda: rejected_length(1.2, 3), "acceptance must be from 0 to 1"),
        (lambda: length_over_rounds(0, 0.5, 3, bonus=True), "rounds must be 1 or more, but got 0"),
        (lambda: effective_draft_length(matched=-1, **COSTS), "matched must be finite and not negative"),
    ],
)
def test_what_is_outside_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
