"""Trials in Optuna studies: one study per method and conditions, all in one journal file.

Known tools open the file (`optuna-dashboard`, `optuna.load_study`), and a search that was killed goes on
where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phrasekit.bench.standings import Spread
from phrasekit.decode.knobs import BOUNDS
from phrasekit.errors import StudyFormatError
from phrasekit.tune.axes import Plan, choices
from phrasekit.tune.records import COMPLETE, FAILED, KILLED, RUNNING, TrialRecord
from phrasekit.tune.strategy import Point

if TYPE_CHECKING:
    import optuna

    Distributions = dict[str, optuna.distributions.BaseDistribution]

LINE = b'{"op_code":'  # how Optuna begins every line of a journal
LOCK_SECONDS = 5  # after which the lock that a killed process left on the journal is broken
# What Optuna raises for a journal with lines that are none of its own; it does not check them first.
FOREIGN = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, AssertionError)


def check_optuna() -> None:
    """Say what to install before anything else happens.

    Raises:
        ImportError: Optuna is not there.
    """
    if find_spec("optuna") is None:
        raise ImportError("tuning needs Optuna, which is not installed; pip install 'phrasekit[tune]'")


class TrialStore:
    """The trials of one plan.

    Args:
        study: where they live.
        plan: gives every point its knobs.
    """

    def __init__(self, study: optuna.Study, plan: Plan) -> None:
        self._study = study
        self._plan = plan
        self._distributions = _distributions(plan)
        self._running: optuna.Trial | None = None

    def find(self, point: Point) -> TrialRecord | None:
        """A trial of these values that need not be repeated."""
        for trial in self._study.get_trials(deepcopy=False):
            if trial.params == dict(point.values):
                record = self._record(trial)
                if record.settled:
                    return record
        return None

    def begin(self, point: Point) -> TrialRecord:
        """A new running trial."""
        values = dict(point.values)
        self._study.enqueue_trial(values, user_attrs={"stage": point.stage})
        trial = self._study.ask(self._distributions)
        while trial.params != values:  # enqueued by a search that was killed before it took it up
            self._study.tell(trial, state=_state(FAILED))
            trial = self._study.ask(self._distributions)
        self._running = trial
        return TrialRecord(
            number=trial.number,
            method=self._plan.method,
            values=values,
            knobs=self._plan.knobs(point).as_dict(),
            stage=point.stage,
            state=RUNNING,
        )

    def finish(self, record: TrialRecord) -> None:
        """Write down how the running trial ended."""
        trial = self._running
        if trial is None or trial.number != record.number:
            raise RuntimeError(f"trial {record.number} must be running to be finished, but is not; begin it")
        ratio = record.ratio
        notes = {
            "ratio": None if ratio is None else [ratio.low, ratio.median, ratio.high],
            "tokens_per_target_forward": record.tokens_per_target_forward,
            "tokens_per_draft_forward": record.tokens_per_draft_forward,
            "ms": record.ms,
            "plain_ms": record.plain_ms,
            "identical": record.identical,
            "failure": record.failure,
            "reason": record.reason,
        }
        for name, value in notes.items():
            trial.set_user_attr(name, value)
        self._study.tell(trial, record.score, state=_state(record.state))
        self._running = None

    def note(self, name: str, value: object) -> None:
        """Keep something about the whole search."""
        self._study.set_user_attr(name, value)

    def bury(self) -> None:
        """Fail the trials that were running when their process ended."""
        for trial in self._study.get_trials(deepcopy=False):
            if trial.state.name == "RUNNING":
                self._study.tell(trial.number, state=_state(FAILED))

    def _record(self, trial: optuna.trial.FrozenTrial) -> TrialRecord:
        notes = trial.user_attrs
        values = dict(trial.params)
        point = Point(values, str(notes.get("stage", "")))
        ratio = notes.get("ratio")
        complete = trial.state.name == "COMPLETE"
        # a failure without its reason was never told: the process ended first
        failure = "" if complete else str(notes.get("failure") or KILLED)
        return TrialRecord(
            number=trial.number,
            method=self._plan.method,
            values=values,
            knobs=self._plan.knobs(point).as_dict(),
            stage=point.stage,
            state=COMPLETE if complete else FAILED,
            ratio=None if ratio is None else Spread(median=ratio[1], low=ratio[0], high=ratio[2]),
            tokens_per_target_forward=notes.get("tokens_per_target_forward"),
            tokens_per_draft_forward=notes.get("tokens_per_draft_forward"),
            ms=notes.get("ms"),
            plain_ms=notes.get("plain_ms"),
            identical=notes.get("identical"),
            failure=failure,
            reason=str(notes.get("reason") or ("the search ended before it" if failure else "")),
            reused=True,
        )


class Studies:
    """The studies of a journal file, or in memory without one."""

    def __init__(self, storage: optuna.storages.BaseStorage, place: str) -> None:
        self._storage = storage
        self._place = place

    def store(self, plan: Plan, conditions: Mapping[str, object]) -> TrialStore:
        """The trials of a plan under these conditions; others are other studies, so that they never mix.

        Raises:
            StudyFormatError: the study holds something that is not of this form.
        """
        import optuna

        whole = {**conditions, "method": plan.method, "start": plan.start.as_dict()}
        for name in plan.axes:  # searched, so its start does not matter
            whole["start"].pop(name, None)  # type: ignore[attr-defined]
        text = json.dumps(whole, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        try:
            with _quiet():
                study = optuna.create_study(
                    study_name=f"{plan.method} {digest}",
                    storage=self._storage,
                    sampler=optuna.samplers.RandomSampler(seed=0),  # every value is given, none is drawn
                    direction="maximize",
                    load_if_exists=True,
                )
            if study.user_attrs.get("conditions") != json.loads(text):
                study.set_user_attr("conditions", json.loads(text))
            store = TrialStore(study, plan)
            store.bury()
            for trial in study.get_trials(deepcopy=False):
                store._record(trial)  # damage shows now and not in the middle of a search
        except FOREIGN as error:
            raise _damaged(self._place, error) from error
        return store


@contextmanager
def open_studies(path: Path | None) -> Iterator[Studies]:
    """Open the journal, or make it.

    Args:
        path: the file; None keeps trials in memory.

    Raises:
        ImportError: Optuna is not installed.
        StudyFormatError: the file is no journal of Optuna's, or is damaged.
        OSError: the file cannot be read or written.
        RuntimeError: another search has the file open.
    """
    check_optuna()
    import optuna
    from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

    if path is None:
        yield Studies(optuna.storages.InMemoryStorage(), "in memory")
        return
    with _held(path):
        lock = JournalFileSymlinkLock(str(path), grace_period=LOCK_SECONDS)
        _mend(path)
        _check(path)
        try:
            storage = optuna.storages.JournalStorage(JournalFileBackend(str(path), lock_obj=lock))
        except FOREIGN as error:
            raise _damaged(str(path), error) from error
        yield Studies(storage, str(path))


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep other searches off the file; the system lets go when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RuntimeError(
                f"a study takes one search at a time, but another one has {str(path)!r} open; wait for it, "
                "or name another file"
            ) from error
        yield


def _mend(path: Path) -> None:
    """Cut off a last line without its end, which a process killed while writing leaves behind."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    torn = data[end:]
    # nobody else's file is touched: both the first line and what is left of the last are of a journal
    if torn and data.startswith(LINE) and (torn.startswith(LINE) or LINE.startswith(torn)):
        with path.open("r+b") as file:
            file.truncate(end)
            file.flush()
            os.fsync(file.fileno())


def _check(path: Path) -> None:
    """Refuse a file of something else before Optuna writes into it.

    Optuna itself takes a last line that it cannot read for one that is still being written.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            known = line.endswith(b"\n") and isinstance(json.loads(line)["op_code"], int)
        except FOREIGN as error:
            raise _damaged(str(path), error) from error
        if not known:
            raise _damaged(str(path), ValueError(f"line {number}"))


def _state(state: str) -> optuna.trial.TrialState:
    from optuna.trial import TrialState

    return TrialState.COMPLETE if state == COMPLETE else TrialState.FAIL


def _damaged(place: str, error: Exception) -> StudyFormatError:
    return StudyFormatError(
        f"a study must be a journal file of Optuna's, but {place!r} is none or is damaged "
        f"({type(error).__name__}: {str(error)[:120]}); name another file, or move this one away"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna tells on standard error what it creates."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        with suppress(ValueError):
            optuna.logging.set_verbosity(before)


def _distributions(plan: Plan) -> Distributions:
    """Every value a knob can have, so that a wider search later is the same study."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    found: Distributions = {}
    for name in plan.axes:
        values: Any = choices(name)
        found[name] = IntDistribution(*BOUNDS[name]) if values is None else CategoricalDistribution(values)
    return found
