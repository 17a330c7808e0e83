"""From a trace to everything the stepper shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

from phrasekit.trace import Iteration, Trace, faults, measure
from phrasekit.trace.records import LETTERS, LOOKUP, PHRASE, SUFFIX, WINDOW
from phrasekit.trace.summary import counted, summary
from phrasekit.trace.visible import visible
from phrasekit.views.link import run_key
from phrasekit.views.stepper.film import begins, film, round_info
from phrasekit.views.stepper.phrases import PhraseBook, sizes
from phrasekit.views.stepper.records import PlainInfo, StepInfo, StepperInfo
from phrasekit.views.stepper.tokens import TokenTable
from phrasekit.views.stepper.tree import tree_info
from phrasekit.views.stepper.words import beyond, commit_sentence, sentence, verify_sentence

LIMIT = 1000  # iterations
PROMPT_SHOWN = 16  # last tokens of the prompt

Knobs = tuple[tuple[str, str], ...]

# Name and symbol of the knobs worth a place, by what must have happened for them to matter.
_KNOBS = {
    "draft": {"gamma": "γ"},
    "window": {"window": "W", "level": "N"},
    "guess": {"guesses": "G"},
    "suffix": {"suffixes": "K", "beta": "β"},
    "lookup": {"lookup": "L"},
}
_SIGNS = {"window": WINDOW, "guess": PHRASE, "suffix": SUFFIX, "lookup": LOOKUP}
_FINISHES = {
    "": "The run was still going on when it was recorded; what is shown is complete up to there.",
    "eos": "The run ended with an end-of-text token.",
    "stop": "The run ended at a stop string.",
    "length": "The run ended at its token limit.",
    "context": "The run ended where the model's context is full.",
    "cancelled": "The run was cancelled here; what is shown is complete up to there.",
}


def stepper_info(trace: Trace, *, baseline: Trace | None = None, limit: int = LIMIT) -> StepperInfo:
    """Work out everything the stepper shows, once.

    A trace that cannot be shown gives a record whose `notice` says why, so that a notebook cell never ends
    in a stack trace because of somebody else's file.

    Args:
        trace: one run.
        baseline: plain decoding of the same prompt; with it the clock compares times, and the texts are
            compared token by token.
        limit: show at most this many iterations, from the first on.

    Returns:
        Plain data.

    Raises:
        ValueError: the baseline is a run of another prompt.
    """
    notice = _notice(trace)
    if notice:
        return StepperInfo(notice=notice)
    if baseline is not None and baseline.prompt != trace.prompt:
        raise ValueError(
            f"a baseline must be a run of the same prompt, but its {counted(len(baseline.prompt), 'token')} "
            f"differ from the {len(trace.prompt)} of the trace; decode this prompt with method='vanilla'"
        )
    return _Builder(trace, limit).build(baseline)


def notice_info(message: str) -> StepperInfo:
    """A view that only says what is wrong."""
    return StepperInfo(notice=visible(message, spaces=False, keep=600))


def _notice(trace: object) -> str:
    """Why this cannot be shown, "" where it can."""
    if not isinstance(trace, Trace):
        return (
            f"A trace is needed, but got {type(trace).__name__}. Load one with load_trace(path), or "
            "record a run."
        )
    fault = next(faults(trace), "")
    if fault:
        told = visible(fault, spaces=False, keep=300)
        return f"This trace is damaged: {told}. Load the file again, or record the run again."
    return ""


class _Builder:
    """Holds what all iterations share."""

    def __init__(self, trace: Trace, limit: int) -> None:
        self._trace = trace
        self._shown = trace.iterations[:limit]
        self._tokens = TokenTable(trace.texts)
        self._book = PhraseBook(trace.iterations, self._tokens)
        self._knobs: dict[Knobs, int] = {}
        self._used = _used(trace.iterations)

    def build(self, baseline: Trace | None) -> StepperInfo:
        trace = self._trace
        prompt = self._tokens.numbers(trace.prompt[-PROMPT_SHOWN:])
        steps = tuple(self._steps())
        phrases = self._book.infos()  # the last to name tokens
        return StepperInfo(
            method=visible(trace.method, spaces=False, keep=60),
            facts=_facts(trace.settings),
            texts=self._tokens.texts,
            ids=self._tokens.ids,
            prompt=prompt,
            prompt_length=len(trace.prompt),
            steps=steps,
            total=len(trace.iterations),
            phrases=phrases,
            sources=self._book.sources,
            knobs=tuple(self._knobs),
            finish=_FINISHES[trace.finish_reason],
            plain=None if baseline is None else plain_info(trace, baseline),
            summary=tuple(summary(measure(trace))) if trace.iterations else (),
            key=run_key(trace),
        )

    def _steps(self) -> list[StepInfo]:
        if not self._shown:
            return []
        written, begin = 0, begins(self._shown[0])
        steps = []
        for iteration, held in zip(self._shown, sizes(self._shown), strict=True):
            steps.append(self._step(iteration, held, written, begin))
            written += len(iteration.emitted)
        return steps

    def _step(self, iteration: Iteration, held: int, written: int, begin: float) -> StepInfo:
        own = iteration.forward.start_ms - iteration.phases.get("propose", 0.0)
        return StepInfo(
            index=iteration.index,
            position=iteration.position,
            written=written,
            root=self._tokens.number(iteration.root),
            said=sentence(iteration),
            verify=verify_sentence(iteration),
            commit=commit_sentence(iteration),
            accepted=iteration.accepted,
            drafted=iteration.drafted,
            matches=iteration.matches,
            beyond=beyond(iteration),
            tree=tree_info(iteration, self._tokens, self._book),
            emitted=self._tokens.numbers(iteration.emitted),
            kinds="".join(LETTERS[kind] for kind in iteration.kinds),
            nodes=(*iteration.path, len(iteration.tree.tokens))[: len(iteration.emitted)],
            forwards=film(iteration, self._tokens, self._book),
            window=tuple(map(self._tokens.numbers, iteration.window)),
            pool=self._book.pool(iteration, held),
            rows=iteration.forward.rows,
            start=round(begins(iteration) - begin, 2),
            target_start=round(iteration.forward.start_ms - begins(iteration), 2),
            target_ms=round(iteration.forward.ms, 2),
            ms=round(iteration.ms + own - begins(iteration), 2),
            knobs=self._knobs.setdefault(_knobs(iteration.knobs, self._used), len(self._knobs)),
            note=visible(iteration.note, spaces=False, keep=200),
            beside=round_info(iteration),
            probabilities=tuple(round(exp(one), 4) for one in iteration.logprobs),
        )


def plain_info(trace: Trace, baseline: Trace) -> PlainInfo:
    """Times of plain decoding by token, and how far the two texts agree."""
    ms = [
        round(iteration.ms / len(iteration.emitted), 2)
        for iteration in baseline.iterations
        for _ in iteration.emitted
    ]
    pairs = list(zip(trace.tokens, baseline.tokens, strict=False))
    differs = next((at for at, (own, plain) in enumerate(pairs) if own != plain), -1)
    return PlainInfo(ms=tuple(ms), checked=len(pairs), differs=differs)


def _used(iterations: Sequence[Iteration]) -> frozenset[str]:
    """Which mechanisms were at work anywhere in the run."""
    found = set()
    for iteration in iterations:
        for level in (iteration, *iteration.draft):
            kinds = {*level.tree.kinds, *(branch.kind for branch in level.tree.branches)}
            found |= {name for name, kind in _SIGNS.items() if kind in kinds}
        if iteration.draft:
            found.add("draft")
    return frozenset(found)


def _knobs(knobs: Mapping[str, object], used: frozenset[str]) -> Knobs:
    """Symbol and value of the knobs that matter in this run."""
    return tuple(
        (symbol, visible(str(knobs[name]), keep=12))
        for mechanism, names in _KNOBS.items()
        if mechanism in used
        for name, symbol in names.items()
        if knobs.get(name)
    )


def _facts(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Models and device, as far as the settings name them."""
    named = [(name, settings.get(name)) for name in ("target", "draft", "dtype", "device")]
    facts = [
        visible(
            f"{name} {value}" if name in ("target", "draft") and value != name else str(value),
            spaces=False,
            keep=48,
        )
        for name, value in named
        if value and isinstance(value, str) and not (name in ("target", "draft") and value == name)
    ]
    if settings.get("temperature"):
        facts.append(visible(f"temperature {settings['temperature']}", spaces=False, keep=24))
    return tuple(facts)
