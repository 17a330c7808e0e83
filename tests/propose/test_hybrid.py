"""The hybrid method: every source in one tree, and each only where it pays."""

import pytest

import phrasekit as pk
from phrasekit.pool.ledger import FIRST_TRIALS, RETRY, Ledger
from phrasekit.propose.hybrid import COPYING, DRAFTING, PLAIN


@pytest.fixture(scope="module")
def pair() -> pk.Pair:
    return pk.load_pair()


def test_the_ledger_tries_every_way_then_takes_the_best() -> None:
    ledger = Ledger()
    earned = {DRAFTING: 3, COPYING: 5, PLAIN: 1}
    chosen = []
    for _ in range(40):
        way = ledger.choose([DRAFTING, COPYING, PLAIN], 2)
        chosen.append(way)
        ledger.enter(way, 2, tokens=earned[way], ms=1.0)
    assert all(chosen.count(way) >= FIRST_TRIALS for way in earned)
    assert set(chosen[3 * FIRST_TRIALS : 30]) == {COPYING}


def test_the_ledger_follows_a_change() -> None:
    ledger = Ledger()
    earned = {DRAFTING: 3, COPYING: 5}
    for _ in range(20):
        way = ledger.choose([DRAFTING, COPYING], 0)
        ledger.enter(way, 0, tokens=earned[way], ms=1.0)
    earned[COPYING] = 1
    late = []
    for _ in range(4 * RETRY):
        late.append(way := ledger.choose([DRAFTING, COPYING], 0))
        ledger.enter(way, 0, tokens=earned[way], ms=1.0)
    assert late[-RETRY // 2 :].count(DRAFTING) > RETRY // 3


def test_situations_are_kept_apart() -> None:
    ledger = Ledger()
    for _ in range(10):
        for situation, best in ((0, PLAIN), (5, COPYING)):
            way = ledger.choose([COPYING, PLAIN], situation)
            ledger.enter(way, situation, tokens=9 if way == best else 1, ms=1.0)
    assert ledger.choose([COPYING, PLAIN], 0) == PLAIN
    assert ledger.choose([COPYING, PLAIN], 5) == COPYING


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_whatever_is_chosen_the_text_is_the_same(pair: pk.Pair, temperature: float) -> None:
    prompt = "def median(values):\n    ordered = sorted(values)\n"
    options = {"max_new_tokens": 96, "temperature": temperature, "seed": 5}
    plain = pk.generate(pair, prompt, method="vanilla", **options)
    run = pk.generate(pair, prompt, method="hybrid", **options)
    assert run.tokens == plain.tokens
    ways = {iteration.note.split(":")[0] for iteration in run.trace.iterations}
    assert ways == {DRAFTING, COPYING, PLAIN} or len(run.trace.iterations) < 12
    assert all(iteration.note for iteration in run.trace.iterations)


def test_a_pair_without_a_draft_copies(pair: pk.Pair) -> None:
    alone = pk.load_pair(pair.target.model, tokenizer=pair.tokenizer)
    prompt = "x = 1\ny = 2\n" * 8
    run = pk.generate(alone, prompt, method="hybrid", max_new_tokens=48)
    assert run.tokens == pk.generate(alone, prompt, method="vanilla", max_new_tokens=48).tokens
    assert len(run.trace.iterations) < 48
