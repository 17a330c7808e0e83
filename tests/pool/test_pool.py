"""The phrase pool against a list that is searched from end to end, whatever is done to it in whatever order."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import phrasekit as pk
from phrasekit.pool import PhrasePool, PoolJournal
from phrasekit.trace.records import PhraseRecord
from tests import models
from tests.models import PROMPT

phrases = st.lists(st.integers(-1, 2), min_size=0, max_size=6).map(tuple)


class Machine(RuleBasedStateMachine):
    """A pool and its oracle: entries [id, tokens, uses, accepted], least recently touched first."""

    @initialize(
        per_key=st.integers(1, 4),
        capacity=st.integers(1, 8),
        longest=st.integers(2, 5),
        policy=st.sampled_from(["lru", "least_used", "least_accepted"]),
    )
    def start(self, per_key, capacity, longest, policy):
        self.pool = PhrasePool(per_key=per_key, capacity=capacity, longest=longest, policy=policy)
        self.per_key, self.capacity, self.longest = per_key, capacity, longest
        self.rank = {"lru": lambda entry: 0, "least_used": lambda e: e[2], "least_accepted": lambda e: e[3]}[
            policy
        ]
        self.entries: list[list] = []
        self.ids: set[int] = set()

    @rule(tokens=phrases)
    def insert(self, tokens):
        new, gone = self.pool.insert(tokens, "window")
        if len(tokens) < 2 or min(tokens) < 0:
            assert (new, gone) == (None, ())
            return
        kept = tokens[: self.longest]
        held = next((e for e in self.entries if e[1][: len(kept)] == kept), None)
        if held is not None:
            assert (new, gone) == (None, ())
            self.touch(held)
            return
        leaving = [e for e in self.entries if kept[: len(e[1])] == e[1]]
        same_key = [e for e in self.entries if e[1][0] == kept[0]]
        if not leaving and len(same_key) == self.per_key:
            leaving = [min(same_key, key=self.rank)]
        elif not leaving and len(self.entries) == self.capacity:
            leaving = [min(self.entries, key=self.rank)]
        assert gone == tuple(e[0] for e in leaving)
        self.entries = [e for e in self.entries if e not in leaving]
        assert new.tokens == kept
        assert new.id not in self.ids, "an id is never used again"
        self.ids.add(new.id)
        self.entries.append([new.id, kept, 0, 0])

    @rule(key=st.integers(-1, 3), count=st.integers(-1, 5))
    def lookup(self, key, count):
        due = [e for e in self.entries if e[1][0] == key][::-1][: max(count, 0)]
        assert [(p.id, p.tokens) for p in self.pool.lookup(key, count)] == [(e[0], e[1]) for e in due]
        for entry in reversed(due):
            entry[2] += 1
            self.touch(entry)

    @rule(place=st.integers(0, 9), tokens=st.integers(0, 3))
    def credit(self, place, tokens):
        self.pool.credit(self.entries[place][0] if place < len(self.entries) else 10**6, tokens)
        if place < len(self.entries):
            self.entries[place][3] += tokens

    @rule()
    def clear(self):
        self.pool.clear()
        self.entries = []

    def touch(self, entry):
        self.entries.remove(entry)
        self.entries.append(entry)

    @invariant()
    def agrees(self):
        if not hasattr(self, "pool"):
            return
        assert self.pool.check_integrity() == ""
        assert len(self.pool) == len(self.entries)
        assert [[p.id, p.tokens, p.uses, p.accepted] for p in self.pool] == self.entries


Machine.TestCase.settings = settings(max_examples=120, stateful_step_count=40)
TestMachine = Machine.TestCase


def test_what_a_lookup_gives_is_newest_first_and_then_the_last_to_go():
    pool = PhrasePool(per_key=3)
    for follower in (1, 2, 3):
        pool.insert((0, follower), "window")
    assert [p.tokens[1] for p in pool.lookup(0, 2)] == [3, 2]
    pool.insert((0, 1), "window")  # known: refreshed
    assert [p.tokens[1] for p in pool.lookup(0, 3)] == [1, 3, 2]
    _, (gone,) = pool.insert((0, 9), "window")
    assert [p.tokens[1] for p in pool.lookup(0, 9)] == [9, 1, 3]
    assert gone not in {p.id for p in pool}


def test_a_beginning_never_stands_beside_the_whole():
    pool = PhrasePool()
    short, _ = pool.insert((1, 2, 3), "window")
    longer, gone = pool.insert((1, 2, 3, 4), "suffix")
    assert gone == (short.id,)
    assert pool.insert((1, 2), "window") == (None, ())
    assert [p.tokens for p in pool] == [longer.tokens]


def test_a_pool_of_one():
    """sglang#36495: eviction assumed that the capacity exceeds what comes in at once."""
    pool = PhrasePool(per_key=1, capacity=1, longest=2)
    for key in range(5):
        new, _ = pool.insert((key, 1, 2, 3), "window")
        assert [p.tokens for p in pool] == [new.tokens] == [(key, 1)]
        assert pool.check_integrity() == ""


