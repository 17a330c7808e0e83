"""Where a job of a tab is, on one line with its progress."""

from __future__ import annotations

from dashboard.jobs.job import CANCELLED, DONE, FAILED, PAUSED, RUNNING, WAITING, Job
from dashboard.jobs.words import queued, sharing
from phrasekit.views.escape import escape


def job_line(
    job: Job | None, *, idle: str, doing: str, kept: str, share: int, count: str, done: str = ""
) -> str:
    """Markup of the line.

    Args:
        job: None before the first one.
        idle: what to say then.
        doing: what it does, while it does it.
        kept: what stays of a job that was cancelled.
        share: progress of a hundred.
        count: the same in things that are done.
        done: what to say of a job that came to its end.
    """
    if job is None:
        return f'<div class="state"><i class="dot ready"></i><b>Ready</b><span>{escape(idle)}</span></div>'
    word, more = {
        WAITING: ("Waiting", queued(job)),
        RUNNING: ("Running", "; ".join(filter(None, (doing, sharing(job))))),
        PAUSED: ("Paused", doing),
        FAILED: ("Stopped", job.message),
        CANCELLED: ("Cancelled", f"{kept}; what is shown is complete up to there"),
        DONE: ("Done", done),
    }.get(job.status, ("Ready", idle))
    values = f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{share}"'
    bar = (
        f'<div class="progress" role="progressbar" aria-label="progress" {values}>'
        f"<em><span>{escape(count)}</span><span>{share} %</span></em>"
        f'<i><i style="width:{share}%"></i></i></div>'
    )
    dot = f'<i class="dot {word.lower()}"></i>'
    return f'<div class="state">{dot}<b>{word}</b><span>{escape(more)}</span>{bar}</div>'
