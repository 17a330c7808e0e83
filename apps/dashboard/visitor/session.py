"""One page: its settings, and what its visitor has. Nothing of it is seen by anybody else."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import param

from dashboard.jobs.hub import BusyError, ModelHub, Place
from dashboard.jobs.job import Job, told
from dashboard.jobs.pinned import Pinned
from dashboard.jobs.proof import PlainRun, Verdict, baseline_of, compare
from dashboard.jobs.run import PLAIN, LiveRun
from dashboard.jobs.visits import Visit
from dashboard.visitor.mishap import VIEW
from dashboard.visitor.options import Options
from dashboard.visitor.state import REACH, Settings
from phrasekit import demo
from phrasekit.errors import PhrasekitError
from phrasekit.methods import METHODS, knobs_of
from phrasekit.pool import PhrasePool
from phrasekit.trace import Trace, load_trace, visible

PINS = 8
RECORDED = "recorded"
TOKEN = re.compile(r"[0-9a-f]{32}")  # of a browser tab
MOVED = "What this page had is shown by another one now, which came from it."

log = logging.getLogger("phrasekit.dashboard")

Kind = TypeVar("Kind", bound=Job)


class Session(param.Parameterized):
    """Everything between the widgets and the pair's thread; it needs no server.

    Attributes:
        settings: what the visitor has chosen.
        pulse: grows whenever something of a job is worth showing; views watch it.
        following: whether anything goes on, so that the page must call `tick`.
        notice: the last thing that went wrong, in words; "" where nothing did.
        theme: "light" or "dark".
        together: what a pulse is raised in, so that a page sends what changes as one message.
    """

    pulse = param.Integer(0)
    following = param.Boolean(False)
    notice = param.String("")
    theme = param.Selector(default="light", objects=["light", "dark"])

    def __init__(self, hub: ModelHub, options: Options, settings: Settings | None = None) -> None:
        super().__init__()
        self.hub, self.options = hub, options
        self.settings = settings if settings is not None else Settings()
        self.recorded = demo.load_recorded()
        self.together: Callable[[], AbstractContextManager[Any]] = nullcontext
        self._page = object()
        self._visit = Visit(page=self._page)
        self._arrived = False
        self._seen: tuple[object, ...] = ()
        self.settings.param.watch(self._knobs_moved, [*REACH, "method"])

    # --- what there is -------------------------------------------------------------------------

    @property
    def visit(self) -> Visit:
        """What the visitor has; nothing any more, where a page that came from this one has taken it along."""
        if self._visit.page is not self._page:
            self._visit = Visit(page=self._page)
        return self._visit

    @property
    def owner(self) -> str:
        """In whose name jobs have turns."""
        return self.visit.owner

    @property
    def run(self) -> LiveRun | None:
        """The run shown on Step and Tune."""
        return self.visit.run

    @property
    def plain(self) -> PlainRun | None:
        """Plain decoding of the same prompt, once somebody asked for the proof."""
        return self.visit.plain

    @property
    def pins(self) -> tuple[Pinned, ...]:
        """Settings kept for comparison."""
        return self.visit.pins

    @property
    def uploaded(self) -> Trace | None:
        """A trace from a file, shown in place of the run."""
        return self.visit.uploaded

    def last(self, kind: type[Kind]) -> Kind | None:
        """The visitor's last job of a kind."""
        return next((job for job in reversed(self.visit.jobs) if isinstance(job, kind)), None)

    @property
    def place(self) -> Place | None:
        """Where the chosen pair is, if anybody loaded it; asking does not load it."""
        return self.hub.find(self.settings.spec)

    @property
    def trace(self) -> Trace:
        """What Step shows: an uploaded trace, else the run, else a recorded one."""
        if self.uploaded is not None:
            return self.uploaded
        if self.run is not None and self.run.iterations:
            return self.run.trace
        return self.recorded

    @property
    def source(self) -> str:
        """Where that comes from: "uploaded", "run" or "recorded"."""
        if self.uploaded is not None:
            return "uploaded"
        return "run" if self.run is not None and self.run.iterations else RECORDED

    @property
    def baseline(self) -> Trace | None:
        """Plain decoding of what Step shows."""
        if self.source == RECORDED:
            return demo.load_recorded(PLAIN)
        return baseline_of(self.run, self.plain) if self.uploaded is None else None

    @property
    def verdict(self) -> Verdict | None:
        """Whether the run's text is that of plain decoding; None until it was checked."""
        if self.run is None or self.plain is None or not self.plain.iterations:
            return None
        return compare(self.run.tokens, self.plain.tokens)

    @property
    def pool(self) -> PhrasePool:
        """The phrases that the visitor has: the shared ones where these are chosen, else their own."""
        place = self.place
        if self.settings.pool == "shared":
            return place.pool if place is not None else PhrasePool()
        visit = self.visit
        mine = place is not None and visit.pool_of == place.spec
        return visit.pool if mine else PhrasePool()

    @property
    def waits(self) -> tuple[str, ...]:
        """What was changed and waits for a new run."""
        if self.run is None:
            return ()
        now, then = self.settings.plan(), self.run.plan
        names = ("prompt", "temperature", "top_p", "seed", "max_new_tokens")
        return tuple(name for name in names if getattr(now, name) != getattr(then, name))

    # --- what a visitor does -------------------------------------------------------------------

    def start(self) -> bool:
        """Decode; whether it was accepted."""
        if self.run is not None:
            self.run.cancel()
        place = self._open()
        if place is None:
            return False
        plan = self.settings.plan(prompt_tokens=self.options.prompt_tokens)
        run = LiveRun(plan, owner=self.owner, pool=self._pool_for(place))
        if not self.submit(run, place):
            return False
        if self.plain is not None and self.plain.plan.text_of != plan.text_of:
            self._forget_plain()
        self.visit.uploaded, self.visit.run = None, run
        self.settings.step = 0
        self.tick()
        return True

    def cancel(self) -> None:
        """Stop the run within an iteration; what was made stays."""
        if self.run is not None:
            self.run.cancel()
        self.tick()

    def hold(self) -> None:
        """Pause the run, or let it go on."""
        if self.run is not None and self.run.active:
            (self.run.resume if self.run.held else self.run.pause)()
        self.tick()

    def prove(self) -> bool:
        """Decode the same prompt plainly, as far as the run went, and compare."""
        run = self.run
        if run is None or not run.iterations or (self.plain is not None and self.plain.active):
            return False
        made = len(run.tokens) if run.over else run.plan.max_new_tokens
        plain = PlainRun(run.plan, tokens=made, owner=self.owner)
        if not self.submit(plain):
            return False
        self.visit.plain = plain
        self.tick()
        return True

    def pin(self) -> bool:
        """Keep the setting, and measure it against plain decoding on the same prompt."""
        if len(self.pins) >= PINS:
            self.notice = f"At most {PINS} settings can be pinned; remove one first."
            return False
        pin = Pinned(self.settings.plan(pace=0.0, prompt_tokens=self.options.prompt_tokens), owner=self.owner)
        if not self.submit(pin):
            return False
        self.visit.pins = (*self.pins, pin)
        self.tick()
        return True

    def unpin(self, pin: Pinned) -> None:
        """Drop a pin."""
        pin.cancel()
        self.visit.pins = tuple(one for one in self.pins if one is not pin)
        self.tick()

    def upload(self, content: bytes) -> bool:
        """Show a trace from a file; whether it could be read. Nothing of it is believed before."""
        if len(content) > self.options.trace_bytes:
            self.notice = (
                f"A trace may have at most {self.options.trace_bytes >> 20} MB here, but this one has "
                f"{len(content) / 2**20:.1f} MB."
            )
            return False
        folder = ""
        try:
            with TemporaryDirectory(prefix="phrasekit-") as folder:
                path = Path(folder) / "upload.jsonl"
                path.write_bytes(content)
                self.visit.uploaded = load_trace(path, max_bytes=self.options.trace_bytes)
        except (PhrasekitError, OSError) as error:
            self.notice = f"This file is no trace that can be shown. {without(error, folder)}"
            return False
        self.settings.step = 0
        self.notice = ""
        self.tick()
        return True

    def take_pool(self, pool: PhrasePool, place: Place) -> None:
        """Begin the next runs with these phrases; nobody else sees them."""
        self.visit.pool, self.visit.pool_of = pool, place.spec
        self.settings.pool = "kept"
        self.tick()

    def leave_upload(self) -> None:
        """Show the run again."""
        self.visit.uploaded = None
        self.tick()

    def load(self) -> Place | None:
        """Load the chosen pair, if it may be loaded."""
        return self._open()

    def submit(self, job: Job, place: Place | None = None) -> bool:
        """Hand a job to the pair's thread; whether it was accepted. The pulse covers it from now on."""
        place = place if place is not None else self._open()
        if place is None:
            return False
        try:
            place.submit(job)
        except BusyError as error:
            self.notice = told(error)
            return False
        kept = (one for one in self.visit.jobs if one.active or type(one) is not type(job))
        self.visit.jobs = [*kept, job]
        self.notice = ""
        return True

    def tick(self) -> None:
        """Raise the pulse if anything changed; the page calls this a few times a second."""
        if self._visit.page is not self._page:
            self.notice = MOVED
        busy = self.busy  # asked first: what ends from here on is seen by the next look
        place = self.place
        jobs = tuple((job.number, job.version, job.ahead, job.others) for job in self._every_job())
        status = (place.status, place.message, place.steps) if place is not None else None
        now = (jobs, status, self.uploaded is not None, len(self.pins), self.settings.spec)
        if now != self._seen:
            self._seen = now
            with self.together():
                self.pulse += 1
        self.following = busy

    @property
    def busy(self) -> bool:
        """Whether anything goes on that the page must follow."""
        loading = self.place is not None and self.place.status == "loading"
        return loading or any(job.active for job in self._every_job())

    def arrive(self, token: str) -> None:
        """The page says which browser tab it stands in: what that tab had before is shown again.

        Args:
            token: a secret of the tab; only the first one counts.
        """
        if self._arrived or not TOKEN.fullmatch(token):
            return
        self._arrived = True
        self._visit = self.hub.visits.come(token, self.visit)
        self.tick()

    def close(self) -> None:
        """The page is gone for good: stop what is its visitor's, unless another page has taken it along."""
        visit = self.visit
        if self.hub.visits.leave(visit, self._page):
            for job in self._every_job():
                job.cancel()

    def watch(self, show: Callable[[], None]) -> None:
        """Call `show` with every pulse; one that fails keeps it from nobody else."""

        def look(*_: Any) -> None:
            try:
                show()
            except Exception:
                log.exception(VIEW)
                self.notice = VIEW

        self.param.watch(look, "pulse")

    # --- inside --------------------------------------------------------------------------------

    def _open(self) -> Place | None:
        """The chosen pair's place, loading if need be; None where it must not or cannot be."""
        try:
            self.options.check(self.settings.spec)
            self._check_prompt()
            place = self.hub.place(self.settings.spec)
        except (BusyError, ValueError) as error:
            self.notice = told(error)
            return None
        self.following = True
        return place

    def _check_prompt(self) -> None:
        most, given = self.options.prompt_characters, len(self.settings.prompt)
        if not self.settings.prompt.strip():
            raise ValueError("a prompt must hold some words, but it is empty; type one or take an example")
        if given > most:
            raise ValueError(
                f"a prompt may have at most {most} characters here, but it has {given}; shorten it"
            )

    def _pool_for(self, place: Place) -> PhrasePool:
        """Phrases the run begins with, as the visitor chose."""
        if self.settings.pool == "shared":
            return place.pool
        visit = self.visit
        if self.settings.pool == "fresh" or visit.pool_of != place.spec:
            visit.pool, visit.pool_of = PhrasePool(), place.spec
        return visit.pool

    def _knobs_moved(self, *events: Any) -> None:
        """A knob holds from the next iteration on."""
        if any(event.name == "method" for event in events):
            self._show_knobs_of(self.settings.method)
        run = self.run
        if run is not None and run.active:
            run.change(method=self.settings.method, knobs=self.settings.knobs)
            self.tick()

    def _show_knobs_of(self, method: str) -> None:
        """A method brings its own knobs."""
        place = self.place
        if place is not None and place.pair is not None:
            self.settings.take_knobs(knobs_of(METHODS[method], place.pair, None).as_dict())

    def _forget_plain(self) -> None:
        if self.plain is not None:
            self.plain.cancel()
        self.visit.plain = None

    def _every_job(self) -> Iterable[Job]:
        visit = self.visit
        known: list[Job] = [job for job in (visit.run, visit.plain) if job is not None]
        return dict.fromkeys([*known, *visit.pins, *visit.jobs])


def without(error: Exception, folder: str) -> str:
    """An error's message without the path of a temporary file."""
    return visible(told(error).replace(str(Path(folder) / "upload.jsonl"), "The file").replace(folder, ""))
