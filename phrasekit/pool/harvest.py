"""What becomes a phrase: pure rules on token lists (Ouroboros section 3.3; decisions P6 and P7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Tokens = tuple[int, ...]


def discarded_runs(draft: Sequence[int], verdicts: Sequence[int], accepted: int) -> list[Tokens]:
    """Right tokens in the discarded tail, behind the correction that stands before them.

    Every maximal run dᵢ = vᵢ of two tokens or more behind position A becomes one phrase, with the
    correcting verdict before the run as its key.

    Args:
        draft: d₁ … d_g.
        verdicts: v₁ … v_g, the target's token at each draft position.
        accepted: A, so that d_{A+1} is the first mistake.
    """
    found: list[Tokens] = []
    start = accepted + 1
    for end in range(accepted + 1, len(draft) + 1):
        if end < len(draft) and draft[end] == verdicts[end]:
            continue
        if end - start >= 2:
            found.append((verdicts[start - 1], *draft[start:end]))
        start = end + 1
    return found


def repaired(key: int, suffix: Sequence[int], verdicts: Sequence[int], *, rule: str) -> Tokens | None:
    """An unused suffix with the target's corrections, or None where nothing was wrong.

    Args:
        key: p₁, the draft's last token.
        suffix: p₂ … p_β.
        verdicts: v₂ … v_β, the target's token at each suffix position.
        rule: "paper" keeps all verdicts; "prefix" stops after the first correction, since what
            follows it was predicted after a wrong token; "off" repairs nothing.
    """
    if rule == "off":
        return None
    wrong = next((i for i, (p, v) in enumerate(zip(suffix, verdicts, strict=True)) if p != v), None)
    if wrong is None:
        return None
    return (key, *verdicts[: wrong + 1]) if rule == "prefix" else (key, *verdicts)


def new_ngrams(context: Sequence[int], before: int, size: int) -> Iterator[Tokens]:
    """n-grams of `size` tokens that end in `context[before:]`."""
    for end in range(max(before, size - 1), len(context)):
        yield tuple(context[end - size + 1 : end + 1])
