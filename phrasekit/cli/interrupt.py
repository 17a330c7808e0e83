"""Ctrl-C ends a run between two iterations, so that nothing is half made."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from typing import Any


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