@pytest.mark.parametrize("name", ["per_key", "capacity", "longest", "half_life"])
@pytest.mark.parametrize("value", [-1, 2**70, 1.5, "3", None, True])
def test_bad_limits_are_refused_by_name(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        PhrasePool(**{name: value})


def test_integrity_can_fail():
    """beehive-lab/GPULlama3.java#149: a check that never saw a difference hid all of them."""

    def broken(change):
        pool = PhrasePool(per_key=2, capacity=4, longest=3)
        for phrase in ((1, 2, 3), (1, 3), (2, 3)):
            pool.insert(phrase, "window")
        change(pool)
        return pool.check_integrity()

    assert broken(lambda pool: None) == ""
    assert "once" in broken(lambda pool: pool._by_age.popitem())
    assert "capacity" in broken(lambda pool: setattr(pool, "capacity", 2))
    assert "per_key" in broken(lambda pool: setattr(pool, "per_key", 1))
    assert "beginning" in broken(lambda pool: setattr(pool._by_key[1][1], "tokens", (1, 2)))
    assert "key" in broken(lambda pool: setattr(pool._by_key[1][0], "tokens", (7, 2)))
    assert "order" in broken(lambda pool: pool._by_key[1].reverse())


# --- journal ----------------------------------------------------------------------------------------


def test_a_journal_tells_what_happened_since_the_last_time():
    pool = PhrasePool(per_key=2)
    journal = PoolJournal(pool)
    for follower in (5, 6, 7):
        journal.insert((1, follower), "window")
    journal.insert((1, 7), "window")  # refreshed: not new
    journal.insert((1,), "window")
    assert [p.tokens for p in journal.lookup(1, 1)] == [(1, 7)]
    assert journal.lookup(2, 4) == ()
    first, second, third = (PhraseRecord(number, (1, 5 + number), "window") for number in range(3))
    record = journal.drain()
    assert (record.lookups, record.hits) == (2, 1)
    assert record.inserted == (first, second, third)
    assert record.retrieved == (third,)
    assert record.evicted == (first.id,)
    assert record.size == len(pool) == 2
    empty = journal.drain()
    assert (empty.lookups, empty.hits, empty.inserted, empty.retrieved, empty.evicted) == (0, 0, (), (), ())


def test_two_journals_of_one_pool_tell_each_its_own():
    pool = PhrasePool()
    left, right = PoolJournal(pool), PoolJournal(pool)
    left.insert((1, 2), "window")
    right.lookup(1, 1)
    assert (len(left.drain().inserted), right.drain().hits) == (1, 1)


# --- threads ----------------------------------------------------------------------------------------


def together(*jobs) -> None:
    """All jobs at once, with as many switches between them as Python can be made to do."""
    errors, barrier, interval = [], threading.Barrier(len(jobs)), sys.getswitchinterval()

    def guarded(job):
        try:
            barrier.wait(timeout=30)
            job()
        except BaseException as error:  # noqa: BLE001  (handed to the main thread)
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


@pytest.mark.parametrize("policy", ["lru", "least_used", "least_accepted"])
def test_many_threads_on_one_pool(policy):
    pool = PhrasePool(per_key=3, capacity=20, longest=5, policy=policy)

    def hammer(salt: int):
        def job():
            journal = PoolJournal(pool)
            for step in range(1500):
                mixed = (step * 7919 + salt * 104729) % 100003
                journal.insert(tuple(mixed // 5**i % 5 for i in range(2 + mixed % 4)), "window")
                found = journal.lookup(mixed % 5, 3)
                assert all(phrase.tokens[0] == mixed % 5 for phrase in found)
                journal.credit(mixed % 200, 1)
                if step % 100 == 0:
                    assert len(list(pool)) <= 20
                    journal.drain()

        return job

    together(*(hammer(salt) for salt in range(4)))
    assert pool.check_integrity() == ""


def test_two_runs_at_once_on_one_pair_and_one_pool():
    """A second run while the first is alive: neither sees the other but through the pool."""
    pool, pair, found = PhrasePool(per_key=4), models.pair_of("llama"), {}
    prompts = {name: tuple((t + name) % 96 for t in PROMPT) for name in range(3)}

    def run(name: int):
        def job():
            found[name] = pk.generate(
                pair,
                prompts[name],
                method="ouroboros",
                max_new_tokens=50,
                pool=pool,
                knobs=pk.Knobs(window=2),
            ).tokens

        return job

    together(*(run(name) for name in prompts))
    for name, prompt in prompts.items():
        assert found[name] == models.greedy(pair.target.model, prompt, 50)
    assert pool.check_integrity() == ""


def test_two_runs_in_turns():
    """TensorRT-LLM#2263: state of one request must not reach the next."""
    pair, pool = models.pair_of("gemma3"), PhrasePool()
    prompts = [PROMPT, PROMPT[::-1]]
    runs = [pk.decoder(pair, prompt, max_new_tokens=40, pool=pool) for prompt in prompts]
    while not all(run.finished for run in runs):
        for run in runs:
            if not run.finished:
                run.step()
    for run, prompt in zip(runs, prompts, strict=True):
        assert run.tokens == models.greedy(pair.target.model, prompt, 40)
