"""The program called in process, with the embedded pair loaded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from phrasekit import lm
from phrasekit.api import Decoding
from phrasekit.cli import main
from phrasekit.lm import Pair
from phrasekit.trace import Branch, ForwardRecord, Iteration, PhraseRecord, PoolRecord, Trace, TreeRecord

PROMPT = "def read_lines(path):\n"
EMBEDDED = {
    "target": None,
    "draft": None,
    "smaller": None,
    "device": "cpu",
    "dtype": None,
    "attention": "sdpa",
    "trust_remote_code": False,
}

Call = Callable[..., Result]


@pytest.fixture(scope="session")
def pair() -> Pair:
    return lm.load_pair()


@pytest.fixture
def call(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the program; whatever is not the embedded pair is loaded as it would be."""
    load = lm.load_pair

    def load_once(**asked):
        return pair if asked.items() <= EMBEDDED.items() else load(**asked)

    monkeypatch.setattr(lm, "load_pair", load_once)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return invoke


@pytest.fixture
def call_without_models(monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the program; loading a model is a failure of the test."""

    def load(**asked):
        raise AssertionError(f"a model was loaded: {asked}")

    monkeypatch.setattr(lm, "load_pair", load)
    return invoke


def invoke(*arguments: str, stdin: str | None = None, width: int = 100) -> Result:
    result = CliRunner().invoke(main, list(arguments), input=stdin, env={"COLUMNS": str(width)})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def error_of(result: Result, status: int = 2) -> str:
    """The error, known to be all of standard error, on one line, with the right exit status."""
    assert result.exit_code == status, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.rstrip("\n").isprintable()
    return result.stderr


@dataclass
class Intruder:
    """Does something at the end of the chosen iteration, counted over all runs."""

    at: int
    act: Callable[[], None]
    steps: int = 0


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], None]], Intruder]:
    """Let something happen when an iteration is over."""
    step = Decoding.step

    def arrange(at: int, act: Callable[[], None]) -> Intruder:
        intruder = Intruder(at, act)

        def stepping(self: Decoding) -> Iteration:
            intruder.steps += 1
            if intruder.steps == intruder.at:
                intruder.act()
            return step(self)

        monkeypatch.setattr(Decoding, "step", stepping)
        return intruder

    return arrange


@pytest.fixture
def partly() -> Iteration:
    """Drafted 4, the third wrong, the fourth right; a suffix of 2 behind them was never reached."""
    return Iteration(
        index=2,
        position=12,
        root=1,
        tree=TreeRecord(
            tokens=(10, 11, 12, 13, 20, 21),
            parents=(-1, 0, 1, 2, 3, 4),
            kinds=("draft", "phrase", "draft", "draft", "suffix", "suffix"),
            phrases=(-1, 3, -1, -1, 4, 4),
            trunk=(0, 1, 2, 3),
            branches=(Branch("suffix", 4, (4, 5)),),
        ),
        picks=(10, 11, 50, 13, 20, 51, 52),
        path=(0, 1),
        emitted=(10, 11, 50),
        kinds=("draft", "phrase", "target"),
        forward=ForwardRecord(rows=7, picked=7, cached=11, start_ms=0.0, ms=4.0),
        pool=PoolRecord(
            lookups=1, hits=1, inserted=(PhraseRecord(9, (50, 13), "discarded"),), evicted=(2,), size=5
        ),
        phases={"forward": 4.0},
        knobs={"gamma": 4, "window": 0, "level": 6, "guesses": 4, "suffixes": 1, "beta": 3},
    )


@pytest.fixture
def recorded(partly: Iteration, tmp_path: Path) -> Path:
    """A trace file whose texts are hostile to terminals and to rich."""
    from dataclasses import replace

    from phrasekit.trace import save_trace

    texts = {
        1: "root",
        10: "\x1b]0;owned\x07",
        11: "[bold red]x[/]",
        12: "\u202eevil",
        13: "a\rb",
        20: "\x9b31m",
        21: ":smile:",
        50: "\n",
    }
    trace = Trace(
        method="ouroboros",
        prompt=tuple([1] * 12),
        iterations=(replace(partly, index=0),),
        finish_reason="length",
        settings={"seed": 0},
        texts=texts,
    )
    path = tmp_path / "hostile.jsonl"
    save_trace(trace, path)
    return path
