"""`phrasekit app`: the dashboard, at this machine's own address unless told otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from phrasekit.bench.models import PAIR, threads
from phrasekit.bench.options import options, split

LOCAL = ("127.0.0.1", "localhost", "::1")
PASSWORD = "PHRASEKIT_PASSWORD"  # noqa: S105 (the name of a variable)
INSTALL = "the dashboard needs panel, which is not installed; run: pip install 'phrasekit[app]'"
STAYS = 600_000  # milliseconds that a page without connection is kept, so that a lost one finds its run again
PROMPT_BYTES = 64 << 20  # the largest message from a browser: an uploaded trace


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=5006, show_default=True, help="0 takes a free one."
)
@click.option("--browser/--no-browser", default=True, help="Open the page.")
@options(PAIR)
@threads(None, otherwise="all cores but one, for the pages")
@click.option("--models", default="", help="Further models that visitors may load, separated by commas.")
@click.option(
    "--address",
    default=LOCAL[0],
    show_default=True,
    help="Listen here; other than this machine's own, it needs --allow-origin.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    help="HOST or HOST:PORT that pages may come from; may be repeated.",
)
@click.option("--password", is_flag=True, help=f"Ask visitors for the password in the variable {PASSWORD}.")
@click.option(
    "--password-file", type=click.Path(exists=True, dir_okay=False), help="Or for the one in this file."
)
def app(
    port: int,
    browser: bool,
    target: str | None,
    draft: str | None,
    device: str,
    dtype: str | None,
    threads: int | None,
    models: str,
    address: str,
    origins: tuple[str, ...],
    password: bool,
    password_file: str | None,
) -> None:
    """Open the dashboard: step, tune and compare on a loaded pair."""
    local = address in LOCAL
    secret = _secret(password, password_file)
    _check_address(address, origins)
    try:
        panel = import_module("panel")
        pair = {"target": target or "", "draft": draft or "", "device": device, "dtype": dtype or ""}
        offered = _options(pair, models=models, local=local)
        served = import_module("dashboard.app")
        import_module("dashboard.frame.gone").hush()
    except ModuleNotFoundError as error:
        if error.name in ("panel", "panel_material_ui", "param", "bokeh"):
            raise ImportError(INSTALL) from error
        raise
    pairs = served.hub(threads)
    pairs.place(offered.pair)  # loads while the browser opens
    if not local and secret is None:
        click.echo("Everybody who reaches this address can use it; --password asks for a password.", err=True)
    panel.serve(
        {"/": lambda: served.serve(offered, pairs)},
        port=port,
        address=address,
        show=browser,
        title="phrasekit",
        **rules(origins, secret),
    )


def folder() -> Path:
    """The folder that holds the dashboard: beside the package in a checkout, inside it when installed.

    Raises:
        FileNotFoundError: neither is there.
    """
    package = Path(__file__).parent.parent
    for place in (package / "apps", package.parent / "apps"):
        if (place / "dashboard" / "app.py").is_file():
            return place
    raise FileNotFoundError(
        "the dashboard's files must lie in apps/dashboard, but are missing; install phrasekit again"
    )


def _options(spec: Mapping[str, str], *, models: str, local: bool) -> Any:
    """What visitors may do; only at this machine's own address may they name any model of the Hub."""
    if str(folder()) not in sys.path:
        sys.path.insert(0, str(folder()))
    hub, offering = import_module("dashboard.jobs.hub"), import_module("dashboard.visitor.options")
    listed = split(models) or ()
    pair = hub.PairSpec(**spec)
    found = offering.Options(pair=pair, models=listed, any_model=local and not listed)
    found.check(pair)
    return found


def _check_address(address: str, origins: tuple[str, ...]) -> None:
    if address not in LOCAL and not origins:
        raise ValueError(
            f"an address other than this machine's own needs --allow-origin, but {address} was given alone; "
            "name the host that people type, such as --allow-origin demo.example.org:5006"
        )
    if "*" in origins:
        raise ValueError(
            "--allow-origin must name a host, but got *; any page on the web could then use this server"
        )


def _secret(password: bool, file: str | None) -> str | None:
    """The password, never from the command line, which everybody on the machine can read."""
    if not password and file is None:
        return None
    found = Path(file).read_text("utf-8").strip() if file is not None else os.environ.get(PASSWORD, "")
    if not found:
        where = f"the file {file}" if file is not None else f"the variable {PASSWORD}"
        raise ValueError(f"a password must be given, but {where} is empty or not set; write one there")
    return found


def rules(origins: tuple[str, ...], secret: str | None) -> dict[str, Any]:
    """Arguments of `panel.serve` about who may connect, and for how long."""
    rules: dict[str, Any] = {
        "unused_session_lifetime_milliseconds": STAYS,
        "check_unused_sessions_milliseconds": 15_000,
        "websocket_max_message_size": PROMPT_BYTES,
    }
    if origins:
        rules["websocket_origin"] = list(origins)
    if secret is not None:
        rules["basic_auth"] = secret
        rules["cookie_secret"] = os.urandom(32).hex()
    return rules
