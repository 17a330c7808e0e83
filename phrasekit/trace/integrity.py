"""What must hold in every trace, told as the list of rules that do not.

Readers of a trace index tokens by node and nodes by path without looking twice. These rules are
what lets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from phrasekit.trace.records import (
    FINISH_REASONS,
    KINDS,
    SCHEDULES,
    SOURCES,
    Iteration,
    PoolRecord,
    RetrievalRecord,
    RoundRecord,
    Trace,
    TreeRecord,
)


def faults(trace: Trace) -> Iterator[str]:
    """Name every rule the trace breaks; a sound trace yields nothing."""
    replay = Replay(trace.prompt)
    for number, iteration in enumerate(trace.iterations):
        yield from (f"iterations[{number}].{fault}" for fault in replay.faults(iteration))
        replay.advance(iteration)
    yield from finish_faults(trace.finish_reason)


def finish_faults(finish_reason: str) -> Iterator[str]:
    """Check a finish reason."""
    if finish_reason not in FINISH_REASONS:
        yield f"finish_reason must be one of {FINISH_REASONS}, found {finish_reason!r}"


class Replay:
    """Follows a run and checks that every iteration starts where the one before ended.

    Attributes:
        index: iterations behind it.
    """

    def __init__(self, prompt: Sequence[int]) -> None:
        """Start after the prompt."""
        self.index = 0
        self._position = len(prompt)
        self._root = prompt[-1] if prompt else None

    def faults(self, iteration: Iteration) -> Iterator[str]:
        """Name every rule the next iteration breaks."""
        yield from _equals("index", iteration.index, self.index)
        yield from _equals("position", iteration.position, self._position)
        yield from _equals("root", iteration.root, self._root)
        yield from iteration_faults(iteration)

    def advance(self, iteration: Iteration) -> None:
        """Move behind an iteration."""
        self.index += 1
        self._position += len(iteration.emitted)
        self._root = iteration.emitted[-1] if iteration.emitted else self._root


def iteration_faults(iteration: Iteration) -> Iterator[str]:
    """Name every rule one iteration breaks by itself, its inner iterations included."""
    tree = iteration.tree
    yield from _tree_faults(tree)
    yield from _length("picks", iteration.picks, len(tree.tokens) + 1)
    yield from (f"path: {fault}" for fault in _chain_faults(iteration.path, tree, start=-1))
    yield from _at_least("emitted", iteration.emitted, 0)
    yield from _length("kinds", iteration.kinds, len(iteration.emitted))
    yield from _known_kinds("kinds", iteration.kinds)
    yield from _at_least("index, position, root", (iteration.index, iteration.position, iteration.root), 0)
    yield from _emission_faults(iteration)
    yield from (f"pool.{fault}" for fault in _pool_faults(iteration.pool))
    forward = iteration.forward
    yield from _at_least("forward", (forward.rows, forward.picked, forward.cached, forward.ms), 0)
    if forward.picked > forward.rows:
        yield f"forward.picked must not exceed its {forward.rows} rows, found {forward.picked}"
    if iteration.logprobs:
        yield from _length("logprobs", iteration.logprobs, len(iteration.emitted))
        yield from _at_least("logprobs, negated,", (-one for one in iteration.logprobs), 0)
    yield from (f"retrieval.{fault}" for fault in _retrieval_faults(iteration.retrieval))
    yield from (f"round.{fault}" for fault in _round_faults(iteration.round))
    for number, inner in enumerate(iteration.draft):
        yield from (f"draft[{number}].{fault}" for fault in iteration_faults(inner))


def _tree_faults(tree: TreeRecord) -> Iterator[str]:
    size = len(tree.tokens)
    for name in ("parents", "kinds", "phrases"):
        yield from _length(f"tree.{name}", getattr(tree, name), size)
    yield from _at_least("tree.tokens", tree.tokens, 0)
    yield from _at_least("tree.phrases", tree.phrases, -1)
    yield from _at_least("tree.dropped", (tree.dropped,), 0)
    yield from _known_kinds("tree.kinds", tree.kinds)
    for node, parent in enumerate(tree.parents):
        if not -1 <= parent < node:
            yield f"tree.parents[{node}] must be from -1 to {node - 1}, found {parent}"
    yield from (f"tree.trunk: {fault}" for fault in _chain_faults(tree.trunk, tree, start=-1))
    for number, branch in enumerate(tree.branches):
        yield from (f"tree.branches[{number}]: {fault}" for fault in _chain_faults(branch.nodes, tree))
        yield from _known_kinds(f"tree.branches[{number}].kind", (branch.kind,))


def _chain_faults(nodes: Sequence[int], tree: TreeRecord, start: int | None = None) -> Iterator[str]:
    """Every node must be in range and the child of the one before, the first that of `start`."""
    before = start
    for node in nodes:
        if not 0 <= node < len(tree.parents):
            yield f"node must be from 0 to {len(tree.parents) - 1}, found {node}"
            return
        if before is not None and tree.parents[node] != before:
            yield f"node {node} must be a child of {before}, found a child of {tree.parents[node]}"
        before = node


def _emission_faults(iteration: Iteration) -> Iterator[str]:
    """What is emitted must begin the accepted tokens and the pick after them."""
    tree, path = iteration.tree, iteration.path
    last = path[-1] if path else -1
    if not (all(0 <= node < len(tree.tokens) for node in path) and last + 1 < len(iteration.picks)):
        return
    walked = (*(tree.tokens[node] for node in path), iteration.picks[last + 1])
    if iteration.emitted != walked[: len(iteration.emitted)]:
        yield f"emitted must begin {_brief(walked)}, found {_brief(iteration.emitted)}"


def _pool_faults(pool: PoolRecord) -> Iterator[str]:
    yield from _at_least("lookups, hits, size", (pool.lookups, pool.hits, pool.size), 0)
    if pool.hits > pool.lookups:
        yield f"hits must not exceed the {pool.lookups} lookups, found {pool.hits}"
    for name, phrases in (("retrieved", pool.retrieved), ("inserted", pool.inserted)):
        for phrase in phrases:
            if not phrase.tokens:
                yield f"{name}: phrase {phrase.id} must have a key token, found none"
            yield from _at_least(f"{name}: tokens of phrase {phrase.id}", phrase.tokens, 0)


def _retrieval_faults(query: RetrievalRecord) -> Iterator[str]:
    yield from _at_least("asked, matched, offered", (query.asked, query.matched, query.offered, query.ms), 0)
    if query.source not in SOURCES:
        yield f"source must be among {SOURCES}, found {query.source[:40]!r}"


def _round_faults(beside: RoundRecord) -> Iterator[str]:
    yield from _at_least("drafted", beside.drafted, 0)
    yield from _length("kinds", beside.kinds, len(beside.drafted))
    yield from _known_kinds("kinds", beside.kinds)
    yield from _at_least("lanes", (beside.target.ms, beside.draft.ms), 0)
    if not 0 <= beside.kept <= len(beside.drafted):
        yield f"kept must be from 0 to {len(beside.drafted)}, found {beside.kept}"
    if beside.schedule not in SCHEDULES:
        yield f"schedule must be among {SCHEDULES}, found {beside.schedule[:40]!r}"


def _equals(name: str, found: int, due: int | None) -> Iterator[str]:
    if found != due:
        yield f"{name} must be {due} by what was committed before, found {found}"


def _length(name: str, values: Sequence[object], due: int) -> Iterator[str]:
    if len(values) != due:
        yield f"{name} must have {due} entries, found {len(values)}"


def _at_least(name: str, values: Iterable[float], least: int) -> Iterator[str]:
    lowest = min(values, default=least)
    if lowest < least:
        yield f"{name} must be {least} or more, found {lowest}"


def _known_kinds(name: str, kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        if kind not in KINDS:
            yield f"{name} must be among {KINDS}, found {kind[:40]!r}"
            return


def _brief(tokens: Sequence[int]) -> str:
    return f"{tokens[:12]}{'…' if len(tokens) > 12 else ''}"
