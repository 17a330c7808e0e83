"""What the page says: a job's state, a setting in short, a number with its unit."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.jobs.job import CANCELLED, DONE, FAILED, PAUSED, RUNNING, WAITING, Job
from dashboard.jobs.run import SYMBOLS, LiveRun
from phrasekit.trace.summary import counted
from phrasekit.widgets.controls import read_by

# knob → name, meaning
KNOBS: Mapping[str, tuple[str, str]] = {
    "gamma": ("draft length", "Tokens the draft must deliver before the target looks."),
    "guesses": ("guesses", "Pool phrases tried in each draft forward."),
    "window": ("window", "Columns that guess ahead. Each gives one n-gram a forward."),
    "level": ("level", "Length of those n-grams: a key and N − 1 followers."),
    "suffixes": ("suffixes", "Pool phrases put behind the draft, in case all of it is right."),
    "beta": ("phrase length", "Suffix length: β − 1 new tokens for the target."),
    "lookup": ("copied tokens", "Tokens copied from the context, where the same words stood before."),
}
ENDED = {
    "eos": "the model ended the text",
    "stop": "a stop string ended the text",
    "length": "the token limit was reached",
    "context": "the model's context is full",
    "cancelled": "cancelled",
}
POOLS = {
    "empty for every run": "fresh",
    "mine, kept between runs": "kept",
    "shared with everybody here": "shared",
}

LANES = {"one after the other": "serial", "at the same time": "threads"}


def short(method: str, knobs: Mapping[str, int]) -> str:
    """The knobs a method reads, as "γ4 G0 K3"."""
    return " ".join(
        f"{SYMBOLS[name]}{knobs[name]}" for name in read_by(method) if name in knobs and name in SYMBOLS
    )


def queued(job: Job) -> str:
    """Where a job that waits for its first turn stands."""
    ahead = job.ahead
    return f"position {ahead + 1} in the queue" if ahead else "next in the queue"


def sharing(job: Job) -> str:
    """Who has turns beside a job that runs; "" where nobody has."""
    others = job.others
    return f"taking turns with {counted(others, 'other')}" if others else ""


def state_of(run: LiveRun | None) -> tuple[str, str]:
    """A run's state in one word, and what else there is to say."""
    if run is None:
        return "Ready", "nothing has run yet"
    made = counted(len(run.tokens), "token")
    if run.status == WAITING:
        return "Waiting", queued(run)
    if run.status == RUNNING:
        return "Running", sharing(run)
    if run.status == PAUSED:
        return "Paused", f"after {made}; what is shown is complete up to there"
    if run.status == CANCELLED:
        return "Cancelled", f"after {made}; what is shown is complete up to there"
    if run.status == FAILED:
        return "Stopped", f"{run.message} The text up to there is checked by the target."
    if run.status == DONE:
        return "Done", ENDED.get(run.finish_reason, "")
    return "Ready", ""


def count_short(number: float) -> str:
    """5_200_000 as "5.2 M"."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f}"


def megabytes(count: float) -> str:
    """Bytes as MB or GB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
