"""Token ids of a run against those of plain decoding: compared one by one, and counted.

"0 mismatches over at least 100,000 tokens" is a promise, so the suite counts what it compares: on real
(tiny) models, by method, family and kind of sampling. Under pytest-xdist every worker hands its tally
to the controller. The sum is printed behind every run; a full run that compared too little, or left a
method, a family or a kind of sampling out, is red.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

import pytest

import phrasekit as pk
from phrasekit.methods import METHODS
from tests import models

LEAST = 100_000  # tokens compared in a full run
KINDS = ("greedy", "sampled")
Key = tuple[str, str, str]  # method, family, kind of sampling

_STASH = pytest.StashKey[Counter]()
_compared: Counter[Key] = Counter()  # of this process
_mismatched: Counter[Key] = Counter()


def check(run: pk.Run, due: Sequence[int]) -> None:
    """The run emitted exactly the tokens `due`; a missing or a further one is a mismatch too."""
    settings = run.trace.settings
    family = str(settings["target"]).removeprefix("tiny-")
    key = (run.trace.method, family, KINDS[settings["temperature"] != 0])
    differ = [at for at, (is_, was) in enumerate(zip_longest(run.tokens, due)) if is_ != was]
    _compared[key] += max(len(run.tokens), len(due))
    _mismatched[key] += len(differ)
    assert not differ, f"{'/'.join(key)}: first of {len(differ)} mismatches at token {differ[0]}"


def summary(compared: Counter[Key], mismatched: int) -> str:
    """One line for the end of the report."""
    method, family, kind = (len({key[part] for key in compared}) for part in range(3))
    return (
        f"{compared.total():,} tokens compared over {method} methods, {family} families and {kind} kinds of "
        f"sampling, {mismatched:,} mismatches"
    )


def shortfall(compared: Counter[Key]) -> str:
    """What a full run left out, "" for nothing."""
    if compared.total() < LEAST:
        return f"a full run must compare {LEAST:,} tokens or more"
    for part, names in enumerate((METHODS, models.FAMILIES, KINDS)):
        missing = set(names) - {key[part] for key, count in compared.items() if count}
        if missing:
            return f"a full run must compare {', '.join(sorted(missing))} too"
    return ""


# --- hooks, imported by conftest.py -----------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STASH] = Counter()  # ("compared" or "mismatched", *key) → tokens of all workers


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """xdist, in the controller: a worker is done."""
    for *key, count in getattr(node, "workeroutput", {}).get("tokens", ()):
        node.config.stash[_STASH][tuple(key)] += count


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    own = [("compared", _compared), ("mismatched", _mismatched)]
    rows = [(name, *key, count) for name, counter in own for key, count in counter.items()]
    if hasattr(config, "workeroutput"):
        config.workeroutput["tokens"] = rows
        return
    for *key, count in rows:
        config.stash[_STASH][tuple(key)] += count
    if exitstatus == pytest.ExitCode.OK and _full(config) and shortfall(_tally(config, "compared")):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, exitstatus: int, config: pytest.Config) -> None:
    compared, mismatched = _tally(config, "compared"), _tally(config, "mismatched").total()
    if compared:
        terminalreporter.write_line(summary(compared, mismatched), red=bool(mismatched), bold=True)
    if _full(config) and shortfall(compared):
        terminalreporter.write_line(f"ERROR: {shortfall(compared)}", red=True)


def _tally(config: pytest.Config, name: str) -> Counter[Key]:
    return Counter({key[1:]: count for key, count in config.stash[_STASH].items() if key[0] == name})


def _full(config: pytest.Config) -> bool:
    """Whether every test was asked for: no path, no choice."""
    option = config.option
    choices = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everything and not any(getattr(option, choice, None) for choice in choices)
