"""Where a run is cut: every place of an end token, every room, every kind of reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasekit.decode import Limits
from phrasekit.decode.stopping import cut


class StopAt:
    """Says stop at one token; remembers what it saw."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.seen: list[int] = []

    def push(self, token: int) -> bool:
        self.seen.append(token)
        return token == self.token


def reference(run, room, eos):
    end = min((i + 1 for i, token in enumerate(run) if token in eos), default=len(run) + 1)
    if end <= min(room, len(run)):
        return run[:end], "eos"
    return run[:room], "length" if len(run) >= room else ""


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 10), st.sets(st.integers(0, 5)))
def test_first_of_end_token_and_room(run, room, eos):
    assert cut(run, room=room, limits=Limits(eos=frozenset(eos))) == reference(run, room, eos)


@pytest.mark.parametrize("place", range(6))
def test_an_end_token_at_each_place_is_kept_and_is_the_last(place):
    """transformers#47912, LookaheadDecoding PR#69: only the last token of a block was looked at."""
    run = [1] * 6
    run[place] = 9
    assert cut(run, room=6, limits=Limits(eos=frozenset({9}))) == (run[: place + 1], "eos")


@pytest.mark.parametrize(("first", "second"), [(2, 4), (4, 2), (0, 1)])
def test_of_several_end_tokens_the_first_one_ends_the_run(first, second):
    """Llama 3 and Qwen have more than one (ipex-llm PR#9963)."""
    run = [1] * 6
    run[first], run[second] = 8, 9
    end = min(first, second) + 1
    assert cut(run, room=99, limits=Limits(eos=frozenset({8, 9}))) == (run[:end], "eos")


@pytest.mark.parametrize("room", range(1, 8))
def test_every_room(room):
    emitted, ended = cut([1, 2, 3, 4, 5], room=room, limits=Limits())
    assert emitted == [1, 2, 3, 4, 5][:room]
    assert ended == ("length" if room <= 5 else "")


@pytest.mark.parametrize("room", range(1, 6))
@pytest.mark.parametrize("stop", range(1, 6))
def test_the_watcher_sees_every_emitted_token_once_and_no_other(room, stop):
    watcher = StopAt(stop)
    emitted, ended = cut([1, 2, 3, 4, 5], room=room, limits=Limits(), text=watcher)
    assert watcher.seen == emitted == [1, 2, 3, 4, 5][: min(room, stop)]
    assert ended == ("stop" if stop <= room else "length")


def test_an_end_token_inside_the_room_wins_over_the_limit_at_the_same_place():
    assert cut([1, 9], room=2, limits=Limits(eos=frozenset({9}))) == ([1, 9], "eos")


def test_an_end_token_wins_over_a_stop_string_that_it_completes():
    assert cut([1, 9], room=5, limits=Limits(eos=frozenset({9})), text=StopAt(9)) == ([1, 9], "eos")


@given(
    st.one_of(
        st.tuples(st.just("max_new_tokens"), st.integers(max_value=0)),
        st.tuples(st.just("max_new_tokens"), st.none() | st.booleans() | st.floats() | st.text()),
        st.tuples(st.just("stop"), st.just(("a", "")) | st.just(("",))),
        st.tuples(st.just("stop"), st.tuples(st.integers() | st.none() | st.binary())),
        st.tuples(st.just("stop"), st.integers() | st.none()),
    )
)
def test_a_bad_limit_is_one_error_that_names_it(case):
    name, value = case
    with pytest.raises((TypeError, ValueError), match=f"^{name} "):
        Limits(**{name: value})


def test_one_token_is_the_least_to_ask_for():
    assert Limits(max_new_tokens=1).max_new_tokens == 1
    with pytest.raises(ValueError, match="from 1 up, but got 0"):
        Limits(max_new_tokens=0)
