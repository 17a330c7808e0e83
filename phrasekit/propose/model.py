"""Draft with a model: the same loop one level down (Ouroboros section 3.1)."""

from __future__ import annotations

from phrasekit.decode.decoder import Decoder
from phrasekit.decode.proposer import Draft, Proposer
from phrasekit.trace.records import DRAFT, TARGET, Iteration


class ModelProposer(Proposer):
    """Runs a draft decoder until γ tokens are drafted; they become the tree's trunk.

    The draft decoder's cache follows the target: what was accepted stays, the rest is forgotten.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder

    def propose(self, draft: Draft) -> None:
        """See `Proposer.propose`."""
        decoder, tree, knobs = self.decoder, draft.tree, draft.knobs
        goal = min(knobs.gamma, tree.limit)
        if goal < 1:
            return
        if decoder.model.vocabulary < tree.vocabulary and max(draft.context) >= decoder.model.vocabulary:
            return  # the draft has no embedding for a token of the text
        decoder.rebase(draft.context)
        decoder.knobs = knobs
        # what the last draft forward delivers beyond γ is already paid for
        most = goal if knobs.cut_to_gamma else tree.limit
        inner: list[Iteration] = []
        while len(tree.trunk) < goal and not decoder.finish_reason and decoder.room > 0:
            iteration = decoder.step(room=most - len(tree.trunk))
            inner.append(iteration)
            length = len(tree.trunk) + len(iteration.emitted)
            tree.extend_trunk(iteration.emitted, _kinds(iteration), _phrases(iteration))
            if len(tree.trunk) < length:
                break  # the target cannot emit what the draft says: nothing may follow the gap
        draft.inner = tuple(inner)


def _kinds(iteration: Iteration) -> list[str]:
    return [DRAFT if kind == TARGET else kind for kind in iteration.kinds]


def _phrases(iteration: Iteration) -> list[int]:
    found = [iteration.tree.phrases[node] for node in iteration.path]
    return [*found, -1][: len(iteration.emitted)]
