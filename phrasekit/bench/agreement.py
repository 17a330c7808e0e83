"""How well a draft model suits its target, on the target's own greedy output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from phrasekit.api import generate
from phrasekit.bench.prompts import Task
from phrasekit.lm import LanguageModel, Pair
from phrasekit.methods import tuned
from phrasekit.trace import Metrics, Trace, measure


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """What was found.

    Attributes:
        gamma: draft length.
        prompts: prompts decoded.
        positions: tokens of the target's output.
        agreeing: positions where the draft's argmax, given the same tokens before it, is the target's.
        metrics: of speculative decoding at this γ on the same prompts.
        partial: whether it was interrupted.
    """

    gamma: int
    prompts: int
    positions: int
    agreeing: int
    metrics: Metrics
    partial: bool = False

    @property
    def share(self) -> float | None:
        """Positions where both agree, of all."""
        return self.agreeing / self.positions if self.positions else None

    @property
    def mean_accepted(self) -> float | None:
        """Mean A, the bonus token not counted."""
        return self.metrics.mean_accepted

    @property
    def mean_emitted(self) -> float | None:
        """Mean A and the bonus token."""
        return None if self.mean_accepted is None else 1 + self.mean_accepted

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        derived = {
            "share": self.share,
            "mean_accepted": self.mean_accepted,
            "mean_emitted": self.mean_emitted,
            "metrics": self.metrics.as_dict(),
        }
        return asdict(self) | derived

    def __str__(self) -> str:
        """Three lines."""
        if self.share is None or self.mean_accepted is None:
            return "No prompt was finished."
        cut = " (PARTIAL: interrupted)" if self.partial else ""
        lines = [
            f"{self.prompts} prompts, {self.positions} tokens of the target's own greedy output{cut}",
            f"draft and target argmax agree at {self.share:.3f} of the positions",
            f"mean accepted length at γ = {self.gamma}: {self.mean_accepted:.2f} (A, bonus excluded), ",
        ]
        return "\n".join(lines) + f"{self.mean_emitted:.2f} with the bonus"


def measure_agreement(
    pair: Pair,
    tasks: Sequence[Task],
    *,
    gamma: int = 4,
    max_new_tokens: int = 128,
    progress: Callable[[str], None] = lambda _: None,
) -> Agreement:
    """Decode speculatively, which gives the target's greedy output, and ask the draft about every position.

    Ctrl-C keeps the prompts finished so far.

    Raises:
        ValueError: the pair has no draft model.
    """
    draft, method = pair.draft, "speculative"
    knobs = tuned(method, pair, {"gamma": gamma})  # refuses a pair without a draft
    traces: list[Trace] = []
    positions = agreeing = 0
    partial = False
    try:
        for task in tasks:
            run = generate(pair, task.ids, method=method, knobs=knobs, max_new_tokens=max_new_tokens)
            if draft is not None:
                agreeing += agreeing_positions(draft, task.ids, run.tokens)
            positions += len(run.tokens)
            traces.append(run.trace)
            progress(task.id)
    except KeyboardInterrupt:
        partial = True
    return Agreement(
        gamma=gamma,
        prompts=len(traces),
        positions=positions,
        agreeing=agreeing,
        metrics=measure(*traces),
        partial=partial,
    )


def agreeing_positions(draft: LanguageModel, prompt: Sequence[int], output: Sequence[int]) -> int:
    """Positions of `output` where the draft's argmax, after all true tokens before it, is the token there."""
    session = draft.session(len(prompt) + len(output))
    session.prefill(prompt[:-1])
    logits = session.forward(prompt[-1:], output[:-1], range(-1, len(output) - 2))
    picks = logits.argmax(dim=-1).tolist()
    return sum(pick == token for pick, token in zip(picks, output, strict=True))
