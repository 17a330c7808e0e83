"""Which phrases Pool shows, whose they are, and the run that tells their lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.tabs.pool.rows import Row, rows_of_pool, rows_of_trace
from dashboard.visitor.session import RECORDED, Session
from phrasekit.trace import Trace
from phrasekit.trace.summary import counted
from phrasekit.views.escape import escape

WHOSE = {"shared": "The pool that everybody here shares", "kept": "Your pool, kept between runs,"}
LAST = "The pool of your last run"


@dataclass(frozen=True)
class Shown:
    """What there is to see.

    Attributes:
        whose: the pool in words, to begin a sentence.
        rows: its phrases.
        trace: the run that used it, or None where no such run is shown.
    """

    whose: str
    rows: tuple[Row, ...]
    trace: Trace | None

    @property
    def last(self) -> int:
        """Iterations of the run."""
        return len(self.trace.iterations) if self.trace is not None else 0

    @property
    def sentence(self) -> str:
        """How many phrases there are and what they brought, as markup."""
        if not self.rows:
            return f"{escape(self.whose)} is empty."
        held = sum(not row.gone for row in self.rows)
        gone = len(self.rows) - held
        used, kept = sum(row.kept > 0 for row in self.rows), sum(row.kept for row in self.rows)
        more = f" and had to let {gone} go" if gone else ""
        return (
            f"{escape(self.whose)} holds <b>{counted(held, 'phrase')}</b>{more}; <b>{used} of them</b> put "
            f"{self._put(kept)}."
        )

    def _put(self, kept: int) -> str:
        """How many tokens came out of the pool; of a run's, where all of them went into that."""
        trace = self.trace
        if trace is None or kept != sum(row.life.kept for row in self.rows if row.life is not None):
            return f"<b>{counted(kept, 'token')}</b> into texts"
        return f"<b>{kept} of the {counted(len(trace.tokens), 'token')}</b> into the text"


def shown(session: Session) -> Shown:
    """The phrases of an uploaded run, else the visitor's own, else those of the recorded run."""
    pool, run = session.pool, session.run
    if session.uploaded is not None:
        return Shown("The pool of the uploaded run", rows_of_trace(session.uploaded), session.uploaded)
    if session.source == RECORDED and not len(pool):
        return Shown("The pool of a recorded run", rows_of_trace(session.recorded), session.recorded)
    # phrases are numbered by their pool: a run that used another one tells nothing of them
    trace = run.trace if run is not None and run.iterations and run.pool is pool else None
    rows = rows_of_pool(pool, _texts(session), trace) if len(pool) else ()
    return Shown(WHOSE.get(session.settings.pool, LAST), rows, trace)


def _texts(session: Session) -> Callable[[int], str]:
    """What token ids read like: as the run has looked them up, else by the pair's tokenizer."""
    place = session.place
    known = dict(session.run.texts) if session.run is not None else {}
    tokenizer = place.pair.tokenizer if place is not None and place.pair is not None else None

    def text_of(token: int) -> str:
        if token not in known:
            known[token] = tokenizer.decode([token]) if tokenizer is not None else f"#{token}"
        return known[token]

    return text_of
