"""Pages with a stepper in them, opened in chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


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
