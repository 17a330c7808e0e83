"""Is decoding exact on this pair, dtype and device? Ladder levels L4 and L5, on real prompts.

Every method's tokens are compared with plain decoding's. Where they differ, the first difference must
be a tie that rounding flips, and so must every later choice: the emitted text is re-scored one token
a forward, and each of its tokens must be within 2e of the best. e is what one-token and block forwards
of the model itself differ by, measured in the same run without any of our code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import torch

from phrasekit.api import generate
from phrasekit.lm import Pair
from phrasekit.lm.control import block_logits, stepwise_logits
from phrasekit.methods import runnable, tuned
from phrasekit.pool import PhrasePool
from phrasekit.propose import Store
from phrasekit.trace.records import SERIAL

ULPS = 8  # e counts up to this many units in the last place at the largest logit


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """One position where a method's choice is not beyond doubt.

    The first one of a run is where its tokens leave plain decoding's; then every later position where
    the emitted token is not the best of its own prefix.

    Attributes:
        method: what ran.
        prompt: index of the prompt.
        position: index in the generated tokens.
        emitted: token id that was emitted.
        other: plain decoding's token at the first difference, later the best one, a token a forward.
        margin: how far the worse of the two is below the best logit there.
        explained: whether rounding explains it: the margin is at most 2e.
    """

    method: str
    prompt: int
    position: int
    emitted: int
    other: int
    margin: float
    explained: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a check found.

    Attributes:
        target: name of the model.
        dtype: its dtype.
        device: where it ran.
        methods: what was compared with plain decoding.
        prompts: prompts used.
        tokens: tokens compared, over all methods.
        identical: runs whose tokens were plain decoding's, of `runs`.
        runs: methods × prompts.
        error: e, the largest logit difference of the trusted control, capped.
        divergences: every place, in order.
    """

    target: str
    dtype: str
    device: str
    methods: tuple[str, ...]
    prompts: int
    tokens: int
    identical: int
    runs: int
    error: float
    divergences: tuple[Divergence, ...]

    @property
    def exact(self) -> bool:
        """Whether every difference is a tie that rounding explains."""
        return all(place.explained for place in self.divergences)

    @property
    def verdict(self) -> str:
        """The result in one line."""
        what = f"{len(self.methods)} methods, {self.prompts} prompts, {self.tokens} tokens in {self.dtype}"
        if self.identical == self.runs:
            return f"exact: {what}, all identical to plain decoding"
        ties = [place for place in self.divergences if place.explained]
        if not self.exact:
            bad = len(self.divergences) - len(ties)
            return (
                f"NOT exact: {what}, {bad} choices that rounding (2e = {2 * self.error:.3g}) does not explain"
            )
        widest = max((place.margin for place in ties), default=0.0)
        return (
            f"exact up to ties: {what}, {self.identical} of {self.runs} runs identical, {len(ties)} flipped "
            f"ties, widest margin {widest:.3g} of at most 2e = {2 * self.error:.3g}"
        )

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON, verdict included."""
        return {**asdict(self), "exact": self.exact, "verdict": self.verdict}


def check(
    pair: Pair,
    prompts: Sequence[str | Sequence[int]],
    *,
    methods: Sequence[str] | None = None,
    max_new_tokens: int = 64,
    changes: Mapping[str, object] | None = None,
    store: Store | None = None,
    schedule: str = SERIAL,
    progress: Callable[[str, int], None] | None = None,
) -> Report:
    """Compare every method with plain greedy decoding on this pair.

    Args:
        pair: models, from `load_pair`.
        prompts: texts or token ids.
        methods: names; None takes all that pair and store can run.
        max_new_tokens: tokens a run.
        changes: of the knobs that each method has on this pair.
        store: texts to retrieve from.
        schedule: when the lanes of a parallel method run.
        progress: called with (method, prompt index) before every run.

    Raises:
        ValueError: no prompt, no method or one that the pair cannot run, a knob outside its bounds.
    """
    if not prompts:
        raise ValueError("a check needs at least one prompt, but got none")
    names = tuple(methods) if methods is not None else _runnable(pair, store)
    if not names:
        raise ValueError("a check needs at least one method, but got none; leave methods out for all")
    knobs = {name: tuned(name, pair, changes or {}) for name in names}
    ids = [pair.encode(prompt) if isinstance(prompt, str) else list(prompt) for prompt in prompts]
    plain = [generate(pair, prompt, method="vanilla", max_new_tokens=max_new_tokens).tokens for prompt in ids]
    error = max(_control(pair, prompt, tokens) for prompt, tokens in zip(ids, plain, strict=True))
    found: list[Divergence] = []
    total = identical = 0
    for name in names:
        pool = PhrasePool()
        for index, (prompt, expected) in enumerate(zip(ids, plain, strict=True)):
            if progress is not None:
                progress(name, index)
            tokens = generate(
                pair,
                prompt,
                method=name,
                knobs=knobs[name],
                max_new_tokens=max_new_tokens,
                pool=pool,
                store=store,
                schedule=schedule,
            ).tokens
            total += len(tokens)
            identical += tokens == expected
            if tokens != expected:
                found += _divergences(pair, prompt, tokens, expected, error=error, method=name, index=index)
    return Report(
        target=pair.target.name,
        dtype=str(pair.target.adapter.dtype).removeprefix("torch."),
        device=str(pair.target.device),
        methods=names,
        prompts=len(ids),
        tokens=total,
        identical=identical,
        runs=len(names) * len(ids),
        error=error,
        divergences=tuple(found),
    )


def _runnable(pair: Pair, store: Store | None) -> tuple[str, ...]:
    return tuple(name for name in runnable(pair, store) if name != "vanilla")


def _control(pair: Pair, prompt: Sequence[int], tokens: Sequence[int]) -> float:
    """The error e of one prompt: one-token against block forwards of the model itself, capped in ulp."""
    steps = stepwise_logits(pair.target, prompt, tokens)
    block = block_logits(pair.target, prompt, tokens)
    ulp = torch.finfo(pair.target.adapter.dtype).eps * float(steps.abs().max())
    return min(max(float((steps - block).abs().max()), ulp / 2), ULPS * ulp)


def _divergences(
    pair: Pair,
    prompt: Sequence[int],
    tokens: Sequence[int],
    expected: Sequence[int],
    *,
    error: float,
    method: str,
    index: int,
) -> list[Divergence]:
    """Where `tokens` leave `expected`, and every later token that is not the best of its prefix."""
    logits = stepwise_logits(pair.target, prompt, tokens)
    tops = logits.argmax(dim=-1).tolist()
    first = next((i for i, (a, b) in enumerate(zip(tokens, expected, strict=False)) if a != b), None)
    places = [] if first is None else [(first, expected[first])]
    later = 0 if first is None else first + 1
    places += [(i, tops[i]) for i in range(later, len(tokens)) if tokens[i] != tops[i]]
    found = []
    for position, other in places:
        row = logits[position]
        margin = float(row.max() - row[[tokens[position], other]].min())
        found.append(
            Divergence(
                method=method,
                prompt=index,
                position=position,
                emitted=tokens[position],
                other=other,
                margin=margin,
                explained=margin <= 2 * error,
            )
        )
    return found
