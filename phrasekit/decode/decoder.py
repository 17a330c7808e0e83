"""The one loop: propose → forward → walk → commit → learn.

Every method is this loop with other proposers; a draft model is the same loop one level down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Protocol

import torch
from torch import Tensor

from phrasekit.decode.knobs import Knobs
from phrasekit.decode.picker import GreedyPicker, Picker, Rows, with_logprobs
from phrasekit.decode.prefix import common_prefix
from phrasekit.decode.proposer import Draft, Proposer, Verdict
from phrasekit.decode.stopping import Limits, StopText, cut
from phrasekit.decode.tree import TokenTree
from phrasekit.decode.walk import walk
from phrasekit.errors import NonFiniteLogitsError
from phrasekit.lm.model import PREFILL_ROWS, LanguageModel
from phrasekit.trace.records import TARGET, ForwardRecord, Iteration, PoolRecord

SPARE_ROWS = 128  # cache rows beyond prompt and limit, for trees
RESERVED_ROWS = 4096  # reserved for new tokens at most; a longer text makes the cache grow


class Journal(Protocol):
    """Keeps what a phrase pool did since the last call."""

    def drain(self) -> PoolRecord:
        """Hand the activity over and start anew."""
        ...


class Watcher(StopText, Protocol):
    """A `StopText` that can be tried out on tokens before they are committed."""

    def fork(self) -> Watcher:
        """An independent copy."""
        ...


class Decoder:
    """Decodes one sequence with one model, one iteration at a time.

    Attributes:
        model: verifies; its picks are the output.
        knobs: may be replaced between iterations.
        context: committed tokens, prompt included.
        finish_reason: why the run ended, "" while it goes on.

    Args:
        model: see above.
        prompt: token ids, one at least.
        proposers: grow the tree, in this order.
        picker: chooses the model's own tokens; greedy by default.
        limits: where the text ends.
        knobs: of the first iteration.
        journal: tells the trace what the phrase pool did.
        text: watches for stop strings.
        started: origin of the trace's times, by `perf_counter`; decoders that work together share one.
        probabilities: records say how likely every emitted token was; a small cost per forward.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: Sequence[int],
        *,
        proposers: Sequence[Proposer] = (),
        picker: Picker | None = None,
        limits: Limits | None = None,
        knobs: Knobs | None = None,
        journal: Journal | None = None,
        text: Watcher | None = None,
        started: float | None = None,
        probabilities: bool = False,
    ) -> None:
        self.model = model
        self.limits = limits or Limits()
        _check_prompt(prompt, model)
        self.proposers = tuple(proposers)
        self.picker = picker or GreedyPicker()
        self.knobs = knobs or Knobs()
        self.context = list(prompt)
        self.prompt_length = len(prompt)
        self.finish_reason = ""
        self._journal = journal
        self._text = text
        self._probabilities = probabilities
        self._logprobs: list[float] = []  # of the last forward's picks
        self._count = 0
        self._started = perf_counter() if started is None else started
        self._session = model.session(len(prompt) + min(self.room, RESERVED_ROWS) + SPARE_ROWS)
        for proposer in self.proposers:
            proposer.start(prompt, self.knobs)

    @property
    def emitted(self) -> tuple[int, ...]:
        """Generated tokens so far."""
        return tuple(self.context[self.prompt_length :])

    @property
    def cached(self) -> int:
        """Tokens of the context that the model has read."""
        return self._session.length

    @property
    def room(self) -> int:
        """Tokens that may still be emitted, by limit and by the model's context."""
        left = self.limits.max_new_tokens - (len(self.context) - self.prompt_length)
        return left if self.model.context is None else min(left, self.model.context - len(self.context))

    def __iter__(self) -> Iterator[Iteration]:
        """Iterations until the run ends."""
        while not self.finish_reason:
            yield self.step()

    def step(self, *, room: int | None = None) -> Iteration:
        """One iteration.

        Args:
            room: emit at most this many tokens, where that is less than the limits leave.

        Raises:
            RuntimeError: the run has ended.
            ValueError: room for no token, as asked for or as the limits leave it.
            NonFiniteLogitsError: the logits that decide a token are NaN or infinite.
        """
        return self.settle(self.judge(room=room))

    def judge(self, *, room: int | None = None) -> Judged:
        """The first half of an iteration: propose, forward, walk. The sequence stays as it is.

        Whoever runs something beside it can still let the iteration go; `settle` makes it count.
        Arguments and errors are those of `step`.
        """
        if self.finish_reason:
            raise RuntimeError(
                f"a finished decoder cannot step (it ended by {self.finish_reason!r}); make a new one"
            )
        room = self.room if room is None else min(room, self.room)
        if room < 1:
            raise ValueError(f"room must be for one token or more, but got {room}")
        # an iteration that was interrupted may have left rows of uncommitted tokens behind
        self._session.crop(min(self._session.length, len(self.context) - 1))
        laps, knobs = Laps(self._started), self.knobs
        draft = self._propose(knobs, room)
        laps.mark("propose")
        pending = self._pending()
        picks = self._verify(pending, draft)
        laps.mark("forward")
        path = walk(draft.tree, picks)
        emitted, ended, text = self._cut([draft.tree.tokens[node] for node in path], picks, path, room)
        context = [*self.context, *emitted]
        verdict = Verdict(draft.tree, picks, path, emitted, context, knobs, tuple(self._logprobs))
        laps.mark("walk")
        return Judged(draft, verdict, pending, text, ended, laps)

    def settle(self, judged: Judged) -> Iteration:
        """The second half of an iteration: learn, record, commit."""
        verdict, laps = judged.verdict, judged.laps
        for proposer in self.proposers:
            proposer.learn(verdict)
        laps.mark("learn")
        record = self._record(judged.draft, verdict, judged.pending, laps)
        laps.mark("record")
        # the commit comes last: whatever interrupts an iteration leaves the sequence as it was
        self._commit(len(judged.pending), verdict.path, verdict.emitted, judged.text, judged.ended)
        laps.mark("commit")
        return record

    def close(self) -> None:
        """Nothing runs in the background; see `phrasekit.parallel.ParallelDecoder.close`."""

    def rebase(self, context: Sequence[int]) -> None:
        """Go on from another context, keeping the cache rows of the common prefix.

        A draft decoder follows its target this way: what the target accepted stays cached.
        """
        common = common_prefix(self.context, context)
        self._session.crop(min(self._session.length, common, len(context) - 1))
        self.context[common:] = context[common:]
        self.finish_reason = ""

    def _propose(self, knobs: Knobs, room: int) -> Draft:
        # one place of the room is the bonus token's
        reach = None if self.model.context is None else self.model.context - len(self.context)
        tree = self._empty_tree(room - 1)
        draft = Draft(tree, self.context, knobs, reach, weights=self.model.weights)
        for proposer in self.proposers:
            proposer.propose(draft)
        return draft

    def _pending(self) -> list[int]:
        """Committed tokens not yet in the cache; of a long prompt only the last, the rest goes in first."""
        pending = self.context[self._session.length :]
        if len(pending) > PREFILL_ROWS:
            self._session.prefill(pending[:-1])
            pending = pending[-1:]
        return pending

    def _verify(self, pending: list[int], draft: Draft) -> list[int]:
        """The picks; where memory is too short for the tree it goes, and a note says so."""
        try:
            return self._picks(pending, draft.tree)
        except RuntimeError as error:
            if not (_out_of_memory(error) and len(draft.tree)):
                raise
        # outside the except block, whose traceback would keep the tensors
        rows = len(draft.tree)
        draft.tree = self._empty_tree(draft.tree.limit)
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        draft.note = f"out of memory with {rows} tree rows; verified without them"
        return self._picks(pending, draft.tree)

    def _picks(self, pending: list[int], tree: TokenTree) -> list[int]:
        """The pick after the root and after every node; −1 where none was needed or none exists."""
        if not tree.silent:
            logits = self._session.forward(pending, tree.tokens, tree.parents)
            return self._pick(logits, range(-1, len(tree)), tree)
        nodes = [node for node in range(-1, len(tree)) if node not in tree.silent]
        logits = self._session.forward(pending, tree.tokens, tree.parents, rows=[node + 1 for node in nodes])
        found = self._pick(logits, nodes, tree)
        picks, logprobs = [-1] * (1 + len(tree)), [0.0] * (1 + len(tree))
        for row, node in enumerate(nodes):
            picks[node + 1] = found[row]
            logprobs[node + 1] = self._logprobs[row] if self._logprobs else 0.0
        self._logprobs = logprobs if self._logprobs else []
        return picks

    def _pick(self, logits: Tensor, nodes: Sequence[int], tree: TokenTree) -> list[int]:
        rows = Rows(
            positions=[len(self.context) + tree.depth(node) for node in nodes],
            prefix=lambda row: [*self.context, *tree.path_tokens(nodes[row])],
            children=lambda row: tree.children(nodes[row]),
        )
        found = self.picker.pick(logits, rows)
        if not self._probabilities:
            picks: list[int] = found.tolist()  # the one transfer to the host
            return picks
        ids, self._logprobs = with_logprobs(logits, found).tolist()  # the one transfer
        return [int(token) for token in ids]

    def _cut(
        self, accepted: list[int], picks: Sequence[int], path: Sequence[int], room: int
    ) -> tuple[list[int], str, Watcher | None]:
        """What is emitted of the accepted tokens and the bonus, and why the run ends there."""
        bonus = picks[path[-1] + 1 if path else 0]
        if bonus < 0:
            raise NonFiniteLogitsError(
                f"logits must be finite, but {self.model.name} gave NaN or infinity for position "
                f"{len(self.context) + len(path)}; float16 overflows this way: load it in bfloat16 or float32"
            )
        text = self._text.fork() if self._text else None
        emitted, ended = cut([*accepted, bonus], room=room, limits=self.limits, text=text)
        return emitted, ended, text

    def _record(self, draft: Draft, verdict: Verdict, pending: list[int], laps: Laps) -> Iteration:
        tree, path = draft.tree, verdict.path
        return Iteration(
            index=self._count,
            position=len(self.context),
            root=pending[-1],
            tree=tree.record(),
            picks=tuple(verdict.picks),
            path=tuple(path),
            emitted=tuple(verdict.emitted),
            kinds=(*[tree.kinds[node] for node in path], TARGET)[: len(verdict.emitted)],
            forward=ForwardRecord(
                rows=len(pending) + len(tree),
                picked=1 + len(tree) - len(tree.silent),
                cached=self._session.length,
                start_ms=laps.start_ms("forward"),
                ms=laps.phases["forward"],
            ),
            draft=draft.inner,
            pool=self._journal.drain() if self._journal else PoolRecord(),
            phases=laps.phases,
            knobs=_plain(verdict.knobs),
            window=draft.window,
            note=draft.note,
            retrieval=draft.retrieval,
            logprobs=tuple(verdict.logprobs[node + 1] for node in (-1, *path))[: len(verdict.emitted)]
            if verdict.logprobs
            else (),
        )

    def _commit(
        self, pending: int, path: Sequence[int], emitted: Sequence[int], text: Watcher | None, ended: str
    ) -> None:
        # the last emitted token has no cache row to keep: it is the next iteration's pending token
        self._session.commit(pending, path[: len(emitted) - 1])
        self._text = text
        self._count += 1
        self.context.extend(emitted)
        if ended in ("eos", "stop"):
            self.finish_reason = ended
        elif self.room == 0:
            spent = len(self.context) - self.prompt_length
            self.finish_reason = "length" if spent == self.limits.max_new_tokens else "context"

    def _empty_tree(self, limit: int) -> TokenTree:
        return TokenTree(vocabulary=self.model.vocabulary, limit=limit, ends=self.limits.eos)


