"""Links that open an iteration in the stepper of the same run, wherever in the page it stands."""

from __future__ import annotations

from hashlib import sha256

from phrasekit.trace.records import Trace

HREF = "#phrasekit-{key}-{number}"  # stepper.js reads it; iterations count from 1


def run_key(trace: Trace) -> str:
    """Tells runs in one page apart; the same run has the same key everywhere."""
    told = repr((trace.method, trace.prompt, trace.tokens, len(trace.iterations)))
    return sha256(told.encode()).hexdigest()[:12]


def opens(key: str, iteration: int, markup: str) -> str:
    """Markup that opens an iteration when it is clicked, plain where the run has no key.

    Args:
        key: of the run.
        iteration: counts from 0.
        markup: what to click; safe already.
    """
    if not key:
        return markup
    href = HREF.format(key=key, number=iteration + 1)
    told = f"open iteration {iteration + 1} in the stepper"
    return f'<a class="pk-open" href="{href}" title="{told}">{markup}</a>'
