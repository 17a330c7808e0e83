"""`phrasekit methods`: what --method takes."""

from __future__ import annotations

import click

from phrasekit.cli.figures import plain_table
from phrasekit.cli.terminal import out, working


@click.command()
def methods() -> None:
    """List every method with what it needs."""
    with working("Starting"):
        from phrasekit.methods import METHODS
    table = plain_table()
    table.add_column("method", no_wrap=True)
    table.add_column("draft model")
    table.add_column("what it does")
    for method in METHODS.values():
        table.add_row(method.name, "needed" if method.drafts else "-", method.summary)
    out().print(table)
