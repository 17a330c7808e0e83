"""Measure the dashboard in a browser on this machine: how soon it answers, what being watched costs a run.

    python tools/measure_app.py                # everything, medians over --repeats
    python tools/measure_app.py charts --threads 1

``load``: from the address to a page that takes clicks, in a browser that never saw it, and again, when
the server has just been started. ``run``: from a click on Run to the first iteration on screen.
``slider``: from a key on the slider of γ, in a run at full speed, to the mark of the change on the charts.
``charts``: iterations a second of one run with the page drawing it and with nobody looking, in turns.
Browser and run share the machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import panel as pn
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "apps")]

from dashboard.app import beside_pages, serve
from dashboard.jobs.hub import ModelHub
from dashboard.jobs.job import Job
from dashboard.jobs.run import LiveRun
from dashboard.visitor.options import Options
from dashboard.visitor.state import Settings
from tests.apps.conftest import answers
from tests.chromium import FLAGS, chromium

PORT = 5599
READY = "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle"
TOKENS = 512


class Watched(ModelHub):
    """A hub that keeps the jobs it was given."""

    def __init__(self, threads: int | None) -> None:
        super().__init__(beside_pages(threads))
        self.home = self.place(Options().pair)
        self.home.wait(120)
        self.jobs: list[Job] = []
        self._submit = self.home.submit
        self.home.submit = self.submit  # type: ignore[method-assign]

    def submit(self, job: Job) -> None:
        """Keep it, and let it run."""
        self.jobs.append(job)
        self._submit(job)


@contextmanager
def served(hub: ModelHub) -> Iterator[str]:
    """The dashboard in a thread of this process."""
    pn.serve(
        {"/": lambda: serve(Options(), hub)},
        port=PORT,
        address="127.0.0.1",
        show=False,
        threaded=True,
        verbose=False,
    )
    time.sleep(1)
    try:
        yield f"http://127.0.0.1:{PORT}/"
    finally:
        pn.state.kill_all_servers()


@contextmanager
def opened(browser: Browser, address: str, **settings: Any) -> Iterator[Page]:
    """A page of a browser without history."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.add_init_script("localStorage.setItem('phrasekit-tour', 'seen')")
    page = context.new_page()
    page.goto(address + Settings(**settings).query())
    page.get_by_role("button", name="Run", exact=True).wait_for()
    page.wait_for_function(READY)
    yield page
    context.close()


@contextmanager
def started() -> Iterator[str]:
    """`phrasekit app` in a process of its own, as somebody starts it."""
    given = [str(Path(sys.executable).with_name("phrasekit")), "app", "--no-browser", "--port", str(PORT + 1)]
    server = subprocess.Popen(given, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while server.poll() is None and not answers(PORT + 1):
            time.sleep(0.02)
        yield f"http://127.0.0.1:{PORT + 1}/"
    finally:
        server.terminate()
        server.wait(20)


def load(start: Callable[[], Browser]) -> dict[str, float]:
    """Seconds to a page that can be used, at first and from the cache."""
    browser = start()
    page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
    found = {}
    with started() as address:
        for name in ("first load, s", "reload, s"):
            began = time.perf_counter()
            page.goto(address)
            page.get_by_role("button", name="Run", exact=True).wait_for()
            page.wait_for_function(READY)
            found[name] = time.perf_counter() - began
    browser.close()
    return found


def run(page: Page) -> dict[str, float]:
    """Seconds from Run to an iteration on the charts."""
    began = time.perf_counter()
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".lanes [role=img]").wait_for()
    return {"Run to first iteration, s": time.perf_counter() - began}


def slider(page: Page) -> dict[str, float]:
    """Milliseconds from a key to the mark on the charts."""
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".lanes [role=img]").wait_for()
    thumb = page.get_by_role("slider", name="draft length")
    thumb.focus()
    took = []
    for _ in range(2):  # the run is short
        time.sleep(0.2)
        marks = page.locator("[data-marks]").get_attribute("data-marks") or "0"
        began = time.perf_counter()
        page.keyboard.press("ArrowRight")
        page.locator(f"[data-marks='{int(marks) + 1}']").wait_for()
        took.append(1000 * (time.perf_counter() - began))
    return {"slider to mark, ms": median(took), "slider to mark, slowest ms": max(took)}


def pace(run: LiveRun) -> float:
    """Iterations a second, after the first."""
    while not run.iterations:
        time.sleep(0.005)
    began = time.perf_counter()
    while not run.over:
        time.sleep(0.005)
    return (len(run.iterations) - 1) / (time.perf_counter() - began)


def charts(page: Page, hub: Watched) -> dict[str, float]:
    """Speed with somebody looking, as a share of the speed with nobody looking."""
    alone = LiveRun(Settings(pace="full speed", tokens=TOKENS).plan(), owner="nobody")
    hub.submit(alone)
    free = pace(alone)
    hub.jobs.clear()
    page.get_by_role("button", name="Run").click()
    while not hub.jobs:
        time.sleep(0.002)
    watched = hub.jobs[0]
    if not isinstance(watched, LiveRun):
        raise TypeError("Run must start a run")
    return {"watched / alone": pace(watched) / free, "alone, iterations/s": free}


def main() -> None:
    """Write a line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", default=["load", "run", "slider", "charts"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, help="of torch; as in phrasekit app")
    given = parser.parse_args()
    hub = Watched(given.threads)
    found: dict[str, list[float]] = {}
    with served(hub) as address, sync_playwright() as playwright:

        def start() -> Browser:
            path = chromium(playwright.chromium.executable_path)
            return playwright.chromium.launch(executable_path=path, args=list(FLAGS))

        browser = start()
        for _ in range(given.repeats):
            for what in given.what:
                for name, value in measured(what, start, browser, address, hub).items():
                    found.setdefault(name, []).append(value)
        browser.close()
    for name, values in found.items():
        told = f"{name:32} median {median(values):8.2f}   from {min(values):.2f} to {max(values):.2f}\n"
        sys.stdout.write(told)


def measured(
    what: str, start: Callable[[], Browser], browser: Browser, address: str, hub: Watched
) -> dict[str, float]:
    """One measurement."""
    if what == "load":
        return load(start)
    at = "8 iterations a second" if what == "run" else "full speed"
    with opened(browser, address, tab="tune", pace=at, tokens=TOKENS) as page:
        if what == "charts":
            return charts(page, hub)
        return {"run": run, "slider": slider}[what](page)


if __name__ == "__main__":
    main()
