"""Record one run of every method on the embedded pair, as the traces that ship with the package.

    python tools/record_traces.py            # write phrasekit/demo/traces/*.jsonl
    python tools/record_traces.py --check    # write nothing: is what ships what would be recorded?

Every run has the same prompt, so all of them hold the same text. Everything but the times is the same on
every recording, except for ``hybrid``, which chooses its way by measured times and so may go another way to
the same text. Methods take turns for ``--rounds`` rounds after one that warms up, and the fastest run of each
is kept; times are rounded to microseconds. On Linux set the malloc variables named in CONTRIBUTING.md first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

import phrasekit as pk
from phrasekit.demo import TRACES
from phrasekit.lm import Pair
from phrasekit.trace import Iteration, Trace, faults

# Here Ouroboros takes tokens of every origin, and no two likeliest tokens are closer than 0.014 logits.
PROMPT = """\
import unittest

class TestStack(unittest.TestCase):
    def test_push(self):
        stack = Stack()
        stack.push(1)
        self.assertEqual(stack.top(), 1)

"""
TOKENS = 96
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
}
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
    decoding = pk.decoder(pair, PROMPT, method=method, knobs=settled, max_new_tokens=TOKENS)
    trace = [*decoding] and decoding.trace
    return replace(trace, iterations=tuple(timed(one, digits=3) for one in trace.iterations))


def faster(one: Trace, other: Trace) -> Trace:
    """The run that took less time."""
    return min(one, other, key=lambda trace: trace.metrics().total_ms)


def timed(iteration: Iteration, *, digits: int | None) -> Iteration:
    """The iteration with times rounded, or with no times at all."""

    def kept(ms: float) -> float:
        return 0.0 if digits is None else round(ms, digits)

    forward = replace(
        iteration.forward, start_ms=kept(iteration.forward.start_ms), ms=kept(iteration.forward.ms)
    )
    return replace(
        iteration,
        forward=forward,
        phases={name: kept(ms) for name, ms in iteration.phases.items()},
        draft=tuple(timed(inner, digits=digits) for inner in iteration.draft),
    )


def timeless(trace: Trace) -> Trace:
    """The trace without its times: what two recordings have in common."""
    return replace(trace, iterations=tuple(timed(one, digits=None) for one in trace.iterations))


def alike(one: Trace, other: Trace, *, work: bool) -> bool:
    """Whether two recordings tell the same: the same work, or at least the same text."""
    if work:
        return timeless(one) == timeless(other)
    return (one.prompt, one.tokens, one.settings) == (other.prompt, other.tokens, other.settings)


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
