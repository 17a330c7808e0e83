from __future__ import annotations

import pytest

import phrasekit as pk
from phrasekit.tune import bundled, encode_prompts
from phrasekit.tune.prompts import split

PROMPTS = [(number, number + 1) for number in range(7)]


def test_the_halves_share_nothing_and_lose_nothing():
    halves = split(PROMPTS)
    assert (len(halves.calibration), len(halves.held_out)) == (4, 3)
    assert sorted([*halves.calibration, *halves.held_out]) == PROMPTS


def test_the_seed_deals():
    assert split(PROMPTS, seed=1) == split(PROMPTS, seed=1) != split(PROMPTS, seed=2)
    assert split(PROMPTS, seed=1).digest != split(PROMPTS, seed=2).digest
    assert split(PROMPTS).digest == split(PROMPTS).digest


def test_a_prompt_twice_must_not_be_on_both_sides():
    assert len(split([*PROMPTS, *PROMPTS]).calibration) == 4
    with pytest.raises(ValueError, match="2 different prompts or more"):
        split([(1, 2), (1, 2)])


def test_bundled_prompts_are_different_and_encode():
    texts = bundled()
    assert len(set(texts)) == len(texts) == 16
    pair = pk.load_pair()
    assert encode_prompts(pair, texts)[0] == tuple(pair.encode(texts[0]))


def test_ids_stay_and_texts_need_a_tokenizer(pair):
    assert encode_prompts(pair, [[1, 2]]) == ((1, 2),)
    with pytest.raises(ValueError, match="number 2 is empty"):
        encode_prompts(pair, [[1], []])
    with pytest.raises(ValueError, match="tokenizer"):
        encode_prompts(pair, ["text"])
    with pytest.raises(ValueError, match="chat template"):
        encode_prompts(pair, [[{"role": "user", "content": "Hello"}]])