@dataclass(frozen=True, slots=True)
class Judged:
    """Half an iteration: what the model said, before it counts."""

    draft: Draft
    verdict: Verdict
    pending: list[int]
    text: Watcher | None
    ended: str
    laps: Laps


class Laps:
    """Milliseconds by phase, in the order the phases were finished."""

    def __init__(self, origin: float) -> None:
        self.phases: dict[str, float] = {}
        self._origin = origin
        self._last = perf_counter()
        self._starts: dict[str, float] = {}

    def mark(self, phase: str) -> None:
        """The time since the last mark belongs to `phase`."""
        now = perf_counter()
        self.phases[phase] = 1e3 * (now - self._last)
        self._starts[phase] = 1e3 * (self._last - self._origin)
        self._last = now

    def start_ms(self, phase: str) -> float:
        """When `phase` began, in milliseconds since the origin."""
        return self._starts[phase]

    def span_ms(self, first: str, last: str) -> float:
        """From the beginning of one phase to the end of another."""
        return self._starts[last] + self.phases[last] - self._starts[first]


def _out_of_memory(error: RuntimeError) -> bool:
    """On a GPU it has a class of its own, on a CPU only a message."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


@lru_cache(maxsize=64)
def _plain(knobs: Knobs) -> Mapping[str, object]:
    """Knobs as plain values, made once: every iteration of a run has the same."""
    return knobs.as_dict()


def _check_prompt(prompt: Sequence[int], model: LanguageModel) -> None:
    if len(prompt) == 0:
        raise ValueError(
            "a prompt must hold at least one token, but got none; start from the model's BOS token"
        )
    bad = next((token for token in prompt if not 0 <= token < model.vocabulary), None)
    if bad is not None:
        raise ValueError(
            f"prompt ids must be from 0 to {model.vocabulary - 1} (the vocabulary of {model.name}), but got "
            f"{bad}; encode the text with the model's own tokenizer"
        )
    if model.context is not None and len(prompt) >= model.context:
        raise ValueError(
            f"the prompt must be shorter than the context of {model.name} ({model.context} tokens), but it "
            f"has {len(prompt)}; shorten it"
        )
