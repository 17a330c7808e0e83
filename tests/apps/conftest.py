"""The dashboard on the embedded pair: without a server, over HTTP, and in a browser."""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socket import socket
from typing import Any
from urllib.parse import parse_qs

import pytest

from phrasekit.cli.app import folder
from phrasekit.lm import Pair, load_pair
from tests.trace.conftest import lengthened, misplaced, partial, story, vanilla  # noqa: F401  (fixtures)
from tests.views.conftest import ahead, harvested, plain  # noqa: F401  (fixtures)

pytest.importorskip("panel", reason="the dashboard needs panel (pip install 'phrasekit[app]')")
pytest.importorskip("panel_material_ui", reason="the dashboard needs panel-material-ui")
if str(folder()) not in sys.path:
    sys.path.insert(0, str(folder()))

PROMPT = "def parse_args(self, args=None):\n"


def until(done: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until something holds; what it gave."""
    end = time.monotonic() + seconds
    while not (found := done()):
        if time.monotonic() > end:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.01)
    return found


@pytest.fixture(scope="session")
def pair() -> Pair:
    return load_pair()


@pytest.fixture
def hub(pair: Pair) -> Iterator[Any]:
    from dashboard.jobs.hub import ModelHub

    made = ModelHub(lambda spec: pair)
    yield made
    made.close()


@pytest.fixture
def visitor(hub: Any) -> Callable[..., Any]:
    """A session on the loaded pair, as fast as it goes; more than one share the hub."""
    from dashboard.visitor.options import Options
    from dashboard.visitor.session import Session
    from dashboard.visitor.state import Settings

    def make(**settings: Any) -> Any:
        chosen = {"pace": "full speed", "prompt": PROMPT, "tokens": 32, **settings}
        session = Session(hub, Options(), Settings(**chosen))
        assert hub.place(session.settings.spec).wait(30)
        return session

    return make


def arguments(query: str) -> dict[str, list[bytes]]:
    """A link's values, as a server hands them over."""
    parsed = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    return {name: [value.encode() for value in values] for name, values in parsed.items()}


def finish(session: Any) -> Any:
    """Let everything of a session end, as its page would."""

    def over() -> bool:
        session.tick()
        return not session.busy

    until(over)
    session.tick()
    return session


@contextmanager
def served(hub: Any, **options: Any) -> Iterator[str]:
    """The dashboard at a free port of this machine."""
    import panel as pn

    from dashboard.app import serve
    from dashboard.visitor.options import Options
    from phrasekit.cli.app import rules

    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pn.serve(
        {"/": lambda: serve(Options(**options), hub)},
        port=port,
        address="127.0.0.1",
        show=False,
        threaded=True,
        verbose=False,
        **rules((), None),
    )
    until(lambda: answers(port))
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        pn.state.kill_all_servers()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # connections that browsers left open
            gc.collect()


@pytest.fixture(scope="module")
def address(pair: Pair) -> Iterator[str]:
    """The dashboard on the loaded pair, for a module's browser tests."""
    from dashboard.jobs.hub import ModelHub
    from dashboard.visitor.state import Settings

    hub = ModelHub(lambda spec: pair)
    hub.place(Settings().spec).wait(30)
    with served(hub) as found:
        yield found
    hub.close()


def answers(port: int) -> bool:
    """Whether somebody listens."""
    with socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
