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
    table.add_column("needs")
    table.add_column("what it does")
    for method in METHODS.values():
        needs = "draft model" if method.drafts else "corpus" if method.corpus else "-"
        table.add_row(method.name, needs, method.summary)
    out().print(table)
