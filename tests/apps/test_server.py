"""Over HTTP: a page comes, names nobody outside, and strangers' origins are refused; `phrasekit app`'s rules."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import subprocess
import sys
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import socket

import pytest
from click.testing import CliRunner
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from dashboard.frame.gone import hush
from phrasekit.cli import app as command
from phrasekit.cli import main
from tests.apps.conftest import answers, served, until

ANYWHERE = "0.0.0.0"  # noqa: S104 (never listened at here)
ROOT = Path(__file__).resolve().parents[2]


def test_the_page_comes_and_names_no_other_host(hub):
    with served(hub) as address, urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310
        page = answer.read().decode()
    assert answer.status == 200
    assert "phrasekit" in page
    hosts = set(re.findall(r"(?:src|href)=[\"'](https?://[^/\"']+)", page))
    assert not hosts


def test_panel_serve_takes_the_file_alone(tmp_path):
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = ["serve", str(ROOT / "apps/dashboard/app.py"), "--port", str(port), "--address", "127.0.0.1"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([sys.executable, "-m", "panel", *given], stdout=log, stderr=log)
    try:
        until(lambda: server.poll() is not None or answers(port), 60)
        assert server.poll() is None, (tmp_path / "log").read_text()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/app", timeout=60) as answer:
            page = answer.read().decode()
        assert "<title>phrasekit</title>" in page
    finally:
        server.terminate()
        server.wait(10)


def test_what_keeps_one_visitor_busy_touches_no_other_page(hub):
    """Panel counts callbacks for the whole server; a page that followed would be written to by strangers."""
    from panel.io import state
    from panel.util import edit_readonly

    from dashboard.frame.page import Dashboard
    from dashboard.visitor.options import Options

    page = Dashboard(hub, Options()).page()
    before = state.busy
    try:
        with edit_readonly(state):
            state.busy = True
        assert not page.busy
    finally:
        with edit_readonly(state):
            state.busy = before


def test_a_websocket_from_another_origin_is_refused(hub):
    async def knock(address, origin):
        request = HTTPRequest(address.replace("http", "ws") + "ws", headers={"Origin": origin})
        try:
            connection = await websocket_connect(request, subprotocols=["bokeh", "no-token"])
        except HTTPClientError as refused:
            return refused.code
        connection.close()
        return 101

    # the thread of the tests may have a loop already
    with served(hub) as address, ThreadPoolExecutor(1) as aside:
        assert aside.submit(asyncio.run, knock(address, "http://evil.example")).result() == 403
        assert aside.submit(asyncio.run, knock(address, address.rstrip("/"))).result() == 101


REFUSED = {
    "--address 0.0.0.0": "needs --allow-origin",
    "--address 0.0.0.0 --allow-origin *": "must name a host, but got *",
    "--password": "PHRASEKIT_PASSWORD is empty or not set",
    "--draft gpt2": "a draft needs a target",
    "--device gpu!": "device must be such as",
}


@pytest.mark.parametrize("given", list(REFUSED))
def test_what_is_unsafe_or_senseless_is_refused_before_a_server_starts(given, monkeypatch):
    monkeypatch.delenv("PHRASEKIT_PASSWORD", raising=False)
    answer = CliRunner().invoke(main, ["app", *given.split()])
    assert answer.exit_code == 2
    assert REFUSED[given] in answer.output
    assert "Traceback" not in answer.output


@pytest.fixture
def started(monkeypatch):
    """What `phrasekit app` would serve, without serving it."""
    import panel as pn

    from dashboard import app as served_app

    calls = []
    monkeypatch.setattr(pn, "serve", lambda pages, **rules: calls.append((pages, rules)))
    monkeypatch.setattr(
        served_app, "hub", lambda threads: type("Hub", (), {"place": lambda self, spec: None})()
    )

    def start(*given, **env):
        answer = CliRunner(env=env).invoke(main, ["app", "--no-browser", *given])
        assert answer.exit_code == 0, answer.output
        return calls[-1][1], answer.output

    return start


def test_it_listens_at_this_machine_only(started):
    rules, _ = started()
    assert rules["address"] == "127.0.0.1"
    assert "websocket_origin" not in rules
    assert "basic_auth" not in rules
    assert rules["unused_session_lifetime_milliseconds"] >= 600_000


def test_a_run_leaves_a_core_to_the_pages(monkeypatch):
    """And `--threads` says otherwise."""
    import torch

    from dashboard import app as served_app
    from dashboard.jobs.hub import PairSpec

    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(served_app.os, "cpu_count", lambda: 8)
    spec = type("Spec", (PairSpec,), {"load": lambda self: "pair"})()
    assert served_app.beside_pages(None)(spec) == "pair"
    assert served_app.beside_pages(3)(spec) == "pair"
    monkeypatch.setattr(served_app.os, "cpu_count", lambda: 1)
    assert served_app.beside_pages(None)(spec) == "pair"
    assert asked == [7, 3, 1]


def test_a_password_comes_from_the_environment_or_a_file(started, tmp_path):
    rules, _ = started("--password", PHRASEKIT_PASSWORD="open sesame")
    assert rules["basic_auth"] == "open sesame"
    assert len(rules["cookie_secret"]) == 64
    (tmp_path / "secret").write_text("from a file\n")
    rules, told = started(
        "--address",
        ANYWHERE,
        "--allow-origin",
        "demo.example:5006",
        "--password-file",
        str(tmp_path / "secret"),
    )
    assert rules["basic_auth"] == "from a file"
    assert rules["websocket_origin"] == ["demo.example:5006"]
    assert "asks for a password" not in told


def test_an_open_server_without_a_password_says_so(started):
    _, told = started("--address", ANYWHERE, "--allow-origin", "demo.example")
    assert "--password asks for a password" in told


def test_the_dashboard_lies_where_the_command_looks(tmp_path, monkeypatch):
    assert command.folder() == ROOT / "apps"
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert wheel["force-include"] == {"apps/dashboard": "phrasekit/apps/dashboard"}
    installed = tmp_path / "phrasekit"
    (installed / "apps" / "dashboard").mkdir(parents=True)
    (installed / "apps" / "dashboard" / "app.py").touch()
    monkeypatch.setattr(command, "__file__", str(installed / "cli" / "app.py"))
    assert command.folder() == installed / "apps"
    monkeypatch.setattr(command, "__file__", str(tmp_path / "nowhere" / "cli" / "app.py"))
    with pytest.raises(FileNotFoundError, match="apps/dashboard"):
        command.folder()


ENDS_AMID_A_RUN = """
import sys, time
sys.path.insert(0, "apps")
from dashboard.app import hub
from dashboard.jobs.hub import PairSpec
from dashboard.jobs.run import LiveRun, Plan
place = hub(1).place(PairSpec())
assert place.wait(120)
run = LiveRun(Plan(prompt="def f(x):", max_new_tokens=100_000), owner="me")
place.submit(run)
while not run.iterations:
    time.sleep(0.01)
"""


def test_a_server_that_ends_amid_a_run_ends_well(tmp_path):
    """Torch aborts the process (SIGABRT, "terminate called") where Python ends its thread within a forward."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_AMID_A_RUN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_writing_to_a_page_that_has_gone_is_not_reported_and_all_else_is(caplog, monkeypatch):
    told = logging.getLogger("asyncio")
    monkeypatch.setattr(told, "filters", [])

    async def fail(error):
        raise error

    async def forget(*errors):
        await asyncio.wait([asyncio.ensure_future(fail(error)) for error in errors])

    hush()
    hush()
    assert len(told.filters) == 1
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, forget(WebSocketClosedError(), OSError("disk"))).result()
    gc.collect()
    assert [str(record.exc_info[1]) for record in caplog.records] == ["disk"]
