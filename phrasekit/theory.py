"""Closed forms: how much speculative decoding can gain, from acceptance and costs alone.

Equations by the numbers of the Ouroboros paper (arXiv 2402.13720), and of DOUBLE (arXiv 2601.05524) for
drafting and verifying at the same time. All of them assume that one target
forward costs the same for every number of rows, that everything but the forwards is free, and that the
chance of a mistake depends on the position in the draft only. Plain Python: a trace can be held against
them without torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 4096  # tokens of a draft


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How far the target follows a draft.

    Attributes:
        hazards: chance that the token at draft position 1, 2, … is refused, given that all before it
            were accepted.
        beyond: chance that a token after those positions is accepted. Without hazards this is the
            usual constant acceptance rate (i.i.d. acceptance, a geometric A).

    Raises:
        ValueError: a chance outside 0 to 1.
    """

    hazards: tuple[float, ...] = ()
    beyond: float = 0.0

    def __post_init__(self) -> None:
        for position, hazard in enumerate(self.hazards, start=1):
            _check_chance(f"the hazard at position {position}", hazard)
        _check_chance("beyond", self.beyond)

    @classmethod
    def of(cls, hazards: Sequence[float | None], beyond: float) -> Acceptance:
        """From measured hazards; a position never tested (None) takes the constant chance instead."""
        return cls(tuple(1.0 - beyond if hazard is None else hazard for hazard in hazards), beyond)

    def survival(self, k: int) -> float:
        """P(A ≥ k): the first k tokens of a draft of k or more are all accepted."""
        _check_whole("k", k)
        known = math.prod(1.0 - hazard for hazard in self.hazards[:k])
        return known * self.beyond ** max(0, k - len(self.hazards))

    def expected(self, length: int) -> float:
        """A(length): mean accepted tokens of a draft of that length, Σ P(A ≥ k) for k = 1 … length.

        With a constant chance p this is p (1 − pˡ) / (1 − p). The target's own token is not counted.
        """
        _check_whole("length", length)
        return sum(self.survival(k) for k in range(1, length + 1))


def speculative_speedup(acceptance: Acceptance, gamma: int, *, t_draft: float, t_target: float) -> float:
    """Eq. 5: (A(γ) + 1) · t_T / (γ · t_S + t_T), speculative decoding against plain decoding.

    Args:
        acceptance: the function A.
        gamma: γ, tokens drafted per iteration.
        t_draft: t_S, time of one draft forward, in any unit.
        t_target: t_T, time of one target forward, in the same unit.

    Returns:
        How many times as fast; below 1 it is slower.

    Raises:
        ValueError: a length that is negative or too long, or a time that is not positive.
    """
    return ouroboros_speedup(acceptance, gamma, 0, c=1.0, t_draft=t_draft, t_target=t_target)


def ouroboros_speedup(
    acceptance: Acceptance, gamma: int, beta: int, *, c: float, t_draft: float, t_target: float
) -> float:
    """Eq. 6: (A(γ + β) + 1) · t_T / (γ · t_S / c + t_T), drafting and lengthening with phrases.

    Eq. 6 takes the tokens of a suffix to be as good as drafted ones, and to cost nothing.

    Args:
        acceptance: the function A, the same as in Eq. 5.
        gamma: γ, tokens drafted per iteration.
        beta: tokens appended to the draft for free. `Knobs.beta` counts the draft's last token too,
            so a suffix of `Knobs.beta` = 6 appends 5.
        c: tokens drafted per draft forward.
        t_draft: t_S, time of one draft forward, in any unit.
        t_target: t_T, time of one target forward, in the same unit.

    Returns:
        How many times as fast as plain decoding; below 1 it is slower.

    Raises:
        ValueError: a length that is negative or too long, or a time or c that is not positive.
    """
    _check_whole("gamma", gamma)
    _check_whole("beta", beta)
    for name, value in (("c", c), ("t_draft", t_draft), ("t_target", t_target)):
        _check_positive(name, value)
    return (acceptance.expected(gamma + beta) + 1) * t_target / (gamma * t_draft / c + t_target)


def best_gamma(
    acceptance: Acceptance, most: int, *, beta: int = 0, c: float = 1.0, t_draft: float, t_target: float
) -> int:
    """The γ from 0 to `most` with the largest speed-up by Eq. 6, the smallest of equals; 0 is no draft."""
    _check_whole("most", most)

    def speedup(gamma: int) -> float:
        return ouroboros_speedup(acceptance, gamma, beta, c=c, t_draft=t_draft, t_target=t_target)

    return max(range(most + 1), key=speedup)


def parallel_ceiling(*, t_draft: float, t_target: float) -> float:
    """C = t_T / t_S: what drafting while the target verifies cannot exceed (DOUBLE, Theorem 3).

    While the target runs one forward the draft model writes at most C tokens, one a forward. Only
    drafts that cost less than a draft forward a token, such as phrases, go beyond.
    """
    _check_positive("t_draft", t_draft)
    _check_positive("t_target", t_target)
    return t_target / t_draft


