"""Which phrase goes when there are too many, and which come first: compared with an exact full scan."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit.pool import PhrasePool
from phrasekit.pool.phrase import COMMITTED, WINDOW
from phrasekit.pool.policy import ORDERS, POLICIES, SLACK

COUNTERS = {"lru": None, "least_used": "uses", "least_accepted": "accepted"}


class Plain:
    """The same pool without any cleverness: one list, looked through every time."""

    def __init__(self, *, per_key, capacity, policy, order, half_life):
        self.per_key, self.capacity, self.order, self.half_life = per_key, capacity, order, half_life
        self.counter = COUNTERS[policy]
        self.phrases: list[dict] = []  # the least recently touched first
        self.added = 0

    def insert(self, tokens):
        for phrase in self.of(tokens[0]):
            if phrase["tokens"][: len(tokens)] == tokens:
                self.touch(phrase)
                return None
        gone = [phrase for phrase in self.phrases if tokens[: len(phrase["tokens"])] == phrase["tokens"]]
        if not gone and len(self.of(tokens[0])) == self.per_key:
            gone = [self.first_to_go(self.of(tokens[0]))]
        elif not gone and len(self.phrases) == self.capacity:
            gone = [self.first_to_go(self.phrases)]
        self.phrases = [phrase for phrase in self.phrases if phrase not in gone]
        self.phrases.append({"tokens": tokens, "uses": 0, "accepted": 0})
        self.added += 1
        if self.half_life and self.added % self.half_life == 0:
            for phrase in self.phrases:
                phrase["uses"] //= 2
                phrase["accepted"] //= 2
        return tokens

    def lookup(self, key, count):
        newest_first = self.of(key)[::-1]
        if self.order == "accepted":
            newest_first.sort(key=lambda phrase: -phrase["accepted"])
        chosen = newest_first[:count]
        for phrase in chosen[::-1]:
            phrase["uses"] += 1
            self.touch(phrase)
        return [phrase["tokens"] for phrase in chosen]

    def credit(self, place, tokens):
        if place < len(self.phrases):
            self.phrases[place]["accepted"] += tokens

    def of(self, key):
        return [phrase for phrase in self.phrases if phrase["tokens"][0] == key]

    def touch(self, phrase):
        self.phrases = [one for one in self.phrases if one is not phrase] + [phrase]

    def first_to_go(self, phrases):
        return min(phrases, key=lambda phrase: phrase[self.counter]) if self.counter else phrases[0]


steps = st.lists(
    st.tuples(st.just("insert"), st.lists(st.integers(0, 4), min_size=2, max_size=4).map(tuple))
    | st.tuples(st.just("lookup"), st.integers(0, 4), st.integers(1, 3))
    | st.tuples(st.just("credit"), st.integers(0, 7), st.integers(1, 4)),
    max_size=80,
)


@settings(max_examples=400)
@given(
    steps=steps,
    per_key=st.integers(1, 4),
    capacity=st.integers(1, 8),
    policy=st.sampled_from(list(POLICIES)),
    order=st.sampled_from(list(ORDERS)),
    half_life=st.sampled_from([0, 1, 2, 5]),
)
def test_every_policy_does_what_a_full_scan_would(steps, per_key, capacity, policy, order, half_life):
    choices = {"policy": policy, "order": order, "half_life": half_life}
    pool = PhrasePool(per_key=per_key, capacity=capacity, **choices)
    plain = Plain(per_key=per_key, capacity=capacity, **choices)
    for what, *given_ in steps:
        if what == "insert":
            new, _ = pool.insert(*given_, WINDOW)
            assert (new and new.tokens) == plain.insert(*given_)
        elif what == "lookup":
            assert [phrase.tokens for phrase in pool.lookup(*given_)] == plain.lookup(*given_)
        else:
            place, tokens = given_
            for phrase in list(pool)[place : place + 1]:
                pool.credit(phrase.id, tokens)
            plain.credit(place, tokens)
        assert pool.check_integrity() == ""
        found = [{"tokens": p.tokens, "uses": p.uses, "accepted": p.accepted} for p in pool]
        assert found == plain.phrases


def filled(policy, **options) -> PhrasePool:
    """Three phrases of three keys; (1, 1) is proposed twice, (2, 2) once with two tokens accepted."""
    pool = PhrasePool(capacity=3, policy=policy, **options)
    for token in (1, 2, 3):
        pool.insert((token, token), COMMITTED)
    pool.lookup(2, 1)
    pool.lookup(1, 1)
    pool.lookup(1, 1)
    pool.credit(1, 2)
    pool.insert((3, 3), COMMITTED)  # seen again: recent, but of no proven use
    return pool


@pytest.mark.parametrize(
    ("policy", "gone"), [("lru", (2, 2)), ("least_used", (3, 3)), ("least_accepted", (1, 1))]
)
def test_each_policy_lets_another_phrase_go(policy, gone):
    pool = filled(policy)
    tokens = {phrase.id: phrase.tokens for phrase in pool}
    _, evicted = pool.insert((4, 4), WINDOW)
    assert [tokens[one] for one in evicted] == [gone]
    assert len(pool) == 3


@pytest.mark.parametrize("policy", POLICIES)
def test_a_newcomer_stays_however_famous_the_others_are(policy):
    pool = PhrasePool(capacity=4, per_key=2, policy=policy)
    for token in range(4):
        new, _ = pool.insert((token, token), WINDOW)
        pool.lookup(token, 1)
        pool.credit(new.id, 9)
    for tokens in ((9, 9), (0, 7), (0, 8), (0, 9)):
        new, gone = pool.insert(tokens, WINDOW)
        assert new.id not in gone
        assert len(gone) <= 1
        assert new in tuple(pool)


def test_old_fame_fades():
    pool = PhrasePool(capacity=2, policy="least_used", half_life=4)
    famous, _ = pool.insert((1, 1), WINDOW)
    for _ in range(7):
        pool.lookup(1, 1)
    uses = []
    for token in range(2, 14):
        pool.insert((token, token), WINDOW)
        pool.lookup(token, 1)
        uses.append(famous.uses if famous in tuple(pool) else None)
    assert uses == [7, 7, 3, 3, 3, 3, 1, None, None, None, None, None]
    assert pool.age == 1


def test_without_half_life_fame_lasts():
    pool = PhrasePool(capacity=2, policy="least_used")
    famous, _ = pool.insert((1, 1), WINDOW)
    pool.lookup(1, 1)
    pool.lookup(1, 1)
    for token in range(2, 100):
        pool.insert((token, token), WINDOW)
        pool.lookup(token, 1)
    assert famous in tuple(pool)
    assert (famous.uses, pool.age) == (2, 0)


def test_a_lookup_gives_the_most_recent_or_the_most_accepted_first():
    for order, expected in (("recent", [4, 3, 2, 1]), ("accepted", [2, 1, 4, 3])):
        pool = PhrasePool(order=order)
        for token in (1, 2, 3, 4):
            new, _ = pool.insert((0, token), WINDOW)
            pool.credit(new.id, 5 if token == 2 else 1 if token == 1 else 0)
        assert [phrase.tokens[1] for phrase in pool.lookup(0, 9)] == expected
        assert [phrase.tokens[1] for phrase in pool.lookup(0, 2)] == expected[:2]
        assert [phrase.tokens[1] for phrase in pool][::-1] == expected


@pytest.mark.parametrize("policy", ["least_used", "least_accepted"])
def test_what_a_policy_keeps_is_bounded_by_the_pool(policy):
    pool = PhrasePool(per_key=2, policy=policy)  # never full: only keys overflow
    for number in range(5_000):
        pool.insert((number % 7, number), WINDOW)
        pool.lookup(number % 5, 1)
        assert len(pool._policy._heap) <= 2 * len(pool) + SLACK
    pool.clear()
    for number in range(500):
        pool.insert((number, number), WINDOW)
    assert pool.check_integrity() == ""


def test_the_default_is_the_least_recently_used_first_and_no_decay():
    pool = PhrasePool()
    assert (pool.policy, pool.order, pool.half_life) == ("lru", "recent", 0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"policy": "mru"},
            ValueError,
            "policy must be one of lru, least_used, least_accepted, but got 'mru'",
        ),
        ({"policy": []}, ValueError, "policy must be one of lru, least_used, least_accepted, but got []"),
        ({"order": "best"}, ValueError, "order must be one of recent, accepted, but got 'best'"),
        ({"order": None}, ValueError, "order must be one of recent, accepted, but got None"),
        ({"half_life": -1}, ValueError, "half_life must be 0 or more, but got -1"),
        ({"half_life": 2.5}, TypeError, "half_life must be a whole number, but got 2.5"),
        ({"half_life": 8191}, ValueError, "half_life must be 0 or at least capacity/8 (8192)"),
        ({"per_key": 257}, ValueError, "per_key must be 256 or less, but got 257"),
        ({"capacity": 1 << 21}, ValueError, "capacity must be 1048576 or less, but got 2097152"),
        ({"longest": 1025}, ValueError, "longest must be 1024 or less, but got 1025"),
    ],
)
def test_choices_are_checked(options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        PhrasePool(**options)


def test_a_phrase_with_a_pick_that_never_was_is_not_kept():
    pool = PhrasePool()
    assert pool.insert((-1, 2), WINDOW) == (None, ())
    assert pool.insert((1, 2, -1), WINDOW) == (None, ())
    assert len(pool) == 0
