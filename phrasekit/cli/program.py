"""The program: commands that load when they run, errors that are one line."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import click

from phrasekit import __version__
from phrasekit.cli.terminal import one_line
from phrasekit.errors import PhrasekitError

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
BAD_INPUT = 2
FAILED = 1
EXPECTED = (ValueError, TypeError, PhrasekitError, OSError, ImportError, RuntimeError, MemoryError)

# name → module, attribute, summary
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "demo": ("phrasekit.cli.demo", "demo", "Watch Ouroboros decode on the embedded pair, then race it."),
    "generate": ("phrasekit.cli.generate", "generate", "Decode one prompt, or a file of them."),
    "step": ("phrasekit.cli.step", "step", "Go through a run one iteration at a time."),
    "compare": ("phrasekit.cli.compare", "compare", "Run several methods on the same prompts."),
    "check": ("phrasekit.cli.check", "check", "Say whether decoding is exact on a pair."),
    "store": ("phrasekit.cli.store", "store", "Build a store of text to retrieve from, or look at one."),
    "trace": ("phrasekit.cli.trace", "trace", "Read a recorded run, without any model."),
    "tune": ("phrasekit.cli.tune", "tune", "Find the fastest setting, and whether it pays."),
    "methods": ("phrasekit.cli.methods", "methods", "List the methods."),
    "app": ("phrasekit.cli.app", "app", "Open the dashboard: step, tune and compare in a browser."),
    "experiment": (
        "phrasekit.bench.experiment",
        "command",
        "Run an experiment of the DOUBLE paper: ceiling, ablation, depth …",
    ),
    "theory": ("phrasekit.cli.theory", "theory", "Say what drafting can gain on a measured pair."),
    "bench": ("phrasekit.bench.command", "bench", "Measure against transformers' generate."),
}


class Program(click.Group):
    """A group that imports a command when it is called and shows every expected error as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command whose room is there."""
        return [name for name, (module, _, _) in COMMANDS.items() if find_spec(module) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run, and turn every expected error into one that shows as one line."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.exceptions.Abort):  # RuntimeErrors, but not failures
            raise
        except EXPECTED as error:
            if getattr(error, "errno", None) == errno.EPIPE or ctx.params["traceback"]:
                raise
            raise _Failure(error) from error

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run as a program: errors on stderr, exit status 2 for bad input, 130 after Ctrl-C."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        if hasattr(sys.stdout, "reconfigure"):  # a narrow encoding must not end a run half-way
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            status = run(*args, standalone_mode=False, **extra)
        except click.exceptions.Abort:
            _end("Stopped.", INTERRUPTED)
        except click.ClickException as error:
            _report(error)
        sys.exit(status if isinstance(status, int) else 0)


class _Failure(click.ClickException):
    """An expected error; bad input unless the machine gave out or the model's numbers did."""

    def __init__(self, error: Exception) -> None:
        super().__init__(one_line(error))
        self.status = FAILED if isinstance(error, RuntimeError | MemoryError | ArithmeticError) else BAD_INPUT


def _report(error: click.ClickException) -> NoReturn:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # a group without its command
        error.show()
        sys.exit(BAD_INPUT)
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f" See '{error.ctx.command_path} --help'."
    status = error.status if isinstance(error, _Failure) else BAD_INPUT
    _end(f"Error: {one_line(error.format_message())}{hint}", status)


def _end(line: str, status: int) -> NoReturn:
    click.echo(line, err=True)
    sys.exit(status)


@click.command(
    "phrasekit",
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, package_name="phrasekit", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where in the code an error comes from.")
@click.pass_context
def main(ctx: click.Context, traceback: bool) -> None:  # noqa: ARG001 (read by Program.invoke)
    """Phrase-level speculative decoding that you can step through."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
