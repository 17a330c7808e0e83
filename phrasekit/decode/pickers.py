"""Which picker for which settings, and for which of the models that decode together."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.decode.picker import GreedyPicker, KeyedPicker, Picker, Processor, Sampling
from phrasekit.decode.rejection_picker import DraftSampler, RejectionPicker


def picker_of(sampling: Sampling, processors: Sequence[Processor] = ()) -> Picker:
    """The picker of a model that decodes alone, or judges fixed proposals only."""
    if sampling.greedy:
        return GreedyPicker(processors)
    if sampling.rule == "rejection":
        return RejectionPicker(sampling, processors)
    return KeyedPicker(sampling, processors)


def pickers_of(
    sampling: Sampling, processors: Sequence[Processor] = (), *, vocabulary: int
) -> tuple[Picker, ...]:
    """The pickers of the target, of its draft, and of whatever drafts for that; the last one goes on.

    One for all where the rule is "match": draft and target then share their noise, which makes them
    agree. The rejection rule needs a draft whose draws are independent of the target's and whose laws
    are known; below it argmax proposals agree more often than unrelated draws would.

    Args:
        sampling: settings of all levels.
        processors: logits processors of all levels.
        vocabulary: the target's.
    """
    if sampling.greedy or sampling.rule == "match":
        return (picker_of(sampling, processors),)
    sampler = DraftSampler(sampling, processors, vocabulary=vocabulary)
    return RejectionPicker(sampling, processors, draft=sampler), sampler, GreedyPicker(processors)
