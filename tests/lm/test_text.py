"""Streaming text: whole characters only, pieces that add up, and stop strings wherever tokens break."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from phrasekit import demo
from phrasekit.lm import TextStream

TOKENIZER = AutoTokenizer.from_pretrained(demo.FOLDER / "target")
SIZE = len(TOKENIZER)
SPICY = "a b\n\tdéß漢字🙂👩‍👩‍👧\u0301\u202e�def return"
texts = st.text(st.sampled_from(SPICY), max_size=20) | st.text(max_size=12)


def encode(text: str) -> list[int]:
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


def pieces(ids: list[int], stop: tuple[str, ...] = ()) -> tuple[list[str], TextStream]:
    """What a stream shows after every token, each piece on its own."""
    stream, found, shown = TextStream(TOKENIZER, stop), [], 0
    for token in ids:
        ended = stream.push(token)
        assert ended == stream.stopped
        found.append(stream.text[shown:])
        shown = len(stream.text)
        if ended:
            break
    found.append(stream.finish()[shown:])
    return found, stream


@settings(max_examples=300)
@given(texts)
def test_pieces_add_up_to_the_text(text):
    ids = encode(text)
    found, stream = pieces(ids)
    assert "".join(found) == stream.text == TOKENIZER.decode(ids, skip_special_tokens=True)


@settings(max_examples=300)
@given(st.text(st.sampled_from("aß漢🙂👩‍👧 "), min_size=1, max_size=20))
def test_no_piece_holds_half_a_character(text):
    found, _ = pieces(encode(text))
    assert not any("�" in piece for piece in found)
    assert "".join(found) == text


@settings(max_examples=300)
@given(st.lists(st.integers(0, SIZE - 1), max_size=20))
def test_any_token_ids_whatever_bytes_they_are(ids):
    """A model may well emit half a character and go on with something else."""
    found, stream = pieces(ids)
    assert "".join(found) == stream.text == TOKENIZER.decode(ids, skip_special_tokens=True)


@settings(max_examples=500)
@given(texts, st.data())
def test_the_text_ends_with_the_first_stop_string(text, data):
    """Across token borders and inside characters of several bytes."""
    text = TOKENIZER.decode(encode(text))
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    stops = [text[start : start + data.draw(st.integers(1, 4))], data.draw(st.text(min_size=1, max_size=2))]
    stops = tuple(stop for stop in stops if stop)
    ids = encode(text)
    _, stream = pieces(ids, stops)
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    assert stream.text == text[: min(ends, default=len(text))]
    assert stream.stopped == bool(ends)


@pytest.mark.parametrize("stop", ["\n\n", "def", "🙂", "漢字", "x = 1", "e\u0301"])
def test_a_stop_string_is_seen_at_the_token_that_completes_it(stop):
    text = f"some words {stop} and more"
    ids = encode(text)
    stream = TextStream(TOKENIZER, (stop,))
    at = next(place for place, token in enumerate(ids) if stream.push(token))
    assert stop in TOKENIZER.decode(ids[: at + 1])
    assert stop not in TOKENIZER.decode(ids[:at])
    assert stream.text == f"some words {stop}"


def test_characters_of_several_tokens_are_in_the_tests():
    """Else the tests above show nothing."""
    assert len(encode("🙂")) > 1
    assert len(encode("漢")) > 1


def test_nothing_is_added_behind_a_stop_string():
    stream = TextStream(TOKENIZER, ("b",))
    stream.extend(encode("aaa b ccc ddd"))
    assert stream.finish() == "aaa b"
    assert stream.stopped


def test_a_fork_goes_its_own_way():
    stream = TextStream(TOKENIZER, ("stop",))
    stream.extend(encode("one two"))
    fork = stream.fork()
    fork.extend(encode(" stop"))
    assert fork.stopped
    assert not stream.stopped
    stream.extend(encode(" three"))
    assert (stream.finish(), fork.finish()) == ("one two three", "one two stop")


def test_finishing_twice_says_the_same():
    ids = encode("ab 🙂")[:-1]  # half a character is left over
    _, stream = pieces(ids)
    assert stream.finish() == stream.finish() == TOKENIZER.decode(ids)


def test_special_tokens_are_no_text():
    end = TOKENIZER.eos_token_id
    found, stream = pieces([*encode("a"), end, *encode("b"), end])
    assert "".join(found) == "ab"
    assert stream.text == "ab"


def test_bytes_that_never_become_a_character_are_let_out_at_last():
    """A stream must not fall silent because one byte was wrong."""
    lone = [token for token in range(SIZE) if TOKENIZER.decode([token]) == "�"]
    stream = TextStream(TOKENIZER)
    stream.extend(lone[:1] * 40)
    assert len(stream.text) > 20
    stream.extend(encode(" hello"))
    assert stream.finish().endswith(" hello")
