from __future__ import annotations

import pytest

import phrasekit as pk
from phrasekit import Knobs
from phrasekit.tune.measure import Entry, Meter
from phrasekit.tune.records import Cancelled
from tests.tune.conftest import PROMPTS

NEW = 12
TRIAL = Entry(name="trial", method="ouroboros", knobs=Knobs(gamma=3))


def meter(pair, time, **changes) -> Meter:
    return Meter(pair=pair, settings={"max_new_tokens": NEW}, clock=time, **changes)


def finish(rounds):
    seen = []
    while True:
        try:
            seen.append(next(rounds))
        except StopIteration as end:
            return seen, end.value


def test_the_ratio_is_time_against_plain_time_for_the_same_prompts(pair, time):
    time.price = lambda decoding: 1.0 if decoding.method.name == "vanilla" else 0.5
    steps, samples = finish(meter(pair, time).rounds([TRIAL], PROMPTS[:2], 3))
    assert steps == [1, 2, 3, 4, 5, 6]
    runs = [
        pk.generate(pair, list(prompt), method="ouroboros", knobs=TRIAL.knobs, max_new_tokens=NEW)
        for prompt in PROMPTS[:1]
    ]
    assert len(runs[0].trace.iterations) < NEW
    found, plain = samples.of("trial"), samples.of("vanilla")
    assert plain.ratio.median == plain.ratio.low == plain.ratio.high == 1.0
    assert plain.ms.median == 1000.0  # one second a step, one token a step
    per_repeat = found.metrics.iterations / 3
    assert found.ratio.median == pytest.approx(2 * NEW / (0.5 * per_repeat))
    assert found.ms.median == pytest.approx(1e3 * 0.5 * per_repeat / (2 * NEW))


def test_drift_cancels(pair, time):
    """A machine that is ten times slower in the second repeat changes no ratio."""
    slow = [1.0]
    time.price = lambda decoding: slow[0]
    rounds = meter(pair, time).rounds([TRIAL], PROMPTS[:2], 2)
    next(rounds), next(rounds)
    slow[0] = 10.0
    _, samples = finish(rounds)
    ratio = samples.of("trial").ratio
    assert ratio.low == pytest.approx(ratio.high)


def test_everyone_begins_in_turn_and_the_first_round_does_not_count(pair, time):
    _, samples = finish(meter(pair, time).rounds([TRIAL], PROMPTS[:2], 1))
    order = [name for name, before in zip(time.steps, ["", *time.steps], strict=False) if name != before]
    # warm-up, then the first prompt plain first, then the second prompt the other way round
    assert order == ["vanilla", "ouroboros", "vanilla", "ouroboros", "vanilla"]
    assert samples.of("vanilla").metrics.emitted == 2 * NEW


def test_a_pool_lives_across_the_prompts_of_a_repeat_only(pair, time):
    def lookups(**changes):
        _, samples = finish(meter(pair, time, **changes).rounds([TRIAL], (PROMPTS[0], PROMPTS[0]), 2))
        return samples.of("trial").metrics.iterations

    assert lookups() < lookups(fresh_pool=True)  # the second time the same prompt is known


def test_other_tokens_are_found_and_told(pair, time, monkeypatch):
    from phrasekit.api import Decoding

    tokens = Decoding.tokens

    def lying(self):
        right = tokens.fget(self)
        if self.method.name == "vanilla" or self._prompt != PROMPTS[1]:
            return right
        return (*right[:4], (right[4] + 1) % 96, *right[5:])

    monkeypatch.setattr(Decoding, "tokens", property(lying))
    one = meter(pair, time)
    steps, samples = finish(one.rounds([TRIAL], PROMPTS[:3], 2))
    failure = one.failures["trial"]
    assert failure.failure == "differs"
    assert str(failure) == "output differs from plain decoding on prompt 2 at token 5"
    assert steps == [1, 2]  # nothing more to learn
    assert samples.of("trial") is None


def test_a_shorter_output_differs_too(pair, time, monkeypatch):
    from phrasekit.api import Decoding

    tokens = Decoding.tokens

    def cut(self):
        return tokens.fget(self)[: NEW if self.method.name == "vanilla" else 3]

    monkeypatch.setattr(Decoding, "tokens", property(cut))
    one = meter(pair, time)
    finish(one.rounds([TRIAL], PROMPTS[:1], 1))
    assert "at token 4" in str(one.failures["trial"])


def test_an_error_of_a_trial_is_its_own_and_the_others_go_on(pair, time):
    def intrude(decoding):
        if decoding.knobs.gamma == 3 and decoding.method.name == "ouroboros":
            raise RuntimeError("out of memory")

    time.intrude = intrude
    one = meter(pair, time)
    other = Entry(name="other", method="speculative", knobs=Knobs(gamma=2))
    _, samples = finish(one.rounds([TRIAL, other], PROMPTS[:1], 1))
    assert (one.failures["trial"].failure, str(one.failures["trial"])) == (
        "error",
        "RuntimeError: out of memory",
    )
    assert samples.of("trial") is None
    assert samples.of("other").metrics.emitted == NEW
    assert samples.ratio("other", "trial") is None


def test_an_error_of_plain_decoding_ends_it(pair, time):
    def intrude(decoding):
        if decoding.method.name == "vanilla":
            raise RuntimeError("broken")

    time.intrude = intrude
    with pytest.raises(RuntimeError, match="broken"):
        next(meter(pair, time).rounds([TRIAL], PROMPTS[:1], 1))


def test_cancelling_takes_effect_within_one_iteration(pair, time):
    one = meter(pair, time, cancelled=lambda: len(time.steps) >= 30)
    with pytest.raises(Cancelled):
        finish(one.rounds([TRIAL], PROMPTS, 3))
    assert len(time.steps) == 30
