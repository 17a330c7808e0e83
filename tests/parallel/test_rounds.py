"""Rounds against the rule they follow, written down a second time without caches, trees or lanes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasekit import Knobs
from phrasekit.decode import Decoder, Draft, Limits, Proposer
from phrasekit.decode.tree import ROOT
from phrasekit.parallel import Drafter, ParallelDecoder, Serial, Tail, Threads
from phrasekit.propose import Datastore
from phrasekit.trace import Iteration
from phrasekit.trace.records import GUIDE, RETRIEVED
from tests.models import ScriptedModel, follow, mixing

Script = Callable[[tuple[int, ...]], int]
Oracle = Callable[[tuple[int, ...]], list[int]]
PROMPT = (1, 2, 3)
SCHEDULES = {"serial": Serial, "threads": Threads}


class Told(Proposer):
    """Proposes what an oracle says of the text so far: a guide, or a draft's retrieval."""

    def __init__(self, oracle: Oracle, kind: str) -> None:
        self.oracle, self.kind = oracle, kind

    def propose(self, draft: Draft) -> None:
        tree = draft.tree
        end = tree.trunk[-1] if tree.trunk else ROOT
        tree.add_branch(end, self.oracle((*draft.context, *tree.path_tokens(end))), self.kind)


def nothing(_: tuple[int, ...]) -> list[int]:
    return []


def lanes(
    target: Script,
    draft: Script,
    *,
    guide: Oracle = nothing,
    retrieve: Oracle = nothing,
    gamma: int = 4,
    limits: Limits | None = None,
    schedule: str = "serial",
    rejected: Datastore | None = None,
) -> ParallelDecoder:
    limits, knobs, tail = limits or Limits(max_new_tokens=40), Knobs(gamma=gamma), Tail()
    verifier = Decoder(
        ScriptedModel(target), PROMPT, proposers=(tail, Told(guide, GUIDE)), limits=limits, knobs=knobs
    )
    writer = Decoder(
        ScriptedModel(draft), PROMPT, proposers=(Told(retrieve, RETRIEVED),), limits=limits, knobs=knobs
    )
    return ParallelDecoder(
        verifier, Drafter(writer, started=0.0), tail, schedule=SCHEDULES[schedule](), rejected=rejected
    )


def wrong_at(script: Script, *places: int) -> Script:
    """The script, but for these positions of the generated text."""
    return lambda prefix: (script(prefix) + (len(prefix) - len(PROMPT) in places)) % 16


def matching(script: Script, text: list[int], proposal: Sequence[int]) -> list[int]:
    """What a model with this script makes of a proposal: the part it agrees with, and its next token."""
    made: list[int] = []
    for token in proposal:
        if script((*text, *made)) != token:
            break
        made.append(token)
    return [*made, script((*text, *made))]


def rule(
    target: Script, draft: Script, guide: Oracle, retrieve: Oracle, gamma: int, count: int
) -> list[tuple[tuple[int, ...], int]]:
    """P12 of the design, as it is stated: what every round emits, and how long the new tail is."""
    verified, tail, rounds = list(PROMPT), [], []
    while len(verified) < len(PROMPT) + count:
        room = len(PROMPT) + count - len(verified)
        stem = [*verified, *tail]
        drafted: list[int] = []
        for _ in range(gamma):
            if len(drafted) >= room - len(tail):
                break
            drafted += matching(draft, [*stem, *drafted], retrieve((*stem, *drafted)))
        drafted = drafted[: max(0, room - len(tail))]
        said = matching(target, verified, tail)
        if len(said) <= len(tail):  # some of the tail is wrong
            emitted, tail = said, []
        else:
            guided = matching(target, stem, guide(tuple(stem)))
            emitted = [*tail, *guided]
            tail = drafted[len(guided) :] if drafted[: len(guided)] == guided else []
        emitted = emitted[:room]
        verified += emitted
        rounds.append((tuple(emitted), len(tail)))
    return rounds


def rounds_of(decoder: ParallelDecoder) -> list[Iteration]:
    return list(decoder)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(SCHEDULES)))
def test_every_round_is_what_the_rule_says(seed, schedule):
    rng = random.Random(seed)
    target = mixing(rng.randint(2, 8), rng.randint(1, 3), rng.randint(0, 50))
    every, salt = rng.randint(2, 7), rng.randint(0, 99)

    def draft(prefix: tuple[int, ...]) -> int:
        off = (sum(prefix) + salt + len(prefix)) % every == 0
        return (target(prefix) + off) % 16

    def oracle(offset: int) -> Oracle:
        """Right for some tokens, then not; sometimes empty."""
        mood = rng.randint(0, 3)

        def told(prefix: tuple[int, ...]) -> list[int]:
            right, size = (len(prefix) * 7 + offset) % 4, (len(prefix) * 5 + offset) % 6
            text = follow(target, prefix, size)
            return [] if mood == 0 else [*text[:right], *((token + 1) % 16 for token in text[right:])]

        return told

    guide, retrieve = oracle(1), oracle(2)
    gamma, count = rng.randint(0, 5), rng.randint(1, 40)
    decoder = lanes(
        target,
        draft,
        guide=guide,
        retrieve=retrieve,
        gamma=gamma,
        limits=Limits(max_new_tokens=count),
        schedule=schedule,
    )
    made = rounds_of(decoder)
    due = rule(target, draft, guide, retrieve, gamma, count)
    assert [one.emitted for one in made] == [emitted for emitted, _ in due]
    # the last round's tail is of no consequence
    assert [one.round.kept for one in made][:-1] == [kept for _, kept in due][:-1]
    assert decoder.emitted == follow(target, PROMPT, count)
    assert decoder.finish_reason == "length"


