"""`LiveSession`: knobs at once, settings at a reset, errors in words, a run that stops."""

from __future__ import annotations

import threading

import pytest

from phrasekit.api import Decoding, generate
from phrasekit.decode import Knobs
from phrasekit.trace import faults
from phrasekit.widgets import LiveSession
from tests.models import PROMPT

TOKENS = 40
WAIT = 60  # seconds; only a broken run needs them


def live(pair, **options) -> LiveSession:
    return LiveSession(pair, PROMPT, **{"max_new_tokens": TOKENS, **options})


def to_the_end(session: LiveSession) -> None:
    session.start()
    assert session.wait(WAIT)
    assert session.state.finished, session.state.status


def plain(pair, **sampling) -> tuple[int, ...]:
    return generate(pair, PROMPT, method="vanilla", max_new_tokens=TOKENS, **sampling).tokens


def test_next_makes_one_iteration_and_compares_it(tiny):
    session = live(tiny)
    assert session.state.identical is None
    assert "Not compared" in session.state.banner
    session.next()
    state = session.state
    assert len(state.trace.iterations) == 1
    assert state.checked == len(state.trace.tokens) >= 1
    assert state.identical
    assert state.status == str(state.trace.iterations[0])


def test_knobs_hold_from_the_next_iteration_and_leave_the_text(tiny):
    session = live(tiny, knobs=Knobs(gamma=2))
    session.next()
    session.set_knobs(gamma=7, window=3)
    assert session.state.status.startswith("From iteration 2 on: gamma = 7, window = 3.")
    session.next()
    first, second = session.trace.iterations
    assert (first.knobs["gamma"], second.knobs["gamma"], second.knobs["window"]) == (2, 7, 3)
    assert second.drafted > first.drafted
    to_the_end(session)
    assert session.trace.tokens == plain(tiny)
    assert session.state.identical
    assert not list(faults(session.trace))


def test_the_work_changes_though_the_text_does_not(tiny):
    few, many = live(tiny, knobs=Knobs(gamma=1, suffixes=0)), live(tiny, knobs=Knobs(gamma=8))
    for session in (few, many):
        to_the_end(session)
    assert few.trace.tokens == many.trace.tokens
    assert len(few.trace.iterations) > len(many.trace.iterations)
    assert f"{len(many.trace.iterations)} target forwards instead of {TOKENS}" in many.state.banner


def test_what_changes_the_text_waits_for_a_reset(tiny):
    session = live(tiny)
    session.next()
    session.want(temperature=0.8, seed=5)
    session.want(top_p=0.9)
    assert session.state.pending == {"temperature": 0.8, "top_p": 0.9, "seed": 5}
    to_the_end(session)
    assert session.trace.tokens == plain(tiny)  # still the greedy text
    session.reset()
    assert not session.state.pending
    assert not session.trace.iterations
    to_the_end(session)
    sampled = plain(tiny, temperature=0.8, top_p=0.9, seed=5)
    assert session.trace.tokens == sampled != plain(tiny)
    assert session.state.identical


def test_a_wish_taken_back_waits_no_more(tiny):
    session = live(tiny)
    session.want(seed=3)
    session.want(seed=0)
    assert not session.state.pending
    assert session.state.status == "Nothing waits for a reset."


def test_another_method_waits_for_a_reset_and_brings_its_knobs(tiny):
    session = live(tiny, knobs=Knobs(gamma=6))
    session.next()
    session.want(method="lookahead")
    session.next()
    assert session.trace.method == "ouroboros"
    session.reset()
    assert session.trace.method == session.state.settings.method == "lookahead"
    assert session.state.knobs.window == 8
    to_the_end(session)
    assert session.trace.tokens == plain(tiny)


def test_a_reset_keeps_the_knobs_and_the_comparison(tiny, monkeypatch):
    session = live(tiny)
    session.set_knobs(gamma=6)
    to_the_end(session)
    vanilla = count_steps(monkeypatch, "vanilla")
    session.reset()
    assert session.state.knobs.gamma == 6
    to_the_end(session)
    assert session.state.checked == TOKENS
    assert not vanilla  # plain decoding ran once


def count_steps(monkeypatch, method: str) -> list[int]:
    steps: list[int] = []
    step = Decoding.step

    def counting(self):
        if self.method.name == method:
            steps.append(1)
        return step(self)

    monkeypatch.setattr(Decoding, "step", counting)
    return steps


@pytest.mark.parametrize("change", [{"gamma": -1}, {"gamma": "x"}, {"beta": 1}, {"delta": 3}])
def test_a_wrong_knob_is_said_and_changes_nothing(tiny, change):
    session = live(tiny)
    before = session.state.knobs
    session.set_knobs(**change)
    assert session.state.failed
    assert session.state.status.startswith("Error: ")
    assert session.state.knobs == before
    assert isinstance(session.error, ValueError | TypeError)
    session.next()
    assert not session.state.failed
    assert len(session.trace.iterations) == 1


