"""Acceptance in the shape of vLLM's per-request metrics, which other tools read.

vLLM knows sequences, not trees: an iteration's drafted tokens are those of the longest sequence it
proposed (the draft and the longest suffix behind it), the accepted ones those on the walked path.
Iterations that proposed nothing are no steps. The target's own token counts in the mean length only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from phrasekit.trace.export.chain import longest
from phrasekit.trace.records import Trace
from phrasekit.trace.visible import visible

_FINISH = {"length": "length", "context": "length", "eos": "stop", "stop": "stop", "cancelled": "abort"}


def acceptance(trace: Trace) -> dict[str, object]:
    """A response with `metrics.speculative_decoding` filled as at vLLM's level "detailed".

    Args:
        trace: a run; one that proposed nothing has null there, as in vLLM.

    Returns:
        What `json.dumps` takes.
    """
    text = "".join(trace.texts.get(token, f"#{token}") for token in trace.tokens)
    choice = {"index": 0, "text": text, "finish_reason": _FINISH.get(trace.finish_reason)}
    prompt, emitted = len(trace.prompt), len(trace.tokens)
    usage = {"prompt_tokens": prompt, "completion_tokens": emitted, "total_tokens": prompt + emitted}
    pairs = [(longest(iteration.tree), len(iteration.path)) for iteration in trace.iterations]
    return {
        "object": "text_completion",
        "model": visible(trace.method, spaces=False, keep=200),
        "choices": [choice],
        "usage": usage,
        "metrics": {"speculative_decoding": speculative([pair for pair in pairs if pair[0]])},
    }


def speculative(steps: Sequence[tuple[int, int]]) -> dict[str, object] | None:
    """The object itself.

    Args:
        steps: per step, tokens drafted and of them accepted.
    """
    if not steps:
        return None
    most = max(drafted for drafted, _ in steps)
    drafted, accepted = sum(d for d, _ in steps), sum(a for _, a in steps)
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for length, count in steps:
        by_length[length].append(count)
    return {
        "mean_acceptance_length": 1.0 + accepted / len(steps),
        "draft_acceptance_rate": accepted / drafted,
        "acceptance_histogram": _histogram([count for _, count in steps], most),
        "acceptance_histogram_by_draft_length": {
            str(length): _histogram(counts, length) for length, counts in sorted(by_length.items())
        },
        "num_spec_steps": len(steps),
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafted,
        "num_spec_tokens": most,
        "per_step_accepted": [count for _, count in steps],
        "per_step_drafted": [length for length, _ in steps],
    }


def _histogram(counts: Sequence[int], most: int) -> list[int]:
    """Steps that accepted exactly 0, 1, … `most` tokens."""
    return [counts.count(accepted) for accepted in range(most + 1)]
