"""One answer in Spec-Bench's file format, a line of the file its `speed.py` and `equal.py` read."""

from __future__ import annotations

import hashlib

from phrasekit.trace.records import Trace


def spec_bench(trace: Trace, *, question_id: int = 1, category: str = "phrasekit") -> dict[str, object]:
    """The run as one answer with one turn.

    Spec-Bench counts an iteration's tokens with the target's own one, and times whole answers with the
    prompt's forward.

    Args:
        trace: a run.
        question_id: number of the question in Spec-Bench's list.
        category: of the question; `speed.py` reports by it.

    Returns:
        What `json.dumps` takes; lines of several runs make a file.
    """
    text = "".join(trace.texts.get(token, f"#{token}") for token in trace.tokens)
    choice = {
        "index": 0,
        "turns": [text],
        "decoding_steps": [len(trace.iterations)],
        "new_tokens": [len(trace.tokens)],
        "wall_time": [sum(iteration.ms for iteration in trace.iterations) / 1000.0],
        "accept_lengths": [len(iteration.emitted) for iteration in trace.iterations],
    }
    return {
        "question_id": question_id,
        "category": category,
        "answer_id": _fingerprint(trace),
        "model_id": trace.method,
        "choices": [choice],
        "tstamp": 0.0,  # a trace does not know when it was made
    }


def _fingerprint(trace: Trace) -> str:
    """An id that the same run always gets."""
    told = repr((trace.method, trace.prompt, trace.tokens))
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:22]
