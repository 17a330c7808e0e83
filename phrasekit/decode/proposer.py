"""What a proposer is: it grows the tree before the forward and learns from the verdict after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.tree import TokenTree
from phrasekit.trace.records import Iteration, RetrievalRecord


@dataclass(slots=True)
class Draft:
    """What proposers make of one iteration.

    Attributes:
        tree: grown by every proposer in turn.
        context: all committed tokens, prompt included; not to be changed.
        knobs: in force for this iteration.
        reach: rows may be this deep before they leave the model's context; None without a limit.
        inner: iterations of a draft decoder, for the trace.
        window: the lookahead window, for the trace.
        note: a choice worth telling, for the trace.
        weights: parameters of the model that will verify, 1 where nobody says.
        retrieval: a query made, for the trace.
    """

    tree: TokenTree
    context: Sequence[int]
    knobs: Knobs
    reach: int | None = None
    inner: tuple[Iteration, ...] = ()
    window: tuple[tuple[int, ...], ...] = ()
    note: str = ""
    weights: int = 1
    retrieval: RetrievalRecord = field(default_factory=RetrievalRecord)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the model said to a tree.

    Attributes:
        tree: the tree that was verified.
        picks: the model's token after the root and after every node.
        path: accepted nodes.
        emitted: tokens committed, the bonus last unless cut.
        context: all committed tokens, the emitted ones included.
        knobs: in force for this iteration.
        logprobs: of the picks, by the model itself; () where nobody asked.
    """

    tree: TokenTree
    picks: Sequence[int]
    path: Sequence[int]
    emitted: Sequence[int]
    context: Sequence[int]
    knobs: Knobs
    logprobs: Sequence[float] = ()
    accepted: int = field(init=False)

    def __post_init__(self) -> None:
        on_path = set(self.path)
        count = next(
            (i for i, node in enumerate(self.tree.trunk) if node not in on_path), len(self.tree.trunk)
        )
        object.__setattr__(self, "accepted", count)

    def after(self, node: int) -> int:
        """The verdict on what follows `node`."""
        return self.picks[node + 1]


class Proposer:
    """Base of all proposers; by itself it proposes nothing and learns nothing.

    A proposer never touches a cache and never decides acceptance: whatever it does, the output is
    the target's own. It may be wrong, empty-handed or slow.
    """

    def start(self, prompt: Sequence[int], knobs: Knobs) -> None:
        """A new sequence begins."""

    def propose(self, draft: Draft) -> None:
        """Grow `draft.tree`."""

    def learn(self, verdict: Verdict) -> None:
        """See what became of the tree."""
