"""Two runs of one prompt side by side: is the text the same, who needed how many forwards, and how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from phrasekit.trace.metrics import Metrics, measure
from phrasekit.trace.records import Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import visible
from phrasekit.views.table import Cell, Table
from phrasekit.views.tokens import Token, compact, emitted_tokens

NAME = 40  # columns of a name


@dataclass(frozen=True, slots=True)
class Side:
    """One of the runs.

    Attributes:
        name: what to call it.
        tokens: what it wrote.
        ends: tokens written after each iteration: where it cut the text.
        clock: milliseconds passed after each iteration.
        metrics: its numbers.
    """

    name: str
    tokens: tuple[Token, ...]
    ends: tuple[int, ...]
    clock: tuple[float, ...]
    metrics: Metrics

    @property
    def ms(self) -> float:
        """Time of all iterations."""
        return self.clock[-1] if self.clock else 0.0


@dataclass(frozen=True, slots=True)
class ComparisonInfo:
    """Two runs against each other.

    Attributes:
        left: the first run.
        right: the second run.
        prompt: whether both had the same prompt.
        same: equal tokens from the start on.
    """

    left: Side
    right: Side
    prompt: bool
    same: int

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both runs."""
        return self.left, self.right

    @property
    def identical(self) -> bool:
        """Whether neither run wrote a token that the other would not have written there."""
        return self.prompt and self.same == min(len(side.tokens) for side in self.sides)

    def cuts(self, side: Side) -> tuple[int, ...]:
        """Places where this run ended an iteration and the other did not."""
        other = self.right if side is self.left else self.left
        return tuple(end for end in side.ends[:-1] if end not in other.ends)

    @property
    def verdict(self) -> str:
        """Whether the text is the same, in words."""
        if not self.prompt:
            return "The two runs had different prompts"
        lengths = [len(side.tokens) for side in self.sides]
        if not self.identical:
            left, right = (_text(side, self.same) for side in self.sides)
            return f"Output differs at token {self.same + 1}: «{left}» against «{right}»"
        if lengths[0] == lengths[1]:
            return f"✓ same text: {counted(self.same, 'token')}"
        longer = self.left if lengths[0] > lengths[1] else self.right
        return f"✓ same text: the first {counted(self.same, 'token')}; {longer.name} goes on"

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        left, right = self.sides
        rates = [f"{side.metrics.block_efficiency or 0:.2f}" for side in self.sides]
        told = (
            f"{self.verdict}. {left.name} wrote {rates[0]} tokens a target forward, {right.name} {rates[1]}"
        )
        if not (left.ms and right.ms and self.prompt):
            return f"{told}."
        ratio = (left.ms / max(1, len(left.tokens))) / (right.ms / max(1, len(right.tokens)))
        faster, by = (right, ratio) if ratio >= 1 else (left, 1 / ratio)
        times = f"{_each(left):.1f} ms against {_each(right):.1f} ms"
        return f"{told}; a token took {times}, so {faster.name} is {by:.2f}× as fast."

    def table(self) -> Table:
        """A row per number."""
        return Table(("", self.left.name, self.right.name), tuple(_numbers(self)))

    def text(self) -> str:
        """Both texts cut into iterations, then the numbers."""
        texts = [f"{side.name}: {_cut_text(side)}" for side in self.sides]
        return "\n".join((self.sentence, *texts, self.table().text()))


def comparison_info(left: Trace, right: Trace, *, names: tuple[str, str] | None = None) -> ComparisonInfo:
    """Hold two runs of one prompt against each other.

    Args:
        left: a run; plain decoding, as a rule.
        right: another run.
        names: what to call them; their methods, if nothing is said.
    """
    called = names or (left.method, right.method)
    if names is None and left.method == right.method:
        called = (f"{left.method} 1", f"{right.method} 2")
    pairs = zip(left.tokens, right.tokens, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), None)
    shorter = min(len(left.tokens), len(right.tokens))
    return ComparisonInfo(
        left=_side(left, called[0]),
        right=_side(right, called[1]),
        prompt=left.prompt == right.prompt,
        same=shorter if same is None else same,
    )


def _side(trace: Trace, name: str) -> Side:
    return Side(
        name=visible(name, spaces=False, keep=NAME),
        tokens=tuple(token for one in trace.iterations for token in emitted_tokens(one, trace.texts)),
        ends=tuple(accumulate(len(one.emitted) for one in trace.iterations)),
        clock=tuple(accumulate(one.ms for one in trace.iterations)),
        metrics=measure(trace),
    )


def _text(side: Side, place: int) -> str:
    return compact(side.tokens[place].text) if place < len(side.tokens) else ""


def _each(side: Side) -> float:
    return side.ms / max(1, len(side.tokens))


def _cut_text(side: Side) -> str:
    """The text with a bar at the end of every iteration."""
    pieces, start = [], 0
    for end in side.ends:
        pieces.append("".join(visible(token.text, keep=24, reserved="|") for token in side.tokens[start:end]))
        start = end
    return "|".join(pieces)


def _numbers(info: ComparisonInfo) -> Iterator[tuple[Cell, ...]]:
    metrics = [side.metrics for side in info.sides]
    yield ("tokens", *(one.emitted for one in metrics))
    yield ("target forwards", *(one.iterations for one in metrics))
    yield ("tokens per target forward", *(one.block_efficiency for one in metrics))
    yield ("draft forwards", *(one.draft_forwards for one in metrics))
    yield ("tokens per draft forward (c)", *(one.tokens_per_draft_forward for one in metrics))
    yield ("mean kept (A)", *(one.mean_accepted for one in metrics))
    yield ("pool hit rate", *(one.hit_rate for one in metrics))
    yield ("ms, prompt included", *(side.ms for side in info.sides))
    yield ("ms a token", *(_each(side) for side in info.sides))
    yield ("ms in target forwards", *(one.target_ms for one in metrics))
    yield ("ms in draft forwards", *(one.draft_ms for one in metrics))
    yield ("iterations that end where the other goes on", *(len(info.cuts(side)) for side in info.sides))
