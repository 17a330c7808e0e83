"""A run that goes on while somebody moves its knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from dashboard.jobs.job import Job
from phrasekit import Decoding, Knobs, decoder, methods
from phrasekit.methods import knobs_of, method_of
from phrasekit.pool import PhrasePool
from phrasekit.trace import Iteration, Trace
from phrasekit.trace.records import SERIAL

PLAIN = "vanilla"
SYMBOLS = {
    "gamma": "γ",
    "window": "W",
    "level": "N",
    "guesses": "G",
    "suffixes": "K",
    "beta": "β",
    "lookup": "L",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to decode, and how.

    Attributes:
        prompt: text.
        method: a name of `METHODS`.
        knobs: those that were moved; the others are the pair's tuned ones, or the method's own.
        temperature: 0 is greedy.
        top_p: see `phrasekit.decode.Sampling`.
        seed: of the sampling.
        max_new_tokens: most tokens.
        prompt_tokens: longest prompt.
        pace: iterations a second at most; 0 is as fast as it goes.
        schedule: when draft and target of a parallel method run: "serial" or "threads".
    """

    prompt: str
    method: str = "ouroboros"
    knobs: Mapping[str, int] = field(default_factory=dict)
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    max_new_tokens: int = 160
    prompt_tokens: int = 2_048
    pace: float = 0.0
    schedule: str = SERIAL

    @property
    def text_of(self) -> tuple[object, ...]:
        """Everything that the text depends on, beside the pair."""
        return (self.prompt, self.temperature, self.top_p, self.seed)

    def settled(self, pair: Any) -> Knobs:
        """The knobs of the first iteration."""
        method = method_of(self.method, pair)
        return knobs_of(method, pair, knobs_of(method, pair, None).but(**self.knobs))

    def encode(self, pair: Any) -> list[int]:
        """The prompt's ids.

        Raises:
            ValueError: too many of them, or no tokenizer.
        """
        ids: list[int] = pair.encode(self.prompt)
        if len(ids) > self.prompt_tokens:
            raise ValueError(
                f"a prompt may have at most {self.prompt_tokens} tokens here, but this one has {len(ids)}; "
                "shorten it"
            )
        return ids

    def decoding(
        self, pair: Any, ids: list[int], *, pool: PhrasePool | None = None, made: int = 0
    ) -> Decoding:
        """A run that waits before its first iteration.

        Args:
            pair: models.
            ids: prompt, and what has been made already.
            pool: phrases known so far.
            made: how many of `ids` were made already.
        """
        return decoder(
            pair,
            ids,
            method=self.method,
            knobs=self.settled(pair),
            max_new_tokens=self.max_new_tokens - made,
            pool=pool,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            schedule=self.schedule,
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """A knob that moved.

    Attributes:
        iteration: the first one it held for, from 0.
        text: such as "γ 4 → 6".
    """

    iteration: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """What the next iteration shall take: a method and the knobs that were moved."""

    method: str
    knobs: Mapping[str, int]


@dataclass
class _Told:
    """Texts of token ids, looked up once."""

    tokenizer: Any
    texts: dict[int, str] = field(default_factory=dict)

    def add(self, ids: Iterator[int]) -> None:
        for token in ids:
            if token >= 0 and token not in self.texts:
                self.texts[token] = self.tokenizer.decode([token])


class LiveRun(Job):
    """One prompt, decoded while its knobs move.

    A change of knobs holds from the next iteration on. So does another method: its decoder reads the text so
    far and goes on, with the same draws, as these belong to positions.

    Attributes:
        plan: what it began with.
        pool: its phrases.
        prompt: token ids, once it has begun.
        iterations: so far.
        marks: every knob that moved.
        method: in force.
        knobs: in force; None before the first iteration.
    """

    def __init__(self, plan: Plan, *, owner: str, pool: PhrasePool | None = None) -> None:
        super().__init__(owner)
        self.plan = plan
        self.pool = PhrasePool() if pool is None else pool
        self.prompt: tuple[int, ...] = ()
        self.iterations: list[Iteration] = []
        self.marks: list[Mark] = []
        self.method = plan.method
        self.knobs: Knobs | None = None
        self.finish_reason = ""
        self._settings: dict[str, object] = {}
        self._texts: _Told | None = None
        self._wanted: Change | None = None

    @property
    def wanted(self) -> Change | None:
        """What waits for the next iteration."""
        return self._wanted

    @property
    def texts(self) -> dict[int, str]:
        """What token ids look like."""
        return self._texts.texts if self._texts is not None else {}

    @property
    def tokens(self) -> tuple[int, ...]:
        """Generated so far."""
        return tuple(token for iteration in tuple(self.iterations) for token in iteration.emitted)

    @property
    def trace(self) -> Trace:
        """The run so far, for every view."""
        return Trace(
            method=self.plan.method,
            prompt=self.prompt,
            iterations=tuple(self.iterations),
            finish_reason=self.finish_reason,
            settings=self._settings,
            texts=dict(self.texts),
        )

    def change(self, *, method: str, knobs: Mapping[str, int]) -> None:
        """Take other knobs, or another method, from the next iteration on."""
        self._wanted = Change(method=method, knobs=knobs)
        self.changed()

    def work(self, pair: Any) -> Iterator[None]:
        """One iteration a step."""
        decoding = self._begin(pair)
        try:
            while not decoding.finished and not self.cancelled:
                decoding = self._take_change(pair, decoding)
                began = monotonic()
                self._add(decoding.step())
                self.finish_reason = decoding.finish_reason
                self.due = began + 1 / self.plan.pace if self.plan.pace and not decoding.finished else 0.0
                yield
        finally:
            decoding.cancel()  # a lane in the background ends
            self.finish_reason = self.finish_reason or "cancelled"
            self._wanted = None

    def _begin(self, pair: Any) -> Decoding:
        ids = self.plan.encode(pair)
        self._texts = _Told(pair.tokenizer)
        self._texts.add(iter(ids))
        decoding = self.plan.decoding(pair, ids, pool=self.pool)
        self._settings = dict(decoding.trace.settings)
        self.prompt = tuple(ids)
        self.knobs = decoding.knobs
        return decoding

    def _take_change(self, pair: Any, decoding: Decoding) -> Decoding:
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return decoding
        before, method = decoding.knobs, self.method
        plan = replace(self.plan, method=wanted.method, knobs=wanted.knobs)
        if wanted.method != method:
            decoding.cancel()
            decoding = self._rebuilt(pair, plan)
        else:
            decoding.knobs = plan.settled(pair)
        self.method, self.knobs = wanted.method, decoding.knobs
        moved = [f"{method} → {self.method}"] if method != self.method else list(moves(before, self.knobs))
        if moved:
            self.marks.append(Mark(len(self.iterations), ", ".join(moved)))
        return decoding

    def _rebuilt(self, pair: Any, plan: Plan) -> Decoding:
        """Another method's decoder behind the text so far."""
        made = self.tokens
        return plan.decoding(pair, [*self.prompt, *made], pool=self.pool, made=len(made))

    def _add(self, iteration: Iteration) -> None:
        if self._texts is not None:
            self._texts.add(ids_of(iteration))
        self.iterations.append(replace(iteration, index=len(self.iterations)))
        self.changed()


def moves(before: Knobs, after: Knobs) -> Iterator[str]:
    """Every knob that differs, as "γ 4 → 6"."""
    old, new = before.as_dict(), after.as_dict()
    for name, value in new.items():
        if value != old[name]:
            yield f"{SYMBOLS.get(name, name.replace('_', ' '))} {old[name]} → {value}"


def ids_of(iteration: Iteration) -> Iterator[int]:
    """Every token id that a view of the iteration may show."""
    yield from iteration.emitted
    yield from iteration.tree.tokens
    yield from iteration.picks
    for row in iteration.window:
        yield from row
    for phrase in (*iteration.pool.retrieved, *iteration.pool.inserted):
        yield from phrase.tokens
    for inner in iteration.draft:
        yield from ids_of(inner)


def runnable(pair: Any) -> list[str]:
    """The methods that a pair can run with nothing else; those with a draft too while it is not known."""
    return list(methods.runnable(pair))