@pytest.mark.parametrize("gamma", [1, 2, 4, 7])
def test_a_perfect_draft_pays_gamma_tokens_a_round(gamma):
    script = mixing(16, 3)
    made = rounds_of(lanes(script, script, gamma=gamma, limits=Limits(max_new_tokens=1 + 6 * gamma)))
    # the first round has no tail: the target writes one token, which the draft then begins with
    assert [len(one.emitted) for one in made] == [1] + [gamma] * 6 if gamma > 1 else [1] * 7


@pytest.mark.parametrize("place", range(2, 12))
def test_one_mistake_costs_its_round_and_the_draft_behind_it(place):
    script = mixing(16, 3)
    made = rounds_of(lanes(script, wrong_at(script, place), gamma=4, limits=Limits(max_new_tokens=21)))
    assert [token for one in made for token in one.emitted] == list(follow(script, PROMPT, 21))
    # tails begin at 1, 5, 9, …: a mistake inside one ends its round there, with the target's own token
    breaking = [one for one in made if one.index and not one.round.kept and one is not made[-1]]
    assert len(breaking) == 1
    mended = breaking[0].position + len(breaking[0].emitted) - len(PROMPT)
    assert mended == place + 1 if (place - 1) % 4 else place


@pytest.mark.parametrize("right", range(6))
def test_a_guide_is_taken_as_far_as_it_is_right(right):
    script = mixing(16, 3)

    def guide(prefix: tuple[int, ...]) -> list[int]:
        text = follow(script, prefix, 5)
        return [*text[:right], *((token + 1) % 16 for token in text[right:])]

    # no draft at all: the guide is all there is
    made = rounds_of(lanes(script, script, guide=guide, gamma=0, limits=Limits(max_new_tokens=30)))
    assert {len(one.emitted) for one in made[:-1]} == {right + 1}
    assert sum(kind == GUIDE for one in made[:-1] for kind in one.kinds) == right * (len(made) - 1)


def test_guidance_extends_the_draft_and_corrects_it():
    script = mixing(16, 3)
    guides = {len(PROMPT): list(follow(script, PROMPT, 3))}
    # the draft is right for two tokens, the guide for three: its third token corrects the draft
    decoder = lanes(
        script,
        wrong_at(script, 2),
        guide=lambda prefix: guides.get(len(prefix), []),
        gamma=4,
        limits=Limits(max_new_tokens=12),
    )
    first = decoder.step()
    assert first.emitted == follow(script, PROMPT, 4)
    assert first.kinds == (GUIDE, GUIDE, GUIDE, "target")
    assert (first.round.kept, decoder.unverified) == (0, ())
    assert first.round.drafted[:2] == first.emitted[:2]
    assert first.round.drafted[2] != first.emitted[2]


def test_an_end_token_in_the_unverified_tail_ends_nothing():
    script = mixing(12, 3)
    text = follow(script, PROMPT, 30)
    end = 15  # the target never says it
    draft = lambda prefix: end if len(prefix) == len(PROMPT) + 4 else script(prefix)  # noqa: E731
    decoder = lanes(script, draft, gamma=6, limits=Limits(max_new_tokens=30, eos=frozenset({end})))
    assert [token for one in decoder for token in one.emitted] == list(text)
    assert decoder.finish_reason == "length"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_nothing_follows_an_end_token_that_the_target_says(schedule):
    script = mixing(12, 3)
    text = follow(script, PROMPT, 40)
    for end in set(text):
        decoder = lanes(
            script, script, gamma=5, limits=Limits(max_new_tokens=40, eos=frozenset({end})), schedule=schedule
        )
        assert tuple(token for one in decoder for token in one.emitted) == text[: text.index(end) + 1]
        assert decoder.finish_reason == "eos"
        with pytest.raises(RuntimeError, match="a finished decoder cannot step"):
            decoder.step()


def test_unverified_tokens_are_never_emitted():
    script = mixing(16, 3)
    decoder = lanes(script, wrong_at(script, 3, 6, 11), gamma=5)
    due = follow(script, PROMPT, 40)
    for _ in decoder:
        assert decoder.emitted == due[: len(decoder.emitted)]


def test_what_the_target_refused_can_be_found_again():
    script = mixing(16, 3)
    rejected = Datastore(capacity=256)
    made = rounds_of(lanes(script, wrong_at(script, 3), gamma=4, rejected=rejected))
    broken = next(one for one in made if one.index and not one.round.kept)
    refused = broken.tree.tokens[broken.accepted]
    stem = (*PROMPT, *follow(script, PROMPT, broken.position - len(PROMPT) + broken.accepted))
    assert rejected.find(stem, 1).tokens == (refused,)
    assert rejected.find(stem, 1).matched == 3
