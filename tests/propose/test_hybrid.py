"""The hybrid method: every source in one tree, and each only where it pays."""

import pytest

import phrasekit as pk
from phrasekit.decode import Decoder, Knobs, Limits
from phrasekit.pool import PoolJournal
from phrasekit.pool.ledger import FIRST_TRIALS, LATER_SHARE, Ledger, Situation, Way
from phrasekit.propose import Hybrid, Lengthen, PromptLookup
from phrasekit.propose.hybrid import COPYING, DRAFTING, GUESSING, PLAIN
from tests.models import ScriptedModel, mixing


@pytest.fixture(scope="module")
def pair() -> pk.Pair:
    return pk.load_pair()


HERE = Situation(0, 0)
DRAFT, GUESS, REST = Way(DRAFTING), Way(GUESSING), Way(PLAIN)


def follow(ledger: Ledger, ways: list[Way], tokens: dict[str, float], steps: int, **given) -> list[str]:
    """Choices over so many iterations of a millisecond each."""
    situation, chosen = given.pop("situation", HERE), []
    for _ in range(steps):
        chosen.append(ledger.choose(ways, situation, **{"room": 1000, **given}))
        ledger.enter(chosen[-1], situation, tokens=tokens[chosen[-1]], ms=1.0)
    return chosen


def test_the_ledger_tries_every_way_then_takes_the_best() -> None:
    chosen = follow(Ledger(), [DRAFT, GUESS, REST], {DRAFTING: 3, GUESSING: 5, PLAIN: 1}, 60)
    assert {chosen.count(DRAFTING), chosen.count(PLAIN)} <= {FIRST_TRIALS, FIRST_TRIALS + 1}
    assert set(chosen[3 * FIRST_TRIALS + 1 :]) == {GUESSING}


def test_the_ledger_follows_a_change() -> None:
    ledger, earned = Ledger(), {DRAFTING: 3, GUESSING: 5}
    assert follow(ledger, [DRAFT, GUESS], earned, 30)[-1] == GUESSING
    assert follow(ledger, [DRAFT, GUESS], earned | {GUESSING: 1}, 60)[-20:].count(DRAFTING) >= 19


@pytest.mark.parametrize("bad", [0.2, 0.5, 0.9])
def test_trials_of_a_losing_way_cost_a_bounded_share(bad: float) -> None:
    """A hundred tokens or ten thousand: what was tried in vain stays under the shares allowed for it."""
    for steps in (100, 10_000):
        chosen = follow(Ledger(), [DRAFT, REST], {DRAFTING: bad, PLAIN: 1}, steps, room=100)
        lost = (1 - bad) * chosen.count(DRAFTING)
        assert chosen.count(DRAFTING) >= FIRST_TRIALS - 1
        assert lost <= FIRST_TRIALS + 1 + 1.1 * LATER_SHARE * steps


def test_a_short_text_sees_few_trials() -> None:
    tries = {
        room: follow(Ledger(), [REST, DRAFT], {DRAFTING: 1, PLAIN: 1}, 9, room=room) for room in (8, 200)
    }
    assert tries[8].count(DRAFTING) == 0
    assert tries[200].count(DRAFTING) >= FIRST_TRIALS


def test_a_price_is_paid_only_where_the_text_to_come_earns_it_back() -> None:
    dear = Way(DRAFTING, price=20.0)
    earned = {DRAFTING: 2, PLAIN: 1}
    ledger = Ledger()
    assert DRAFTING not in follow(ledger, [dear, REST], earned, 300, room=100)  # untried: a share of the room
    assert ledger.choose([dear, REST], HERE, room=1000) == DRAFTING
    follow(ledger, [DRAFT, REST], earned, 30)
    assert ledger.choose([dear, REST], HERE, room=30) == PLAIN  # known to halve the time: 20 + 15 > 30
    assert ledger.choose([dear, REST], HERE, room=50) == DRAFTING


def test_a_promise_counts_until_it_is_broken() -> None:
    ledger, promising = Ledger(), Way(COPYING, promise=1.5)
    follow(ledger, [REST], {PLAIN: 1}, 3)
    assert ledger.choose([promising, REST], HERE, room=3) == COPYING
    chosen = follow(ledger, [promising, REST], {COPYING: 0.5, PLAIN: 1}, 40)
    assert 1 <= chosen.count(COPYING) <= 4
    assert ledger.choose([promising, REST], Situation(5, 0), room=3) == COPYING  # kept apart


