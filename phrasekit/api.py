"""What users call: `generate` for a whole run, `decoder` for one iteration at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Unpack

from phrasekit.decode import Decoder, Knobs, Limits, Sampling, pickers_of
from phrasekit.decode.picker import Processor, SamplingOptions
from phrasekit.errors import TokenizerMismatchError
from phrasekit.lm import Pair, TextStream
from phrasekit.lm.processors import processors_of
from phrasekit.methods import Method, Parts, knobs_of, method_of
from phrasekit.parallel import ParallelDecoder
from phrasekit.pool import PhrasePool
from phrasekit.propose import Corpus, Datastore, Store
from phrasekit.trace import Iteration, Trace
from phrasekit.trace.records import SERIAL

Prompt = str | Sequence[int] | list[dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished or cancelled run.

    Attributes:
        tokens: generated ids, the end token included where one ended the run.
        text: their text without special tokens; it ends with the stop string where one ended it.
            "" without a tokenizer.
        trace: every iteration.
    """

    tokens: tuple[int, ...]
    text: str
    trace: Trace

    @property
    def finish_reason(self) -> str:
        """See `Trace.finish_reason`."""
        return self.trace.finish_reason


class Decoding:
    """One run in progress: iterate for one iteration at a time, change `knobs` in between.

    Attributes:
        method: the recipe.
        pool: phrases known so far; hand it to the next run to reuse them.
        iterations: what happened so far.
    """

    def __init__(
        self,
        decoder: Decoder | ParallelDecoder,
        *,
        method: Method,
        pair: Pair,
        pool: PhrasePool,
        sampling: Sampling,
        prompt: Sequence[int],
        extra: Mapping[str, object] | None = None,
    ) -> None:
        self.method = method
        self.pool = pool
        self.iterations: list[Iteration] = []
        self._decoder = decoder
        self._pair = pair
        self._sampling = sampling
        self._prompt = tuple(prompt)
        self._extra = extra or {}
        self._stream = None if pair.tokenizer is None else TextStream(pair.tokenizer, decoder.limits.stop)
        self._streamed = 0  # tokens whose text has been made; it is made when somebody asks
        self._cancelled = False

    @property
    def knobs(self) -> Knobs:
        """Knobs of the next iteration; assign a `Knobs` to change them, the text stays the same."""
        return self._decoder.knobs

    @knobs.setter
    def knobs(self, knobs: Knobs) -> None:
        self._decoder.knobs = knobs_of(self.method, self._pair, knobs)

    @property
    def finished(self) -> bool:
        """Whether there is no further iteration."""
        return self._cancelled or bool(self._decoder.finish_reason)

    @property
    def finish_reason(self) -> str:
        """See `Trace.finish_reason`."""
        return self._decoder.finish_reason or ("cancelled" if self._cancelled else "")

    @property
    def tokens(self) -> tuple[int, ...]:
        """Generated ids so far."""
        return self._decoder.emitted

    @property
    def text(self) -> str:
        """Text so far, whole characters only; once finished, what `generate` returns."""
        if self._stream is None:
            return ""
        tokens = self.tokens
        self._stream.extend(tokens[self._streamed :])
        self._streamed = len(tokens)
        return self._stream.finish() if self.finished else self._stream.text

    @property
    def trace(self) -> Trace:
        """The run so far as plain data."""
        return Trace(
            method=self.method.name,
            prompt=self._prompt,
            iterations=tuple(self.iterations),
            finish_reason=self.finish_reason,
            settings=self._settings,
            texts=self._texts(),
        )

    def __iter__(self) -> Iterator[Iteration]:
        """Iterations until the run ends."""
        while not self.finished:
            yield self.step()

    def follow(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[Iteration]:
        """Iterations to the end, or to where one fails, `stopped` says so or the caller leaves.

        What was made is kept, and the run is over then: nothing goes on in the background.
        """
        try:
            while not self.finished and not stopped():
                yield self.step()
        finally:
            self.cancel()  # a run that ended by itself keeps its own reason

    def pieces(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[str]:
        """The text as it comes, what is there already first; see `follow`."""
        shown = 0
        for _ in self.follow(stopped):
            if len(self.text) > shown:
                yield self.text[shown:]
                shown = len(self.text)
        if len(self.text) > shown:  # held back for a character that stays unfinished
            yield self.text[shown:]

    def step(self) -> Iteration:
        """One iteration; see `phrasekit.decode.Decoder.step`."""
        iteration = self._decoder.step()
        self.iterations.append(iteration)
        return iteration

    def cancel(self) -> None:
        """End the run here; what was made is kept."""
        self._cancelled = True
        self._decoder.close()

    def result(self) -> Run:
        """The run as it stands."""
        return Run(tokens=self.tokens, text=self.text, trace=self.trace)

    @cached_property
    def _settings(self) -> dict[str, object]:
        limits, sampling, pair = self._decoder.limits, self._sampling, self._pair
        return {
            "target": pair.target.name,
            "draft": pair.draft.name if pair.draft and self.method.drafts else "",
            "dtype": str(pair.target.adapter.dtype).removeprefix("torch."),
            "device": str(pair.target.device),
            **asdict(sampling),
            "max_new_tokens": limits.max_new_tokens,
            "eos": tuple(sorted(limits.eos)),
            "stop": limits.stop,
            **self._extra,
        }

    def _texts(self) -> dict[int, str]:
        tokenizer = self._pair.tokenizer
        if tokenizer is None:
            return {}
        ids = set(self._prompt)
        for iteration in self.iterations:
            ids.update(iteration.emitted, *_ids(iteration))
        return {token: tokenizer.decode([token]) for token in sorted(ids)}


def _ids(iteration: Iteration) -> list[tuple[int, ...]]:
    """Every token id that a view of the iteration may show."""
    picks = tuple(pick for pick in iteration.picks if pick >= 0)
    found = [iteration.tree.tokens, picks, *iteration.window]
    found += [phrase.tokens for phrase in (*iteration.pool.retrieved, *iteration.pool.inserted)]
    for inner in iteration.draft:
        found += _ids(inner)
    return found


def decoder(
    pair: Pair,
    prompt: Prompt,
    *,
    method: str = "ouroboros",
    knobs: Knobs | None = None,
    max_new_tokens: int = 128,
    stop: str | Sequence[str] = (),
    pool: PhrasePool | None = None,
    store: Store | None = None,
    schedule: str = SERIAL,
    probabilities: bool = False,
    processors: Sequence[Processor] = (),
    **sampling: Unpack[SamplingOptions],
) -> Decoding:
    """A run that waits before its first iteration.

    Args:
        pair: models, from `load_pair`.
        prompt: text, token ids, or chat messages as dicts of role and content.
        method: a name of `phrasekit.methods.METHODS`.
        knobs: None takes the pair's tuned ones, else the method's defaults.
        max_new_tokens: tokens to generate at most.
        stop: strings that end the text.
        pool: phrases of earlier runs; None starts empty.
        store: texts of earlier runs, for methods that retrieve; it is read, never changed.
        schedule: when the two lanes of a parallel method run: "serial", "threads" or "streams" (CUDA).
        probabilities: the trace says how likely every token was (`Iteration.logprobs`).
        processors: logits processors such as transformers has, pure functions of (ids, scores).
        **sampling: fields of `phrasekit.decode.Sampling`: `temperature` (0 is greedy), `top_k`,
            `top_p`, `min_p`, `repetition_penalty`, `presence_penalty`, `bad_words`,
            `min_new_tokens`, `seed`. The text depends on these and on neither method nor knobs,
            unless `rule="rejection"` asks for the textbook rule.

    Raises:
        ValueError: an argument outside its bounds; nothing has run yet.
        TypeError: an argument of the wrong type, or an unknown one.
    """
    chosen = method_of(method, pair)
    settled = knobs_of(chosen, pair, knobs)
    settings = _sampling(sampling)
    limits = Limits(max_new_tokens=max_new_tokens, eos=pair.eos, stop=_stops(stop))
    if limits.stop and pair.tokenizer is None:
        raise ValueError("stop strings need a tokenizer, but this pair has none; use eos token ids instead")
    devices = [model.device for model in (pair.target, pair.draft) if model is not None]
    chosen.check_lanes(settings, schedule, *devices)
    ids = _encode(pair, prompt)
    extra = _check_store(pair, store, ids)
    phrases = pool if pool is not None and chosen.history else PhrasePool()
    parts = Parts(
        pair=pair,
        prompt=ids,
        pickers=pickers_of(
            settings,
            [*_processors(pair, settings, len(ids)), *processors],
            vocabulary=pair.target.vocabulary,
        ),
        limits=limits,
        knobs=settled,
        pool=phrases,
        store=store,
        schedule=schedule,
        probabilities=probabilities,
    )
    watcher = TextStream(pair.tokenizer, limits.stop) if limits.stop else None
    built = chosen.build(parts, text=watcher)
    if chosen.beside is not None:
        extra["schedule"] = schedule
    return Decoding(built, method=chosen, pair=pair, pool=phrases, sampling=settings, prompt=ids, extra=extra)


def generate(
    pair: Pair,
    prompt: Prompt,
    *,
    method: str = "ouroboros",
    knobs: Knobs | None = None,
    max_new_tokens: int = 128,
    stop: str | Sequence[str] = (),
    pool: PhrasePool | None = None,
    store: Store | None = None,
    schedule: str = SERIAL,
    probabilities: bool = False,
    processors: Sequence[Processor] = (),
    stream: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    **sampling: Unpack[SamplingOptions],
) -> Run:
    """Decode until an end token, a stop string or the limit.

    Args:
        pair: models, from `load_pair`.
        prompt: see `decoder`, as for all arguments up to `processors`.
        method: a name of `phrasekit.methods.METHODS`.
        knobs: settings that change the work, never the text.
        max_new_tokens: tokens to generate at most.
        stop: strings that end the text.
        pool: phrases of earlier runs.
        store: texts of earlier runs.
        schedule: of a parallel method's lanes.
        probabilities: how likely every token was, in the trace.
        processors: logits processors.
        stream: called with every new piece of text; the pieces together are `Run.text`.
        cancelled: asked before every iteration; True ends the run and keeps what was made.
        **sampling: fields of `phrasekit.decode.Sampling`.
    """
    decoding = decoder(
        pair,
        prompt,
        method=method,
        knobs=knobs,
        max_new_tokens=max_new_tokens,
        stop=stop,
        pool=pool,
        store=store,
        schedule=schedule,
        probabilities=probabilities,
        processors=processors,
        **sampling,
    )
    asked = cancelled or (lambda: False)
    if stream is None:
        for _ in decoding.follow(asked):
            pass
    else:
        for piece in decoding.pieces(asked):
            stream(piece)
    return decoding.result()


def _check_store(pair: Pair, store: Store | None, prompt: Sequence[int]) -> dict[str, object]:
    """What the trace says of a store.

    Raises:
        TypeError: no store.
        TokenizerMismatchError: its ids mean something else to this pair.
    """
    if store is None:
        return {}
    if not isinstance(store, Datastore | Corpus):
        raise TypeError(f"store must be a Datastore or a Corpus, but got {store!r:.80}")
    if store.fingerprint not in ("", pair.fingerprint):
        raise TokenizerMismatchError(
            "a store's tokenizer must be the pair's, but this store holds ids of another one; "
            "build one with `phrasekit store build`"
        )
    return {"store_tokens": len(store), "store_saw_prompt": store.saw(prompt)}


def _stops(stop: object) -> tuple[str, ...]:
    if isinstance(stop, str):
        return (stop,)
    if not isinstance(stop, Iterable):
        raise TypeError(f"stop must be a string or a list of strings, but got {stop!r}")
    return tuple(stop)


def _sampling(options: SamplingOptions) -> Sampling:
    known = [field.name for field in fields(Sampling)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise TypeError(f"sampling options must be among {', '.join(known)}, but got {', '.join(unknown)}")
    return Sampling(**options)


def _processors(pair: Pair, sampling: Sampling, prompt_length: int) -> list[Processor]:
    foreign = [token for word in sampling.bad_words for token in word if token >= pair.target.vocabulary]
    if foreign:
        raise ValueError(f"bad_words must be ids below {pair.target.vocabulary}, but got {foreign[0]}")
    return processors_of(
        repetition_penalty=sampling.repetition_penalty,
        presence_penalty=sampling.presence_penalty,
        bad_words=sampling.bad_words,
        min_new_tokens=sampling.min_new_tokens,
        prompt_length=prompt_length,
        eos=pair.eos,
        device=pair.target.device,
    )


def _encode(pair: Pair, prompt: Prompt) -> list[int]:
    if isinstance(prompt, str):
        ids = pair.encode(prompt)
        if not ids:
            raise ValueError(
                "a prompt must hold at least one token, but got an empty text; give it some words"
            )
        return ids
    if not isinstance(prompt, Iterable):
        raise TypeError(
            f"a prompt must be a text, a list of token ids or a list of chat messages, but got {prompt!r}"
        )
    items = list(prompt)
    if items and all(isinstance(item, dict) for item in items):
        return pair.encode_chat(items)  # type: ignore[arg-type]
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        raise TypeError(
            f"a prompt must be a text, a list of token ids or a list of chat messages, but got {items[:3]!r}"
        )
    return items  # type: ignore[return-value]
