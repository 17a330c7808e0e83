"""An installed chromium, or Playwright's own; where there is none these tests say so and are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
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


class Opened:
    """A page with a stepper in it."""

    def __init__(self, page: Any, errors: list[str], requests: list[str]) -> None:
        self.page, self.errors, self.requests = page, errors, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def root(self) -> Any:
        return self.page.locator(".pk-stepper")

    def iteration(self) -> int:
        return int(self.page.locator(".count b").inner_text())

    def stage(self) -> str:
        return str(self.page.locator(".phase [aria-current]").inner_text().split()[0])

    def press(self, *keys: str) -> None:
        self.root().focus()
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open HTML in a page; at the end no script may have failed and nothing may have been fetched."""
    opened: list[Opened] = []

    def open_html(html: str, *, width: int = 1400, **context: Any) -> Opened:
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 2200}, **context)
        page.set_default_timeout(10_000)
        here = Opened(page, [], [])
        page.on("pageerror", lambda error: here.errors.append(str(error)))
        page.on(
            "console", lambda message: here.errors.append(message.text) if message.type == "error" else None
        )
        page.on("request", lambda request: here.requests.append(request.url))
        page.goto(path.as_uri())
        opened.append(here)
        return here

    yield open_html
    for one in opened:
        fetched = [url for url in one.requests if not url.startswith(("file:", "data:", "blob:"))]
        one.page.close()
        assert not one.errors
        assert not fetched