def test_situations_are_kept_apart() -> None:
    ledger = Ledger()
    for _ in range(40):
        for situation, best in ((Situation(0, 0), PLAIN), (Situation(1, 0), GUESSING)):
            way = ledger.choose([GUESS, REST], situation, room=1000)
            ledger.enter(way, situation, tokens=9 if way == best else 1, ms=1.0)
    assert ledger.choose([GUESS, REST], Situation(0, 0), room=1000) == PLAIN
    assert ledger.choose([GUESS, REST], Situation(1, 0), room=1000) == GUESSING
    assert len(ledger.rates()) == 4


def test_nothing_is_borrowed_from_another_span() -> None:
    """A long context makes rows dear: what drafting earned on short ones says nothing."""
    ledger = Ledger()
    follow(ledger, [DRAFT, REST], {DRAFTING: 9, PLAIN: 1}, 30)
    long = Situation(0, 2)
    assert ledger.choose([Way(DRAFTING, price=50.0), REST], long, room=100) == PLAIN


def test_what_reading_costs_is_told_before_the_draft_model_reads(pair: pk.Pair) -> None:
    """On a long prompt with little to come it is not asked; with much to come it is."""
    text = [token % 1000 + 100 for token in range(0, 7 * 700, 7)]
    ways = {}
    for room in (24, 600):
        decoding = pk.decoder(pair, text, method="hybrid", max_new_tokens=room)
        for _ in zip(range(16), decoding, strict=False):
            pass
        ways[room] = [bool(iteration.draft) for iteration in decoding.iterations]
    assert not any(ways[24])
    assert any(ways[600])
    assert not ways[600][0]  # nothing was known before the target had read


class Ticks:
    """A clock that goes on by a millisecond at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-3
        return self.now


def repeating(period: int = 6, **knobs) -> list[pk.Iteration]:
    """Iterations on a text of that period, every one as fast as the next."""
    hybrid = Hybrid(None, PromptLookup(), Lengthen(PoolJournal(pk.PhrasePool())), Ledger(), clock=Ticks())
    decoder = Decoder(
        ScriptedModel(mixing(period, order=1), vocabulary=period),
        [1],
        proposers=[hybrid],
        knobs=Knobs(lookup=24, lookup_ngram=5).but(**knobs),
        limits=Limits(max_new_tokens=300),
    )
    return list(decoder)


def test_a_copy_that_held_is_followed_by_a_longer_one() -> None:
    rows = [len(iteration.tree.tokens) for iteration in repeating()]
    assert rows[-3] == 24
    assert 12 in rows  # 2 · 5 + 2 for the first match of five
    assert rows == sorted(rows) or rows.index(24) < 20


def test_what_proposes_nothing_is_plain() -> None:
    iterations = repeating(lookup=0)
    assert {iteration.note.split(":")[0] for iteration in iterations} == {PLAIN}


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_whatever_is_chosen_the_text_is_the_same(pair: pk.Pair, temperature: float) -> None:
    prompt = "def median(values):\n    ordered = sorted(values)\n"
    options = {"max_new_tokens": 96, "temperature": temperature, "seed": 5}
    plain = pk.generate(pair, prompt, method="vanilla", **options)
    run = pk.generate(pair, prompt, method="hybrid", **options)
    assert run.tokens == plain.tokens
    ways = {iteration.note.split(":")[0] for iteration in run.trace.iterations}
    assert len(ways & {DRAFTING, COPYING, GUESSING}) > 1 or len(run.trace.iterations) < 12
    assert all(iteration.note for iteration in run.trace.iterations)


def test_a_pair_without_a_draft_copies(pair: pk.Pair) -> None:
    alone = pk.load_pair(pair.target.model, tokenizer=pair.tokenizer)
    prompt = "x = 1\ny = 2\n" * 8
    run = pk.generate(alone, prompt, method="hybrid", max_new_tokens=48)
    assert run.tokens == pk.generate(alone, prompt, method="vanilla", max_new_tokens=48).tokens
    assert len(run.trace.iterations) < 48
