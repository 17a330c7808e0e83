"""A page that goes while something is written to it is no failure, and the log keeps quiet about it."""

from __future__ import annotations

import logging

from tornado.websocket import WebSocketClosedError


class Gone(logging.Filter):
    """Leaves out what asyncio says of writing to a closed connection, and nothing else.

    Panel writes a message in three parts. Where one of them finds the connection closed it stops, and never
    asks what became of those before (`panel.io.document.dispatch_tornado`); asyncio then reports each of
    them as an exception that nobody retrieved, with its whole traceback.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to keep a record."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, WebSocketClosedError)


def hush() -> None:
    """Leave it out of this server's log from now on."""
    told = logging.getLogger("asyncio")
    if not any(isinstance(one, Gone) for one in told.filters):
        told.addFilter(Gone())
