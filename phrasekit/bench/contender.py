"""Who takes part: something that turns prompt ids into generated ids, and tells afterwards how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from phrasekit.api import Decoding, decoder
from phrasekit.lm import Pair
from phrasekit.methods import method_of, tuned
from phrasekit.pool import PhrasePool
from phrasekit.propose import Store
from phrasekit.trace import Iteration, Trace
from phrasekit.trace.records import SERIAL

OURS = "phrasekit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """What a contender tells about its last generation; asked for when the clock has stopped.

    Attributes:
        steps: tokens emitted by each step, the target's own token included; () where unknown.
        target_forwards: target forwards where hooks cannot see them, else None.
        draft_forwards: draft forwards where hooks cannot see them, else None.
        forward_seconds: time inside forwards where hooks cannot see them, else None.
        trace: the run, for phrasekit's own methods.
    """

    steps: tuple[int, ...] = ()
    target_forwards: int | None = None
    draft_forwards: int | None = None
    forward_seconds: float | None = None
    trace: Trace | None = None


class Contender(Protocol):
    """Generates greedily; the same limits and end tokens hold for all.

    Attributes:
        name: unique in a run.
        family: contenders of one family are one method at several settings.
        origin: the package it comes from.
        settings: how it is called, as plain values.
        hooked: whether forward hooks see its forwards and do not disturb them.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see above, and so on
    @property
    def family(self) -> str: ...  # noqa: D102
    @property
    def origin(self) -> str: ...  # noqa: D102
    @property
    def settings(self) -> Mapping[str, object]: ...  # noqa: D102
    @property
    def hooked(self) -> bool: ...  # noqa: D102

    def renew(self) -> None:
        """Forget what earlier prompts taught: a new repeat begins."""
        ...

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        """Generated ids on the host; this is what is timed."""
        ...

    def account(self) -> Account:
        """About the last `generate`."""
        ...


class OwnMethod:
    """A method of phrasekit through `phrasekit.decoder`, ids in and ids out as for the peers.

    Args:
        pair: models.
        method: name of the method.
        knobs: changes to the pair's tuned knobs.
        max_new_tokens: limit.
        fresh_pool: an empty pool for every prompt instead of one that lives across them.
        store: texts to retrieve from.
        schedule: when the lanes of a parallel method run.
        name: what to call it; None takes the method's name.
    """

    origin = OURS
    hooked = False  # a hook would send the models through transformers; the trace knows it all

    def __init__(
        self,
        pair: Pair,
        method: str,
        *,
        knobs: Mapping[str, object] | None = None,
        max_new_tokens: int = 128,
        fresh_pool: bool = False,
        store: Store | None = None,
        schedule: str = SERIAL,
        name: str | None = None,
    ) -> None:
        chosen = method_of(method, pair)
        self.name = name or method
        self.family = method
        self.knobs = tuned(method, pair, knobs or {})
        self.settings = {"method": method, "knobs": self.knobs.as_dict(), "fresh_pool": fresh_pool}
        if chosen.beside is not None:
            self.settings["schedule"] = schedule
        self._pair = pair
        self._store = store
        self._schedule = schedule
        self._method = method
        self._limit = max_new_tokens
        self._fresh_pool = fresh_pool
        self._pool = PhrasePool()
        self._last: Decoding | None = None

    def renew(self) -> None:
        """See `Contender.renew`."""
        self._pool = PhrasePool()

    def generate(self, prompt: Sequence[int]) -> Sequence[int]:
        """See `Contender.generate`."""
        self._last = decoding = decoder(
            self._pair,
            prompt,
            method=self._method,
            knobs=self.knobs,
            max_new_tokens=self._limit,
            pool=PhrasePool() if self._fresh_pool else self._pool,
            store=self._store,
            schedule=self._schedule,
        )
        for _ in decoding.follow():
            pass
        return decoding.tokens

    def account(self) -> Account:
        """See `Contender.account`."""
        if self._last is None:
            raise RuntimeError("an account needs a generation before it; call generate")
        trace = self._last.trace
        metrics = trace.metrics()
        return Account(
            steps=tuple(len(iteration.emitted) for iteration in trace.iterations),
            target_forwards=metrics.iterations,
            draft_forwards=metrics.draft_forwards,
            forward_seconds=sum(map(_forward_ms, trace.iterations)) / 1e3,
            trace=trace,
        )


def _forward_ms(iteration: Iteration) -> float:
    """Milliseconds in forwards of every model."""
    return iteration.forward.ms + sum(map(_forward_ms, iteration.draft))
