"""Record one run of every method on the embedded pair, as the traces that ship with the package.

    python tools/record_traces.py            # write phrasekit/demo/traces/*.jsonl
    python tools/record_traces.py --check    # write nothing: is what ships what would be recorded?

Every run has the same prompt, so all of them hold the same text. Everything but the times is the same on
every recording, except for ``hybrid``, which chooses its way by measured times and so may go another way to
the same text. Methods take turns for ``--rounds`` rounds after one that warms up, and the fastest run of each
is kept; times are rounded to microseconds, log-probabilities to three digits. ``pearl`` and ``double`` run on
two threads, so they want two cores for themselves. On Linux set the malloc variables named in CONTRIBUTING.md
first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import TypeVar

import torch

import phrasekit as pk
from phrasekit.demo import TRACES
from phrasekit.lm import Pair
from phrasekit.trace import Iteration, Trace, faults
from phrasekit.trace.records import THREADS, ForwardRecord, LaneRecord

# Here Ouroboros and DOUBLE take tokens of every origin, and no two likeliest tokens are closer than 0.014
# logits.
PROMPT = """\
import unittest

class TestStack(unittest.TestCase):
    def test_push(self):
        stack = Stack()
        stack.push(1)
        self.assertEqual(stack.top(), 1)

"""
TOKENS = 64  # the most that keeps all runs within BYTES, in steps of 8
BYTES = 1_000_000  # all of them together

# name → method, knobs that differ from its defaults
RUNS = {
    "vanilla": ("vanilla", {}),
    "speculative": ("speculative", {}),
    "prompt_lookup": ("prompt_lookup", {}),
    "lookahead": ("lookahead", {}),
    "cascade": ("cascade", {}),
    "ouroboros": ("ouroboros", {"window": 0}),
    "ouroboros_window": ("ouroboros", {"window": 5}),
    "hybrid": ("hybrid", {}),
    "pearl": ("pearl", {}),
    "double": ("double", {}),
}
Span = TypeVar("Span", ForwardRecord, LaneRecord)
BY_TIME = ("hybrid",)  # measured times decide what these try


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, times left out; write nothing")
    parser.add_argument("--out", type=Path, default=TRACES)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    pair = pk.load_pair()
    traces = {name: record(pair, name) for name in RUNS}
    for _ in range(0 if asked.check else asked.rounds):
        traces = {name: faster(record(pair, name), traces[name]) for name in RUNS}
    wrong = [*unsound(traces), *(stale(traces, asked.out) if asked.check else ())]
    if not wrong and not asked.check:
        wrong = list(write(traces, asked.out))
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return bool(wrong)


def record(pair: Pair, name: str) -> Trace:
    """One run, times rounded."""
    method, knobs = RUNS[name]
    settled = pk.METHODS[method].knobs.but(**knobs)  # not the pair's tuned ones, which come and go
    decoding = pk.decoder(
        pair,
        PROMPT,
        method=method,
        knobs=settled,
        max_new_tokens=TOKENS,
        schedule=THREADS,  # of pearl and double; no other method has one
        probabilities=True,
    )
    trace = [*decoding] and decoding.trace
    return replace(trace, iterations=tuple(rounded(one) for one in trace.iterations))


def faster(one: Trace, other: Trace) -> Trace:
    """The run that took less time."""
    return min(one, other, key=lambda trace: trace.metrics().total_ms)


def rounded(iteration: Iteration) -> Iteration:
    """The iteration with as many digits as anyone will look at."""
    odds = tuple(round(one, 3) for one in iteration.logprobs)
    return replace(timed(iteration, digits=3), logprobs=odds)


def timed(iteration: Iteration, *, digits: int | None) -> Iteration:
    """The iteration with times rounded, or with no times at all."""

    def kept(ms: float) -> float:
        return 0.0 if digits is None else round(ms, digits)

    def clocked(span: Span) -> Span:
        return replace(span, start_ms=kept(span.start_ms), ms=kept(span.ms))

    lanes = iteration.round
    return replace(
        iteration,
        forward=clocked(iteration.forward),
        phases={name: kept(ms) for name, ms in iteration.phases.items()},
        draft=tuple(timed(inner, digits=digits) for inner in iteration.draft),
        retrieval=replace(iteration.retrieval, ms=kept(iteration.retrieval.ms)),
        round=replace(lanes, target=clocked(lanes.target), draft=clocked(lanes.draft)),
    )


def timeless(trace: Trace) -> Trace:
    """The trace without its times and probabilities: what two recordings have in common to the digit."""
    bare = (replace(timed(one, digits=None), logprobs=()) for one in trace.iterations)
    return replace(trace, iterations=tuple(bare))


def alike(one: Trace, other: Trace, *, work: bool) -> bool:
    """Whether two recordings tell the same: the same work, or at least the same text, as likely."""
    if not all(map(near, odds(one), odds(other))) or len(odds(one)) != len(odds(other)):
        return False
    if work:
        return timeless(one) == timeless(other)
    return (one.prompt, one.tokens, one.settings) == (other.prompt, other.tokens, other.settings)


def odds(trace: Trace) -> list[float]:
    """Log-probability of every token that has one."""
    return [value for one in trace.iterations for value in one.logprobs]


def near(one: float, other: float) -> bool:
    """Whether two log-probabilities differ by no more than other hardware would make them."""
    return isclose(one, other, abs_tol=0.01)


def unsound(traces: dict[str, Trace]) -> Iterator[str]:
    """Every trace that breaks a rule, or has another text than plain decoding."""
    for name, trace in traces.items():
        yield from (f"{name}: {fault}" for fault in faults(trace))
        if trace.tokens != traces["vanilla"].tokens:
            yield f"{name}: its text is not that of plain decoding"


def stale(traces: dict[str, Trace], folder: Path) -> Iterator[str]:
    """Every shipped trace that is no longer what would be recorded."""
    for name, trace in traces.items():
        path = folder / f"{name}.jsonl"
        if not path.is_file() or not alike(pk.load_trace(path), trace, work=name not in BY_TIME):
            yield f"{name}: record again, what ships is not what this version does"
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in traces:
            yield f"{path.stem}: ships, but is not recorded here"


def write(traces: dict[str, Trace], folder: Path) -> Iterator[str]:
    """Write them all; says where there are too many bytes of them."""
    folder.mkdir(exist_ok=True)
    for name, trace in traces.items():
        pk.save_trace(trace, folder / f"{name}.jsonl")
    size = sum((folder / f"{name}.jsonl").stat().st_size for name in traces)
    sys.stdout.write(f"{len(traces)} traces, {size / 1e3:.0f} kB, in {folder}\n")
    if size >= BYTES:
        yield f"the traces must stay below {BYTES} bytes, but take {size}"


if __name__ == "__main__":
    sys.exit(main())
