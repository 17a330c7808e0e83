"""The count of compared tokens can fail: by a mismatch, by too few, by a method or family left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from phrasekit.methods import METHODS
from tests import equality, models
from tests.runs import decode


@pytest.fixture
def own(monkeypatch) -> SimpleNamespace:
    """Tallies of this test alone."""
    tallies = SimpleNamespace(compared=Counter(), mismatched=Counter())
    monkeypatch.setattr(equality, "_compared", tallies.compared)
    monkeypatch.setattr(equality, "_mismatched", tallies.mismatched)
    return tallies


def enough() -> Counter:
    keys = [
        (method, family, kind) for method in METHODS for family in models.FAMILIES for kind in equality.KINDS
    ]
    return Counter(dict.fromkeys(keys, -(-equality.LEAST // len(keys))))


def test_tokens_are_counted_by_method_family_and_kind(own):
    pair = models.pair_of("qwen3")
    equality.check(decode(pair, "lookahead", count=9), models.generated("qwen3", 9))
    run = decode(pair, "ouroboros", count=5, temperature=0.8)
    equality.check(run, run.tokens)
    assert own.compared == {("lookahead", "qwen3", "greedy"): 9, ("ouroboros", "qwen3", "sampled"): 5}
    assert own.mismatched.total() == 0


@pytest.mark.parametrize(
    ("spoil", "mismatches"),
    [
        (lambda tokens: (*tokens[:3], tokens[3] + 1, *tokens[4:]), 1),
        (lambda tokens: tokens[:-2], 2),
        (lambda tokens: (*tokens, 1), 1),
    ],
    ids=["another", "missing", "further"],
)
def test_a_mismatch_is_red_and_counted(own, spoil, mismatches):
    run = decode(models.pair_of("qwen3"), "vanilla", count=9)
    with pytest.raises(AssertionError, match=f"vanilla/qwen3/greedy: first of {mismatches} mismatches"):
        equality.check(replace(run, tokens=spoil(run.tokens)), run.tokens)
    assert own.mismatched.total() == mismatches


def test_a_full_run_needs_enough_tokens_of_everything():
    assert equality.shortfall(enough()) == ""
    assert "100,000 tokens or more" in equality.shortfall(Counter({("ouroboros", "llama", "greedy"): 99_999}))
    for part, name in enumerate(("hybrid", "gemma3", "sampled")):
        fewer = Counter({key: 10 * count for key, count in enough().items() if key[part] != name})
        assert equality.shortfall(fewer) == f"a full run must compare {name} too"


def session_of(**options) -> SimpleNamespace:
    config = SimpleNamespace(
        stash=pytest.Stash(),
        args_source=pytest.Config.ArgsSource.TESTPATHS,
        option=SimpleNamespace(keyword="", markexpr="", **options),
    )
    equality.pytest_configure(config)
    return SimpleNamespace(config=config, exitstatus=pytest.ExitCode.OK)


@pytest.mark.parametrize(
    ("tokens", "status"),
    [(enough(), pytest.ExitCode.OK), (Counter({("a", "b", "greedy"): 7}), pytest.ExitCode.TESTS_FAILED)],
    ids=["enough", "too few"],
)
def test_workers_hand_their_tally_to_the_controller_which_judges(own, tokens, status):
    """As under `pytest -n 2`: what a worker puts out is plain data, what the controller sums decides."""
    controller, lines = session_of(), []
    for share in (tokens, Counter({("a", "b", "sampled"): 2})):
        worker = session_of()
        worker.config.workeroutput = {}
        own.compared.clear()
        own.compared.update(share)
        equality.pytest_sessionfinish(worker, pytest.ExitCode.OK)
        node = SimpleNamespace(workeroutput=worker.config.workeroutput, config=controller.config)
        equality.pytest_testnodedown(node, None)
    equality.pytest_testnodedown(SimpleNamespace(config=controller.config), "crashed")
    own.compared.clear()
    equality.pytest_sessionfinish(controller, pytest.ExitCode.OK)
    assert controller.exitstatus == status
    reporter = SimpleNamespace(write_line=lambda line, **_: lines.append(line))
    equality.pytest_terminal_summary(reporter, status, controller.config)
    assert lines[0].startswith(f"{tokens.total() + 2:,} tokens compared over ")
    assert lines[0].endswith(", 0 mismatches")
    assert len(lines) == (1 if status is pytest.ExitCode.OK else 2)


def test_a_partial_run_is_never_judged(own):
    for options in ({"lf": True}, {"collectonly": True}, {"ignore": ["tests/lm"]}):
        session = session_of(**options)
        equality.pytest_sessionfinish(session, pytest.ExitCode.OK)
        assert session.exitstatus == pytest.ExitCode.OK
    session = session_of()
    session.config.args_source = pytest.Config.ArgsSource.ARGS
    equality.pytest_sessionfinish(session, pytest.ExitCode.OK)
    assert session.exitstatus == pytest.ExitCode.OK
