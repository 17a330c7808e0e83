"""What holds for every command: help without torch, errors on one line."""

from __future__ import annotations

import errno
import subprocess
import sys

import click
import pytest

from phrasekit import __version__
from phrasekit.cli import main, program
from tests.cli.conftest import error_of, invoke

HELP = """
import sys
from click.testing import CliRunner
from phrasekit.cli import main
for arguments in ([], *([name] for name in sys.argv[2].split()), ["trace", "show"], ["trace", "summary"]):
    result = CliRunner().invoke(main, [*arguments, "--help"])
    assert result.exit_code == 0 and "Usage:" in result.stdout, (arguments, result.output)
for arguments in (["trace", "show"], ["trace", "summary"], ["trace", "show", "--iteration", "1"]):
    result = CliRunner().invoke(main, [*arguments, sys.argv[1]])
    assert result.exit_code == 0 and "accepted" in result.stdout, (arguments, result.output)
loaded = {name.split(".")[0] for name in sys.modules} & {"torch", "transformers"}
assert not loaded, loaded
print("done")
"""


def test_help_and_traces_need_no_torch(recorded):
    commands = "demo generate step compare methods trace tune"
    run = subprocess.run(
        [sys.executable, "-c", HELP, str(recorded), commands], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("done\n", "")


def test_without_a_command_the_help_is_shown():
    result = invoke()
    assert result.exit_code == 0
    for name in ("demo", "generate", "step", "compare", "trace", "methods"):
        assert f"\n  {name} " in result.stdout


def test_version():
    assert invoke("--version").stdout == f"phrasekit {__version__}\n"


@pytest.mark.parametrize("arguments", [("frobnicate",), ("--frobnicate",), ("demo", "--frobnicate")])
def test_usage_errors_are_one_line_with_a_hint(arguments):
    message = error_of(invoke(*arguments))
    assert "frobnicate" in message
    assert "--help" in message


def test_a_room_that_is_not_there_is_no_command(monkeypatch):
    monkeypatch.setattr(program, "COMMANDS", {"bench": ("phrasekit.bench.nowhere", "bench", "Measure.")})
    assert "bench" not in invoke().stdout
    assert "No such command 'bench'" in error_of(invoke("bench"))


@pytest.fixture
def failing(monkeypatch):
    """A command that raises what the test puts in."""
    raised = []

    @click.command()
    def fail():
        raise raised[0]

    monkeypatch.setattr(main, "get_command", lambda *_: fail)
    return raised


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("first\n  second \x1b[31m"), 2, "Error: first second \\x1b[31m\n"),
        (TypeError("knob"), 2, "Error: knob\n"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a\x07b"), 2, "Error: No such file: 'a\\x07b'\n"),
        (RuntimeError("out of memory"), 1, "Error: out of memory\n"),
        (ValueError(), 2, "Error: ValueError\n"),
    ],
)
def test_expected_errors_are_one_safe_line(failing, error, status, message):
    failing.append(error)
    assert error_of(invoke("fail"), status) == message


def test_endless_messages_are_cut(failing):
    failing.append(ValueError("x" * 100_000))
    assert len(error_of(invoke("fail"))) < 700


def test_bugs_and_wanted_tracebacks_are_not_swallowed(failing):
    failing.append(KeyError("a bug"))
    with pytest.raises(KeyError):
        invoke("fail")
    failing[0] = ValueError("bad input")
    with pytest.raises(ValueError, match="bad input"):
        invoke("--traceback", "fail")


def test_ctrl_c_ends_with_130(failing):
    failing.append(KeyboardInterrupt())
    result = invoke("fail")
    assert (result.exit_code, result.stderr.strip()) == (130, "Stopped.")


def test_a_closed_pipe_is_no_error(recorded):
    program = [sys.executable, "-c", "from phrasekit.cli import main; main()"]
    run = subprocess.Popen(
        [*program, "trace", "summary", "--json", str(recorded)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    run.stdout.close()  # as `| head` does when it has seen enough
    with run.stderr as stderr:
        assert stderr.read() == b""
    assert run.wait() == 1
