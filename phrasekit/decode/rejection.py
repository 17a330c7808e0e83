"""The textbook rule: keep a draw from q with probability min(1, p/q), else draw from what q left over.

Leviathan et al. (arXiv 2211.17192, Algorithm 1) and Chen et al. (arXiv 2302.01318, Algorithm 2) for one
candidate; siblings are tested in turn, each against what the ones before left over (SpecInfer, arXiv
2305.09781, section 4.3). The emitted token follows p whatever q is, provided that q is the law the
candidate was really drawn from.

A law is a one-dimensional array of probabilities over the vocabulary: torch, numpy, or numpy of
fractions. So the same functions draw tokens (`settle`) and add up every outcome exactly (`emission`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Law = Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed token and the law it was drawn from.

    Attributes:
        token: the proposal.
        law: what it was drawn from, after temperature and cut-offs. None where it was not drawn: a
            phrase, a copy, an argmax, one of the top k. Its law is then a point mass, and the rule is
            "accept with probability p(token), else remove it from p".
    """

    token: int
    law: Law | None = None


def acceptance(law: Law, candidate: Candidate) -> Any:
    """The probability min(1, p/q) of keeping the candidate.

    Args:
        law: p, or what earlier siblings left of it.
        candidate: the proposal.

    Raises:
        ValueError: the candidate cannot have been drawn from its law.
    """
    if candidate.law is None:
        return law[candidate.token]
    drawn = candidate.law[candidate.token]
    if drawn == 0:
        raise ValueError(
            f"a candidate must be possible under the law it was drawn from, but token {candidate.token} "
            "has probability 0 there; give the law after temperature and cut-offs, None for a fixed proposal"
        )
    return min(law[candidate.token] / drawn, 1)  # in this order NaN stays NaN, and nothing is kept with it


def residual(law: Law, candidate: Candidate) -> Law:
    """What is left of p once the candidate was turned down: (p − q)⁺, normalised.

    Where nothing is left, p and q are equal up to rounding; a candidate is then turned down by rounding
    alone, and p itself is as good.
    """
    left = (law - _source(candidate, law)).clip(min=0)
    total = left.sum()
    return left / total if total > 0 else law


def settle(law: Law, candidates: Iterable[Candidate], coins: Iterable[Any]) -> tuple[int | None, Law]:
    """Test candidates in turn until one is kept.

    Args:
        law: p.
        candidates: siblings in order; drawn ones need the law of their own draw (see `siblings`).
        coins: one uniform number from [0, 1) per candidate, independent of everything the candidates
            came from.

    Returns:
        The token kept, or None; and the law to draw the token from where none was.
    """
    for candidate, coin in zip(candidates, coins, strict=True):
        # `<`, never `<=`: a coin can be exactly 0, and then p = 0 would be kept (sglang#35771)
        if coin < acceptance(law, candidate):
            return candidate.token, law
        law = residual(law, candidate)
    return None, law


def emission(law: Law, candidates: Iterable[Candidate]) -> Law:
    """The law of the emitted token, given the candidates: `settle` over all coins, and the last draw.

    For fixed candidates this is p. For drawn ones it is p on average over their draws.
    """
    emitted, reached = law * 0, 1
    for candidate in candidates:
        kept = acceptance(law, candidate)
        emitted[candidate.token] += reached * kept
        law, reached = residual(law, candidate), reached * (1 - kept)
    return emitted + reached * law


def siblings(draft: Law, tokens: Sequence[int], *, replacement: bool) -> list[Candidate]:
    """Candidates drawn one after another from the same law at one node.

    Args:
        draft: q.
        tokens: the draws, in order.
        replacement: whether a token could be drawn again. If not, the i-th draw came from q without the
            earlier draws, renormalised, and that law belongs in both ratio and residual (EAGLE#74).

    Raises:
        ValueError: the same token twice without replacement.
    """
    if not replacement and len(set(tokens)) < len(tokens):
        raise ValueError(
            f"draws without replacement must differ, but got {list(tokens)}; say replacement=True for "
            "independent draws"
        )
    found = []
    for token in tokens:
        found.append(Candidate(token, draft))
        if not replacement:
            draft = residual(draft, Candidate(token))
    return found


def agreement(target: Law, draft: Law) -> Any:
    """Σ min(p, q) = 1 − TV: how often the rejection rule keeps a draw; no exact rule keeps more."""
    return (target + draft - abs(target - draft)).sum() / 2


def chance_agreement(target: Law, draft: Law) -> Any:
    """Σ p·q: how often two independent draws are the same token (rule A with unrelated noise)."""
    return (target * draft).sum()


def race_agreement(target: Law, draft: Law) -> Any:
    """How often draws by the same exponential race are the same token, as `KeyedPicker`'s are.

    Token i wins both races with probability 1 / Σⱼ max(pⱼ/pᵢ, qⱼ/qᵢ). The sum lies between
    (1 − TV) / (1 + TV) and 1 − TV (Daliri, Musco, Suresh, arXiv 2408.07978).
    """
    shared = [i for i in range(len(target)) if target[i] > 0 and draft[i] > 0]
    return sum(1 / _larger(target / target[i], draft / draft[i]).sum() for i in shared)


def _larger(left: Law, right: Law) -> Law:
    return (left + right + abs(left - right)) / 2


def _source(candidate: Candidate, like: Law) -> Law:
    if candidate.law is not None:
        return candidate.law
    point = like * 0
    point[candidate.token] = 1
    return point
