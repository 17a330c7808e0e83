"""The textbook rejection rule as pickers, for teaching and comparison.

The walk does not change: where the rule keeps a proposed child, the pick is that child, and otherwise
it is a draw from what is left, so "follow the child that equals the pick" still decides. The text is a
valid sample of the target's law, but not the one plain decoding draws with the same seed, and it
depends on method and knobs: which coins are tossed depends on what was proposed.

Which rule accepts more? A draw from q is kept with probability Σ min(p, q), the most any exact rule
can reach; with `KeyedPicker` the same noise at both levels agrees a little less often (see
`phrasekit.decode.rejection.race_agreement`). For fixed proposals (phrases, copies) both rules keep
Σ p(child), and neither can do better.

Every call uses new random numbers. The same ones per position, as `KeyedPicker` has them, would be
wrong here: a pick beyond the accepted path can come back as a phrase, and the coin that made it would
judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasekit.decode.picker import WORD, Processor, Rows, Sampling, best, processed, warp
from phrasekit.decode.proposer import Proposer, Verdict
from phrasekit.decode.rejection import Candidate, settle

COINS, REST, DRAFT = 1, 2, 3  # what random numbers are for
Laws = NDArray[Any]  # [rows, vocabulary]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a draft drew since the target last judged, and from which laws.

    Attributes:
        context: the draft's text.
        candidates: by position, the token there and the law it was drawn from.
    """

    context: Sequence[int] = ()
    candidates: dict[int, Candidate] = field(default_factory=dict)

    def at(self, row: int, rows: Rows) -> Candidate | None:
        """The draw at the prefix of a row, or None."""
        position = rows.positions[row]
        candidate = self.candidates.get(position)
        if candidate is None or rows.prefix(row) != list(self.context[:position]):
            return None
        return candidate


class DraftSampler(Proposer):
    """Picks for a draft model and remembers the law of every token that the draft emitted.

    It is also the last of the draft decoder's proposers: it proposes nothing, and learns from the
    verdict which of its draws were emitted.

    Args:
        sampling: temperature and cut-offs, the target's own.
        processors: as the target's.
        vocabulary: the target's; a token it lacks is never drawn, so that what is dropped never
            depends on what was drawn.
    """

    def __init__(self, sampling: Sampling, processors: Sequence[Processor] = (), *, vocabulary: int) -> None:
        self.sampling = sampling
        self.processors = tuple(processors)
        self.vocabulary = vocabulary
        self._numbers = numbers(sampling.seed, DRAFT)
        self._rows = Rows(positions=(), prefix=lambda _: [])
        self._laws: Laws = np.empty((0, vocabulary))
        self._drawn = Drawn()

    def pick(self, logits: Tensor, rows: Rows) -> Tensor:
        """See `phrasekit.decode.Picker.pick`."""
        laws = laws_of(logits[:, : self.vocabulary], rows, self.processors, self.sampling)
        missing = self.vocabulary - laws.shape[-1]
        self._rows, self._laws = rows, np.pad(laws, ((0, 0), (0, missing)))
        return draws(self._laws, rows, self._numbers).to(logits.device)

    def learn(self, verdict: Verdict) -> None:
        """See `Proposer.learn`."""
        start = len(verdict.context) - len(verdict.emitted)
        found = {at: candidate for at, candidate in self._drawn.candidates.items() if at < start}
        for position, token in enumerate(verdict.emitted, start):
            found[position] = Candidate(token, self._laws[self._row(position, verdict.context[:position])])
        self._drawn = Drawn(verdict.context, found)

    def take(self) -> Drawn:
        """The draws since the last call; they are forgotten here, so that none is judged twice."""
        drawn, self._drawn = self._drawn, Drawn()
        return drawn

    def _row(self, position: int, prefix: Sequence[int]) -> int:
        rows = self._rows
        return next(
            row
            for row, at in enumerate(rows.positions)
            if at == position and rows.prefix(row) == list(prefix)
        )


class RejectionPicker:
    """The target's picks by the rejection rule: a child that was kept, or a draw from what is left.

    The draft's own draw is judged first, against the law it was drawn from; then every other child of
    the node as a fixed proposal. In this order a child that equals the draw needs no second test.

    Args:
        sampling: temperature, cut-offs and seed.
        processors: logits processors.
        draft: what the draft decoder samples with; None where every proposal is fixed.
    """

    def __init__(
        self,
        sampling: Sampling,
        processors: Sequence[Processor] = (),
        *,
        draft: DraftSampler | None = None,
    ) -> None:
        self.sampling = sampling
        self.processors = tuple(processors)
        self.draft = draft
        self._coins = numbers(sampling.seed, COINS)
        self._rest = numbers(sampling.seed, REST)

    def pick(self, logits: Tensor, rows: Rows) -> Tensor:
        """See `phrasekit.decode.Picker.pick`."""
        drawn = self.draft.take() if self.draft else Drawn()
        left = laws_of(logits, rows, self.processors, self.sampling)
        kept: dict[int, int] = {}
        for row in range(len(left)):
            candidates = _candidates(drawn.at(row, rows), rows.children(row))
            coins = self._coins.random(len(candidates)).tolist()
            token, left[row] = settle(left[row], candidates, coins)
            if token is not None:
                kept[row] = token
        picks = draws(left, rows, self._rest)
        for row, token in kept.items():
            picks[row] = token
        return picks.to(logits.device)


def numbers(seed: int, purpose: int) -> np.random.Generator:
    """A stream for this purpose; Philox takes both as its key, so that no two streams meet."""
    key = np.array([seed & WORD, purpose], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def laws_of(logits: Tensor, rows: Rows, processors: Sequence[Processor], sampling: Sampling) -> Laws:
    """Probabilities `[rows, vocabulary]` after processors, temperature and cut-offs, on the host."""
    scores = warp(processed(logits, rows, processors), sampling)
    if scores.device.type == "mps":  # has no double precision
        scores = scores.cpu()
    return scores.double().softmax(-1).cpu().numpy()


def draws(laws: Laws, rows: Rows, stream: np.random.Generator) -> Tensor:
    """One token per row, by exponential race; rows at the same position share their noise."""
    place = {position: index for index, position in enumerate(dict.fromkeys(rows.positions))}
    race = np.maximum(stream.standard_exponential((len(place), laws.shape[-1])), 1e-300)
    noise = torch.from_numpy(race[[place[position] for position in rows.positions]]).log()
    return best(torch.from_numpy(laws).log() - noise)


def _candidates(drawn: Candidate | None, children: Sequence[int]) -> list[Candidate]:
    if drawn is None:
        return [Candidate(token) for token in children]
    return [drawn, *(Candidate(token) for token in children if token != drawn.token)]
