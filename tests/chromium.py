"""An installed chromium, or Playwright's own; where there is none these tests say so and are skipped.

One for all tests of a process: Playwright cannot be started twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
NEEDED = "browser tests need chromium (apt-get install chromium) and playwright (pip install playwright)"


def chromium(own: str) -> str | None:
    """An installed browser, or `own`, the path of the one that `playwright install chromium` fetches."""
    return next(filter(None, map(shutil.which, (*NAMES, own))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason=NEEDED)
    with playwright.sync_playwright() as started:
        found = chromium(started.chromium.executable_path)
        if found is None:
            pytest.skip(NEEDED)
        running = started.chromium.launch(executable_path=found, args=list(FLAGS))
        yield running
        running.close()
