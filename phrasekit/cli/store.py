"""`phrasekit store`: what methods that retrieve look into, built from runs or from text files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from phrasekit.bench.outputs import FILE
from phrasekit.cli.figures import plain_table
from phrasekit.cli.interrupt import interruptible
from phrasekit.cli.program import INTERRUPTED
from phrasekit.cli.prompts import Prompt, conversations, read_lines
from phrasekit.cli.request import Request, request_options
from phrasekit.cli.terminal import one_line, out, working
from phrasekit.trace.summary import counted

if TYPE_CHECKING:
    from phrasekit.lm import Pair
    from phrasekit.propose import Datastore, Store

FORMS = ("datastore", "corpus")
SHOWN = 8  # marks in the table; --json has all
_READABLE = click.Path(exists=True, dir_okay=False)


@click.group()
def store() -> None:
    """Build a store of text to retrieve from, or look at one."""


@store.command()
@click.option("--out", "output", required=True, type=FILE, help="The file to write.")
@click.option(
    "--kind",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="A datastore can grow; a corpus is sorted, for method rest.",
)
@click.option("--text", "texts", type=_READABLE, multiple=True, help="A file of text; may be repeated.")
@click.option(
    "--prompts", type=_READABLE, help='Let the target continue these: JSON Lines, {"prompt": …} or a string.'
)
@click.option("--chat", is_flag=True, help="Put the prompts through the model's chat template.")
@click.option(
    "--rounds",
    type=click.IntRange(0, 15),
    help="K: groups the prompts are dealt into.  [10, or one a prompt]",
)
@click.option("--capacity", type=int, default=1_000_000, show_default=True, help="Tokens held at most.")
@click.option("--ngram", type=int, default=3, show_default=True, help="Longest n-gram that is matched.")
@click.option(
    "--method", default="hybrid", show_default=True, help="Decodes the prompts; the text is the same."
)
@request_options
def build(
    request: Request,
    output: Path,
    kind: str,
    texts: tuple[str, ...],
    prompts: str | None,
    chat: bool,
    rounds: int | None,
    capacity: int,
    ngram: int,
    method: str,
) -> None:
    """Fill a store from text files, from what the target says to prompts, or from both.

    The store remembers its prompts, so that nobody measures on them by accident. With --store it starts
    from what that datastore holds. Ctrl-C ends within one iteration and keeps what was made.
    """
    asked = [] if prompts is None else list(read_lines(prompts))
    if not asked and not texts:
        raise ValueError("a store must be built from something, but got nothing; give --text or --prompts")
    if prompts is None and rounds:
        raise ValueError("rounds need prompts, but got none; give --prompts")
    documents = [_read(name) for name in texts]
    _check(request, capacity=capacity, ngram=ngram)
    pair = request.load([method])
    filling = _started(request, pair, capacity=capacity, ngram=ngram)
    with interruptible() as stopped:
        with working("Building") as update:
            for document in documents:
                filling.add(pair.encode(document))
            chosen = min(10, len(asked)) if rounds is None else rounds
            _warm(request, pair, filling, conversations(asked, chat=chat), chosen, method, stopped, update)
            made = _as(kind, filling)
        _save(made, output)
        status = INTERRUPTED if stopped() else 0
    click.echo(
        f"{one_line(str(output))}: {kind}, {counted(len(made), 'token')} in "
        f"{counted(made.documents, 'document')}, {output.stat().st_size:,} bytes"
    )
    click.get_current_context().exit(status)


@store.command()
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="As one JSON object, with every mark.")
def show(file: str, as_json: bool) -> None:
    """Say what the store in FILE holds, and what it was built from."""
    with working("Reading"):
        from phrasekit.propose import load_store

        held = load_store(file, fingerprint=None)
    facts = _facts(held, Path(file).stat().st_size)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    table = plain_table()
    table.show_header = False
    table.add_column("")
    table.add_column("", justify="right")
    marks: Any = facts.pop("sources")
    for name, value in facts.items():
        table.add_row(
            name.replace("_", " "), Text(f"{value:,}" if isinstance(value, int) else one_line(str(value)))
        )
    table.add_row("prompts it was built from", f"{len(marks):,}")
    for mark in marks[:SHOWN]:
        table.add_row("", mark)
    if len(marks) > SHOWN:
        table.add_row("", f"and {len(marks) - SHOWN:,} more")
    out().print(table)


def _check(request: Request, *, capacity: int, ngram: int) -> None:
    """Refuse, before a model loads, bounds of no datastore and a store that cannot grow."""
    from phrasekit.propose import Corpus, Datastore

    Datastore(capacity=capacity, ngram=ngram)
    if isinstance(request.store, Corpus):
        raise ValueError("--store must name a datastore to go on from, but that is a corpus; it cannot grow")


def _started(request: Request, pair: Pair, *, capacity: int, ngram: int) -> Datastore:
    """An empty datastore, or the one to go on from."""
    from phrasekit.errors import TokenizerMismatchError
    from phrasekit.propose import Datastore

    given = request.store
    if not isinstance(given, Datastore):
        return Datastore(capacity=capacity, ngram=ngram, fingerprint=pair.fingerprint)
    if given.fingerprint != pair.fingerprint:
        raise TokenizerMismatchError(
            "a store's tokenizer must be the pair's, but --store holds ids of another one; build a new one"
        )
    return given


def _warm(
    request: Request,
    pair: Pair,
    filling: Datastore,
    prompts: list[Prompt],
    rounds: int,
    method: str,
    stopped: Callable[[], bool],
    update: Callable[[str], None],
) -> None:
    from phrasekit.methods import tuned
    from phrasekit.warmup import warm_up

    options = {"knobs": tuned(method, pair, request.changes), **request.settings}
    for done in warm_up(pair, filling, prompts, rounds=rounds, method=method, cancelled=stopped, **options):
        update(f"Building, round {done.round} of {rounds}, {counted(done.held, 'token')}")


def _as(kind: str, filling: Datastore) -> Store:
    from phrasekit.propose import Corpus

    return Corpus.freeze(filling) if kind == "corpus" else filling


def _save(made: Store, file: Path) -> None:
    from phrasekit.propose import save_store

    save_store(made, file)


def _facts(held: Store, size: int) -> dict[str, object]:
    from phrasekit.propose import Datastore

    limits = {"capacity": held.capacity, "ngram": held.ngram} if isinstance(held, Datastore) else {}
    return {
        "kind": FORMS[not isinstance(held, Datastore)],
        "tokens": len(held),
        "documents": held.documents,
        **limits,
        "file_bytes": size,
        "memory_bytes": held.nbytes,
        "tokenizer": held.fingerprint,
        "sources": sorted(held.sources),
    }


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"a text must be UTF-8, but {name!r} is not: {error}") from error
