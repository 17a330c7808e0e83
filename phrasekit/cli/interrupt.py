"""Ctrl-C ends a run between two iterations, so that nothing is half made."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phrasekit.api import Decoding
    from phrasekit.trace import Iteration


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Take note of the first Ctrl-C instead of raising; the second raises as ever.

    Yields:
        Whether Ctrl-C has been pressed.
    """
    pressed = Event()
    if current_thread() is not main_thread():  # only the main thread may take signals
        yield pressed.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:  # noqa: ARG001 (the form of a signal handler)
        pressed.set()
        signal.signal(signal.SIGINT, before or signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)


def follow(decoding: Decoding, stopped: Callable[[], bool]) -> Iterator[Iteration]:
    """Iterations to the end, or to where it is stopped or fails; what was made is kept."""
    try:
        while not decoding.finished and not stopped():
            yield decoding.step()
    finally:
        decoding.cancel()  # a run that ended by itself keeps its own reason