def rejected_length(acceptance: float, gamma: int) -> float:
    """E[A | A < γ]: tokens accepted of a draft of γ tokens that is not accepted whole.

    Args:
        acceptance: α, chance that a token is accepted, the same at every position.
        gamma: γ, tokens of the draft; 1 or more.

    Raises:
        ValueError: a chance outside 0 to 1, or a γ below 1.
    """
    _check_chance("acceptance", acceptance)
    _check_draft(gamma)
    # (1 − α) / (1 − α^γ) is one over this sum, which also holds in the limit α = 1
    weights = [acceptance**i for i in range(gamma)]
    return sum(i * weight for i, weight in enumerate(weights)) / sum(weights)


def length_over_rounds(rounds: int, acceptance: float, gamma: int, *, bonus: bool) -> float:
    """Tokens of k − 1 rounds accepted whole and a last one that is not (DOUBLE, section 3, Theorem 1).

    Args:
        rounds: k.
        acceptance: α.
        gamma: γ.
        bonus: whether a round accepted whole brings one token more, the target's own, as in drafting and
            verifying in turn. In parallel that token is the first of the next draft.

    Raises:
        ValueError: a chance outside 0 to 1, or fewer than one round or token.
    """
    _check_whole("rounds", rounds)
    if rounds < 1:
        raise ValueError(f"rounds must be 1 or more, but got {rounds}")
    return (rounds - 1) * (gamma + bonus) + rejected_length(acceptance, gamma) + 1


def turns_speedup(rounds: int, acceptance: float, gamma: int, *, t_draft: float, t_target: float) -> float:
    """S_SD over k rounds: drafting and verifying in turn, k (γ t_S + t_T) for all of them."""
    length = length_over_rounds(rounds, acceptance, gamma, bonus=True)
    ratio = parallel_ceiling(t_draft=t_draft, t_target=t_target)
    return length / (rounds * (gamma / ratio + 1))


def parallel_turns_speedup(
    rounds: int, acceptance: float, gamma: int, *, t_draft: float, t_target: float
) -> float:
    """S_PSD over k rounds: drafting beside verifying, k max(γ t_S, t_T) for all of them.

    At γ = C it is at least S_SD, and at every γ at most C (DOUBLE, Theorem 3).
    """
    length = length_over_rounds(rounds, acceptance, gamma, bonus=False)
    ratio = parallel_ceiling(t_draft=t_draft, t_target=t_target)
    return length / (rounds * max(gamma / ratio, 1.0))


def pearl_speedup(acceptance: float, gamma: int, *, t_draft: float, t_target: float) -> float:
    """S_PSD in the long run, with perfect overlap, by the rounds that phrasekit's `pearl` runs.

    A round without a tail brings the target's one token, and with chance α leaves a tail of γ − 1. One
    with a tail brings what is right of it and one token more, and with chance α^γ leaves a tail again.
    The share of each kind follows, and with it (1 − α^γ) / ((1 − α)(1 + α − α^γ)) tokens a round.

    Raises:
        ValueError: a chance outside 0 to 1, a γ below 1, or a time that is not positive.
    """
    _check_chance("acceptance", acceptance)
    _check_draft(gamma)
    ratio = parallel_ceiling(t_draft=t_draft, t_target=t_target)
    whole = acceptance**gamma
    with_tail = sum(acceptance**i for i in range(gamma))  # (1 − α^γ) / (1 − α), also at α = 1
    tails = acceptance / (1 + acceptance - whole)  # share of rounds with a tail
    return (1 - tails + tails * with_tail) / max(gamma / ratio, 1.0)


def effective_draft_length(*, matched: float, t_draft: float, t_target: float) -> float:
    """C · (1 + AMT): tokens that iterative retrieval drafts within one target forward (DOUBLE, section 4).

    This is the ceiling of DOUBLE's speed-up as C is that of PEARL's, the target's guides not counted.

    Args:
        matched: AMT, retrieved tokens per draft forward that the draft model agrees with.
        t_draft: t_S, time of one draft forward.
        t_target: t_T, time of one target forward.

    Raises:
        ValueError: a negative AMT, or a time that is not positive.
    """
    if not (math.isfinite(matched) and matched >= 0):
        raise ValueError(f"matched must be finite and not negative, but got {matched}")
    return parallel_ceiling(t_draft=t_draft, t_target=t_target) * (1 + matched)


def _check_draft(gamma: int) -> None:
    _check_whole("gamma", gamma)
    if gamma < 1:
        raise ValueError(f"gamma must be 1 or more, but got {gamma}")


def _check_chance(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, but got {value}")


def _check_whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST:
        raise ValueError(f"{name} must be a whole number from 0 to {LONGEST}, but got {value!r}")


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be finite and above 0, but got {value}")