@pytest.mark.parametrize("wish", [{"temperature": -1.0}, {"top_p": 0.0}, {"seed": 0.5}, {"method": "magic"}])
def test_a_reset_that_cannot_be_keeps_the_old_run(tiny, wish):
    session = live(tiny)
    session.next()
    session.want(**wish)
    session.reset()
    assert session.state.failed
    assert session.state.pending == wish
    assert len(session.trace.iterations) == 1
    session.next()
    assert len(session.trace.iterations) == 2


def test_an_unknown_wish_is_an_error_in_words(tiny):
    session = live(tiny)
    session.want(top_k=3)
    assert session.state.failed


def test_a_knob_the_method_holds_stays(tiny):
    session = live(tiny, method="ouroboros-no-lengthening")
    session.set_knobs(suffixes=4)
    assert session.state.knobs.suffixes == 0
    assert session.state.status == "ouroboros-no-lengthening holds suffixes where it is."


def test_a_model_that_fails_is_an_error_in_words_and_the_run_can_go_on(tiny, monkeypatch):
    session = live(tiny)
    session.next()
    with monkeypatch.context() as patch:
        patch.setattr(Decoding, "step", broken)
        session.next()
        assert session.state.status == "Error: no \\x1b[31mluck"
        session.start()
        assert session.wait(WAIT)
        assert session.state.failed
        assert not session.state.running
    to_the_end(session)
    assert session.trace.tokens == plain(tiny)


def broken(self):
    raise RuntimeError("no \x1b[31mluck")


def test_a_run_stops_within_one_iteration_and_goes_on(tiny, monkeypatch):
    session = live(tiny, compare=False)
    entered, let = threading.Event(), threading.Semaphore(0)
    step = Decoding.step

    def gated(self):
        entered.set()
        let.acquire(timeout=WAIT)
        return step(self)

    monkeypatch.setattr(Decoding, "step", gated)
    session.start()
    assert entered.wait(WAIT)
    assert session.state.running
    session.next()  # refused, in words
    assert "stop it first" in session.state.status
    session.stop()
    let.release()
    assert session.wait(WAIT)
    assert len(session.trace.iterations) == 1
    assert session.state.status.startswith("Stopped; it can go on. Iteration 1")
    monkeypatch.setattr(Decoding, "step", step)
    to_the_end(session)
    assert session.trace.tokens == plain(tiny)


def test_knobs_change_while_the_run_goes_on(tiny, monkeypatch):
    session = live(tiny, knobs=Knobs(gamma=2), compare=False)
    step = Decoding.step

    def meddling(self):
        made = step(self)
        if made.index == 2:
            session.set_knobs(gamma=5)
        return made

    monkeypatch.setattr(Decoding, "step", meddling)
    to_the_end(session)
    assert [one.knobs["gamma"] for one in session.trace.iterations[:5]] == [2, 2, 2, 5, 5]
    assert session.trace.tokens == plain(tiny)


def test_a_wrong_knob_while_the_run_goes_on_does_not_spoil_its_end(tiny, monkeypatch):
    session = live(tiny)
    step = Decoding.step

    def meddling(self):
        session.set_knobs(gamma=-1)
        return step(self)

    monkeypatch.setattr(Decoding, "step", meddling)
    to_the_end(session)
    assert session.state.checked == TOKENS
    assert not session.state.failed


def test_a_reset_ends_a_run_that_goes_on(tiny):
    session = live(tiny, max_new_tokens=400)
    session.start()
    session.reset()
    assert not session.state.running
    assert not session.trace.iterations


def test_an_ended_run_says_so(tiny):
    session = live(tiny)
    to_the_end(session)
    session.next()
    assert session.state.status == "The run has ended; reset to start again."
    session.start()
    assert session.wait(WAIT)
    assert session.state.finished


def test_comparison_on_request(tiny, monkeypatch):
    vanilla = count_steps(monkeypatch, "vanilla")
    session = live(tiny, compare=False)
    to_the_end(session)
    assert session.state.identical is None
    assert not vanilla
    session.compare()
    assert session.state.checked == TOKENS
    assert session.state.identical
    assert len(vanilla) == TOKENS


def test_another_text_is_called_another_text(tiny):
    """Negative control: the textbook rejection rule draws another text for another method."""
    session = live(tiny, rule="rejection", temperature=1.0, seed=1)
    to_the_end(session)
    state = session.state
    assert state.identical is False
    assert state.banner.startswith(f"✗ Not the same text: token {state.differs + 1} ")


def test_watchers_see_every_state(tiny):
    session = live(tiny)
    seen = []
    session.watch(seen.append)
    to_the_end(session)
    assert seen[0].running
    assert not seen[-1].running
    assert seen[-1].trace == session.trace
    counts = [len(state.trace.iterations) for state in seen]
    assert counts == sorted(counts)


def test_wrong_arguments_are_refused_at_once(tiny):
    with pytest.raises(ValueError, match="method must be one of"):
        live(tiny, method="magic")
    with pytest.raises(TypeError, match="sampling options"):
        live(tiny, heat=1)


def test_repr_is_one_short_line(tiny):
    session = live(tiny)
    session.next()
    assert "\n" not in repr(session)
    assert len(repr(session)) < 200
    assert repr(session).startswith("<live ouroboros: 1 iteration, ")
