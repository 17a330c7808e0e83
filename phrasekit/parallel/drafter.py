"""The draft's lane: so many draft forwards behind tokens that nobody has verified yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from phrasekit.decode.decoder import Decoder
from phrasekit.decode.knobs import Knobs
from phrasekit.trace.records import DRAFT, TARGET, Iteration, LaneRecord


@dataclass(frozen=True, slots=True)
class Drafted:
    """What the draft model wrote in one round.

    Attributes:
        tokens: in order; they follow what it was given.
        kinds: their origins.
        iterations: the draft decoder's.
        lane: when it worked.
    """

    tokens: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    lane: LaneRecord = LaneRecord()  # noqa: RUF009  (frozen)


class Drafter:
    """Runs a draft decoder for γ forwards a round; each may deliver more than one token.

    Args:
        decoder: the draft model's, with whatever proposes for it.
        started: origin of the trace's times.
    """

    def __init__(self, decoder: Decoder, *, started: float) -> None:
        self.decoder = decoder
        self._started = started

    def draft(
        self, context: Sequence[int], knobs: Knobs, *, most: int, stopped: Callable[[], bool]
    ) -> Drafted:
        """Continue `context`.

        Args:
            context: verified tokens and the unverified tail.
            knobs: γ is the number of forwards.
            most: no more tokens than this.
            stopped: asked before every forward; True ends the draft.
        """
        began, decoder = perf_counter(), self.decoder
        tokens: list[int] = []
        kinds: list[str] = []
        iterations: list[Iteration] = []
        if most > 0 and max(context) < decoder.model.vocabulary:  # else the draft has no embedding for it
            decoder.rebase(context)
            decoder.knobs = knobs
            while len(iterations) < knobs.gamma and self._may_go_on(most - len(tokens)) and not stopped():
                iteration = decoder.step(room=most - len(tokens))
                iterations.append(iteration)
                tokens += iteration.emitted
                kinds += [DRAFT if kind == TARGET else kind for kind in iteration.kinds]
        now = perf_counter()
        lane = LaneRecord(1e3 * (began - self._started), 1e3 * (now - began))
        return Drafted(tuple(tokens), tuple(kinds), tuple(iterations), lane)

    def _may_go_on(self, room: int) -> bool:
        return room > 0 and not self.decoder.finish_reason and self.decoder.room > 0
