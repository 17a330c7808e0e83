"""`phrasekit generate`: text as it arrives, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from phrasekit.bench.outputs import FILE
from phrasekit.cli.interrupt import interruptible
from phrasekit.cli.program import BAD_INPUT, INTERRUPTED
from phrasekit.cli.prompts import Prompt, prompt_options
from phrasekit.cli.request import Request, method_option, request_options
from phrasekit.cli.terminal import err, one_line, readable, watched
from phrasekit.trace import Trace, measure, save_trace

if TYPE_CHECKING:
    from phrasekit.api import Decoding
    from phrasekit.lm import Pair
    from phrasekit.pool import PhrasePool

Show = Callable[[str], None]


@click.command()
@prompt_options()
@method_option
@request_options
@click.option("--trace", type=FILE, help="Record the run in this file (JSON Lines).")
@click.option("--jsonl", is_flag=True, help="One JSON line with text, tokens and metrics.")
@click.option("--stats", is_flag=True, help="The run's numbers on standard error.")
@click.option("--fresh-pool", is_flag=True, help="With --prompts: an empty phrase pool for every prompt.")
@click.option("--pool", type=FILE, help="Start from this phrase pool; save it in the end.")
def generate(
    request: Request,
    prompts: list[Prompt],
    many: bool,
    method: str,
    trace: Path | None,
    jsonl: bool,
    stats: bool,
    fresh_pool: bool,
    pool: Path | None,
) -> None:
    """Decode PROMPT and stream the text to standard output.

    With --prompts, every prompt gives one JSON line: text, tokens, finish_reason and metrics. The phrase
    pool lives across the prompts. Several traces are numbered: run.jsonl becomes run-1.jsonl, run-2.jsonl …

    Ctrl-C ends within one iteration and keeps what was made; the exit status is then 130.
    """
    if pool is not None and (fresh_pool or method.endswith("no-history")):
        raise ValueError("--pool needs phrases to live on, but --fresh-pool or the method says no; drop one")
    session = _Session(
        request, method, jsonl=jsonl or many, stats=stats, fresh_pool=fresh_pool, pool_file=pool
    )
    status = session.run(prompts, trace, many=many)
    if stats:
        err().print(str(measure(*session.traces)), soft_wrap=True)
    click.get_current_context().exit(status)


class _Session:
    """The prompts of one call, the pool they share, and what came of them."""

    def __init__(
        self,
        request: Request,
        method: str,
        *,
        jsonl: bool,
        stats: bool,
        fresh_pool: bool,
        pool_file: Path | None,
    ) -> None:
        self.traces: list[Trace] = []  # kept for statistics only
        self._request, self._method = request, method
        self._jsonl, self._stats, self._fresh_pool = jsonl, stats, fresh_pool
        self._pool_file = pool_file

    def run(self, prompts: list[Prompt], records: Path | None, *, many: bool) -> int:
        """Decode every prompt; return the exit status."""
        from phrasekit.pool import load_pool

        if self._pool_file is not None and self._pool_file.exists():
            load_pool(self._pool_file, fingerprint=None)  # that it is the pair's is seen when that is there
        pair = self._request.load([self._method])
        pool = self._pool(pair)
        try:
            return self._run(pair, pool, prompts, records, many=many)
        finally:
            if self._pool_file is not None:
                from phrasekit.pool import save_pool

                save_pool(pool, self._pool_file, fingerprint=pair.fingerprint)

    def _pool(self, pair: Pair) -> PhrasePool:
        """The phrases to start from; a file that is damaged or foreign is refused, never overwritten."""
        from phrasekit.pool import PhrasePool, load_pool

        if self._pool_file is None or not self._pool_file.exists():
            return PhrasePool()
        return load_pool(self._pool_file, fingerprint=pair.fingerprint, vocabulary=pair.target.vocabulary)

    def _run(
        self, pair: Pair, pool: PhrasePool, prompts: list[Prompt], records: Path | None, *, many: bool
    ) -> int:
        status = 0
        with interruptible() as stopped:
            for number, prompt in enumerate(prompts, start=1):
                if stopped():
                    break
                place = records and (_numbered(records, number) if many else records)
                decoding = None
                try:
                    shared = None if self._fresh_pool else pool
                    decoding = self._request.decoding(pair, self._method, prompt, pool=shared)
                    self._decode(decoding, stopped, place, {"index": number} if many else {})
                except (ValueError, TypeError, ArithmeticError) as error:
                    if not many:
                        raise
                    status = BAD_INPUT
                    _refuse(number, error, begun=decoding is not None)
        return INTERRUPTED if stopped() else status

    def _decode(
        self, decoding: Decoding, stopped: Callable[[], bool], record: Path | None, label: dict[str, Any]
    ) -> None:
        show = _ignore if self._jsonl else _shower()
        try:
            for piece in decoding.pieces(stopped):
                show(piece)
        finally:
            self._keep(decoding, record, label)
        if not self._jsonl and watched():
            click.echo()

    def _keep(self, decoding: Decoding, record: Path | None, label: dict[str, Any]) -> None:
        result = decoding.result()
        if self._stats:
            self.traces.append(result.trace)
        if self._jsonl:
            line = {
                **label,
                "text": result.text,
                "tokens": result.tokens,
                "finish_reason": result.finish_reason,
                "metrics": result.trace.metrics().as_dict(),
            }
            click.echo(json.dumps(line))
        if record is not None:
            save_trace(result.trace, record)


def _shower() -> Show:
    """Write to a pipe what the model said, to a terminal what is safe to show."""
    terminal = watched()

    def show(text: str) -> None:
        click.echo(readable(text) if terminal else text, nl=False, color=True)  # color: leave it alone

    return show


def _ignore(text: str) -> None:
    pass


def _refuse(number: int, error: Exception, *, begun: bool) -> None:
    """Say why a prompt gave no text, or no more of it, and let the others go on."""
    message = one_line(error)
    if not begun:
        click.echo(json.dumps({"index": number, "error": message}))
    click.echo(f"Error: prompt {number}: {message}", err=True)


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number}{path.suffix}")
