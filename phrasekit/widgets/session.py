"""A run that a person steers while it goes on; plain Python, the widget around it only shows it.

Knobs change the work and never the text, so a change of them holds from the next iteration on. Method,
temperature, top-p and seed belong to the run as a whole: they wait for a reset, which starts from the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate
from threading import Event, Lock, Thread, current_thread
from time import perf_counter
from typing import Any, Unpack

from phrasekit.api import Decoding, Prompt, decoder
from phrasekit.decode import Knobs
from phrasekit.decode.picker import SamplingOptions
from phrasekit.lm import Pair
from phrasekit.trace import Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import visible

PLAIN = "vanilla"
REDRAW = 0.1  # seconds between two states shown while a run goes on
SHOWN = 60  # columns of anything that came from outside


@dataclass(frozen=True, kw_only=True)
class LiveSettings:
    """What makes the run, and therefore waits for a reset.

    Attributes:
        method: name of the recipe. The text does not depend on it, but a decoder is built for one.
        temperature: 0 is greedy.
        top_p: as in `phrasekit.decode.Sampling`.
        seed: of the sampling.
    """

    method: str = "ouroboros"
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    def changes(self, wanted: LiveSettings) -> dict[str, Any]:
        """What is wanted and not so yet."""
        names = [one.name for one in fields(self)]
        return {name: getattr(wanted, name) for name in names if getattr(self, name) != getattr(wanted, name)}

    @property
    def sampling(self) -> SamplingOptions:
        """The part that the text depends on."""
        return SamplingOptions(temperature=self.temperature, top_p=self.top_p, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """Everything there is to show at one moment.

    Attributes:
        settings: of the run that goes on.
        wanted: what the next reset will take.
        knobs: of the next iteration.
        trace: the run so far.
        checked: tokens compared with plain decoding.
        differs: the first token that is another one, from 0; −1 where all are the same.
        comparing: whether plain decoding goes along.
        running: whether the run goes on by itself.
        status: the last thing that happened, in words.
        failed: whether that was an error.
    """

    settings: LiveSettings
    wanted: LiveSettings
    knobs: Knobs
    trace: Trace
    checked: int = 0
    differs: int = -1
    comparing: bool = True
    running: bool = False
    status: str = ""
    failed: bool = False

    @property
    def finished(self) -> bool:
        """Whether there is no further iteration."""
        return bool(self.trace.finish_reason)

    @property
    def pending(self) -> dict[str, Any]:
        """What waits for a reset."""
        return self.settings.changes(self.wanted)

    @property
    def identical(self) -> bool | None:
        """Whether the text is that of plain decoding, as far as compared; None before any comparison."""
        return None if not self.checked else self.differs < 0

    @property
    def banner(self) -> str:
        """Whether the text is the same, and what it took."""
        if self.identical is None:
            return "Not compared with plain decoding yet."
        if not self.identical:
            return f"✗ Not the same text: token {self.differs + 1} is not the one of plain decoding."
        return (
            f"✓ Same text as plain decoding: {counted(self.checked, 'token')} compared, "
            f"{counted(self._forwards(), 'target forward')} instead of {self.checked}."
        )

    def _forwards(self) -> int:
        """How many iterations it took until the compared tokens were out."""
        ends = accumulate(len(iteration.emitted) for iteration in self.trace.iterations)
        return 1 + sum(end < self.checked for end in ends)


class LiveSession:
    """One prompt on one pair: step, run, stop, reset, and change knobs at any moment.

    No method raises because of a value or a model: what goes wrong is in `state.status`, the exception in
    `error`, and the run stands where it stood. While the run goes on by itself a thread of the session steps
    it; every other method may be called meanwhile.

    Attributes:
        error: the last exception, for whoever wants to see more than its message.
    """

    def __init__(
        self,
        pair: Pair,
        prompt: Prompt,
        *,
        method: str = "ouroboros",
        knobs: Knobs | None = None,
        max_new_tokens: int = 96,
        compare: bool = True,
        **sampling: Unpack[SamplingOptions],
    ) -> None:
        """Build the decoder; nothing has run yet.

        Args:
            pair: models, from `load_pair`.
            prompt: as in `phrasekit.decoder`.
            method: a name of `phrasekit.METHODS`.
            knobs: None takes the pair's or the method's own.
            max_new_tokens: tokens to generate at most.
            compare: let plain decoding go along, token by token, and compare.
            **sampling: fields of `phrasekit.decode.Sampling`; three of them can be changed later, see `want`.

        Raises:
            ValueError: an argument outside its bounds.
            TypeError: an argument of the wrong type.
        """
        self.error: Exception | None = None
        self._pair, self._prompt, self._limit = pair, prompt, max_new_tokens
        self._fixed = sampling
        self._watchers: list[Callable[[LiveState], None]] = []
        self._lock = Lock()  # around the change of the state alone
        self._stop = Event()
        self._thread: Thread | None = None
        settings = LiveSettings(
            method=method,
            temperature=sampling.get("temperature", 0.0),
            top_p=sampling.get("top_p", 1.0),
            seed=sampling.get("seed", 0),
        )
        self._decoding = self._build(settings, knobs)
        self._plain = _Plain(lambda: self._build(replace(settings, method=PLAIN), None))
        self._state = LiveState(
            settings=settings,
            wanted=settings,
            knobs=self._decoding.knobs,
            trace=self._decoding.trace,
            comparing=compare,
            status="Ready. Nothing has run yet.",
        )

    @property
    def state(self) -> LiveState:
        """The moment as it is."""
        return self._state

    @property
    def trace(self) -> Trace:
        """The run so far, for the stepper and every view."""
        return self._state.trace

    @property
    def text(self) -> str:
        """The text so far."""
        return self._decoding.text

    def watch(self, watcher: Callable[[LiveState], None]) -> None:
        """Call `watcher` with every new state, from whichever thread made it."""
        self._watchers.append(watcher)

    def set_knobs(self, **changes: Any) -> None:
        """Change knobs from the next iteration on, also while the run goes on."""
        before = self._decoding.knobs.as_dict()
        try:
            self._decoding.knobs = self._decoding.knobs.but(**changes)
        except (ValueError, TypeError) as error:
            self._fail(error)
            return
        knobs = self._decoding.knobs
        changed = {name: value for name, value in knobs.as_dict().items() if value != before[name]}
        self._update(knobs=knobs, status=self._told(changed, changes), failed=False)

    def want(self, **settings: Any) -> None:
        """Ask for another method, temperature, top_p or seed at the next reset."""
        try:
            wanted = replace(self._state.wanted, **settings)
        except TypeError as error:
            self._fail(error)
            return
        waiting = self._state.settings.changes(wanted)
        told = "Noted; this run goes on as it began." if waiting else "Nothing waits for a reset."
        self._update(wanted=wanted, status=told, failed=False)

    def next(self) -> None:
        """One iteration."""
        if self._busy():
            return
        if self._step():
            self._publish()

    def start(self) -> None:
        """Run to the end in a thread; `stop` ends it within an iteration."""
        if self._busy():
            return
        self._stop.clear()
        self._update(running=True, status="Running; stop answers within one iteration.", failed=False)
        self._thread = Thread(target=self._run, name="phrasekit-live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask a run that goes on by itself to stop; what was made is kept, and it can go on."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the run does not go on by itself any more; whether that is so."""
        thread = self._thread
        if thread is not None and thread is not current_thread():
            thread.join(seconds)
        return not self._state.running

    def reset(self) -> None:
        """Start again from the prompt with what was waiting; an empty pool, the knobs as they are.

        Another method brings its own knobs. Where the new run cannot be built the old one stays.
        """
        self.stop()
        self.wait()
        settings, wanted = self._state.settings, self._state.wanted
        try:
            knobs = None if wanted.method != settings.method else self._decoding.knobs
            self._decoding = self._build(wanted, knobs)
        except Exception as error:  # noqa: BLE001 (a widget has no place for a stack trace)
            self._fail(error)
            return
        if wanted.sampling != settings.sampling:
            self._plain = _Plain(lambda: self._build(replace(wanted, method=PLAIN), None))
        self._update(
            settings=wanted,
            knobs=self._decoding.knobs,
            trace=self._decoding.trace,
            checked=0,
            differs=-1,
            status="Reset: at the prompt again, with an empty pool.",
            failed=False,
        )

    def compare(self, on: bool = True) -> None:
        """Let plain decoding go along from now on, what is there already included; or stop it."""
        self._update(comparing=on)
        if not on or self._state.running:
            return
        try:
            self._follow()
        except Exception as error:  # noqa: BLE001 (a widget has no place for a stack trace)
            self._fail(error)
        else:
            self._publish()

    def __repr__(self) -> str:
        """One line, the same on every machine."""
        state = self._state
        made, out = len(state.trace.iterations), len(state.trace.tokens)
        name = visible(state.settings.method, keep=SHOWN)
        return f"<live {name}: {counted(made, 'iteration')}, {counted(out, 'token')}. {state.banner}>"

    def _build(self, settings: LiveSettings, knobs: Knobs | None) -> Decoding:
        sampling = SamplingOptions(**{**self._fixed, **settings.sampling})
        return decoder(
            self._pair,
            self._prompt,
            method=settings.method,
            knobs=knobs,
            max_new_tokens=self._limit,
            probabilities=settings.method != PLAIN,
            **sampling,
        )

    def _busy(self) -> bool:
        if self._state.running:
            self._update(status="The run goes on by itself; stop it first.", failed=False)
        return self._state.running

    def _run(self) -> None:
        """Step until stopped, finished or failed."""
        shown, going = perf_counter(), self._step()
        while going and not self._stop.is_set() and not self._decoding.finished:
            if perf_counter() - shown > REDRAW:
                self._publish()
                shown = perf_counter()
            going = self._step()
        if going:
            self._publish()
        self._update(trace=self._decoding.trace, running=False)

    def _step(self) -> bool:
        """One iteration and its comparison; whether that went well."""
        if self._decoding.finished:
            self._update(status="The run has ended; reset to start again.", failed=False)
            return False
        try:
            self._decoding.step()
            self._follow()
        except Exception as error:  # noqa: BLE001 (a widget has no place for a stack trace)
            self._fail(error)
            return False
        return True

    def _follow(self) -> None:
        """Let plain decoding catch up, unless the run is asked to stop meanwhile."""
        if self._state.comparing:
            for _ in self._plain.follow(len(self._decoding.tokens)):
                if self._state.running and self._stop.is_set():
                    break

    def _publish(self) -> None:
        """Show the run as it stands; nobody steps it meanwhile but the caller."""
        trace = self._decoding.trace
        checked, differs = self._plain.against(trace.tokens)
        told = str(trace.iterations[-1]) if trace.iterations else "Nothing has run yet."
        stopped = self._state.running and self._stop.is_set() and not trace.finish_reason
        status = f"Stopped; it can go on. {told}" if stopped else told
        self._update(trace=trace, checked=checked, differs=differs, status=status, failed=False)

    def _fail(self, error: Exception) -> None:
        self.error = error
        told = visible(str(error), spaces=False, keep=4 * SHOWN) or type(error).__name__
        self._update(status=f"Error: {told}", failed=True)

    def _update(self, **changes: Any) -> None:
        with self._lock:
            self._state = state = replace(self._state, **changes)
        for watcher in self._watchers:
            watcher(state)

    def _told(self, changed: dict[str, Any], asked: dict[str, Any]) -> str:
        """What a change of knobs did; a method may hold a knob in its place."""
        held = [name for name in asked if self._decoding.knobs.as_dict()[name] != asked[name]]
        if held:
            method = visible(self._state.settings.method, keep=SHOWN)
            return f"{method} holds {', '.join(held)} where {'it is' if len(held) == 1 else 'they are'}."
        if not changed:
            return "Nothing changed."
        number = len(self._decoding.iterations) + 1
        told = ", ".join(f"{name} = {value}" for name, value in changed.items())
        return f"From iteration {number} on: {told}. The text stays the same."


@dataclass
class _Plain:
    """Plain decoding, made when it is needed and no further than needed."""

    build: Callable[[], Decoding]
    decoding: Decoding | None = field(default=None)

    def follow(self, count: int) -> Iterator[None]:
        """Step until there are this many tokens; yields in between, so that it can be broken off."""
        if self.decoding is None:
            self.decoding = self.build()
        while len(self.decoding.tokens) < count and not self.decoding.finished:
            self.decoding.step()
            yield

    def against(self, tokens: tuple[int, ...]) -> tuple[int, int]:
        """How many were compared, and the first that differs, or −1."""
        plain = self.decoding.tokens if self.decoding is not None else ()
        pairs = list(zip(tokens, plain, strict=False))
        return len(pairs), next((at for at, (one, other) in enumerate(pairs) if one != other), -1)
