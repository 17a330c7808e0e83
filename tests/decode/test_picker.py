"""The picker: the right law, one draw a position, and the same cut-offs as transformers."""

from __future__ import annotations

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from phrasekit.decode import GreedyPicker, KeyedPicker, Sampling, picker_of, pickers_of
from phrasekit.decode.picker import KEPT_POSITIONS, LEAST, Rows, best, warp, with_logprobs
from phrasekit.decode.rejection_picker import DraftSampler, RejectionPicker

DRAWS = 20_000
ALPHA = 1e-6  # a right law fails one run in a million, and the seeds are fixed
LOGITS = torch.tensor([2.0, 1.0, 0.5, 0.0, 0.0, -1.0, -1.5, -3.0], dtype=torch.float64)


def pick(picker, logits: torch.Tensor, positions) -> list[int]:
    rows = Rows(positions=list(positions), prefix=lambda row: [0] * positions[row])
    return picker.pick(logits, rows).tolist()


def draws(sampling: Sampling, logits: torch.Tensor, positions: range) -> list[int]:
    picker, found = KeyedPicker(sampling), []
    for start in range(positions.start, positions.stop, 500):
        some = range(start, min(start + 500, positions.stop))
        found += pick(picker, logits.expand(len(some), -1), some)
    return found


def p_value(counts: torch.Tensor, law: torch.Tensor) -> float:
    """Chi-square, cells with fewer than ten expected draws pooled."""
    expected = law * counts.sum()
    rare = expected < 10
    if rare.any():
        counts = torch.cat([counts[~rare], counts[rare].sum()[None]])
        expected = torch.cat([expected[~rare], expected[rare].sum()[None]])
        if expected[-1] == 0:
            assert counts[-1] == 0, "a token of no probability was drawn"
            counts, expected = counts[:-1], expected[:-1]
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(torch.special.gammaincc(torch.tensor((len(counts) - 1) / 2), statistic.float() / 2))


def histogram(cells: list[int], size: int) -> torch.Tensor:
    return torch.bincount(torch.tensor(cells), minlength=size).double()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.6},
        {"temperature": 2.0},
        {"top_k": 3},
        {"top_p": 0.8},
        {"top_k": 5, "top_p": 0.7},
    ],
    ids=str,
)
def test_law_over_positions(options):
    sampling = Sampling(**{"temperature": 1.0, "seed": 5, **options})
    law = warp(LOGITS[None], sampling)[0].softmax(-1)
    assert p_value(histogram(draws(sampling, LOGITS, range(DRAWS)), 8), law) > ALPHA


def test_law_over_seeds():
    found = [
        draws(Sampling(temperature=1.0, seed=seed), LOGITS, range(9, 10))[0] for seed in range(DRAWS // 4)
    ]
    assert p_value(histogram(found, 8), LOGITS.softmax(-1)) > ALPHA


def test_neighbouring_positions_and_neighbouring_seeds_are_independent():
    """vLLM's distribution test found one stream used twice; PEARL reuses one number for two positions."""
    law = torch.outer(LOGITS.softmax(-1), LOGITS.softmax(-1)).flatten()
    first = draws(Sampling(temperature=1.0, seed=1), LOGITS, range(DRAWS + 1))
    second = draws(Sampling(temperature=1.0, seed=2), LOGITS, range(DRAWS + 1))
    along = [8 * a + b for a, b in zip(first, first[1:], strict=False)]
    across = [8 * a + b for a, b in zip(first, second, strict=True)]
    shifted = [8 * a + b for a, b in zip(first[1:], second, strict=False)]  # seed + 1 is not position + 1
    for cells in (along, across, shifted):
        assert p_value(histogram(cells, 64), law) > ALPHA


def test_the_check_of_the_law_can_fail():
    wrong = (LOGITS / 1.1).softmax(-1)
    assert p_value(histogram(draws(Sampling(temperature=1.0), LOGITS, range(DRAWS)), 8), wrong) < ALPHA


def test_every_row_at_a_position_shares_one_draw():
    """Algorithms 0.2, condition 1: two branches that share a prefix must not draw twice."""
    picker = KeyedPicker(Sampling(temperature=1.0, seed=3))
    positions = [7, 9, 7, 8, 9, 7]
    found = pick(picker, LOGITS.expand(6, -1), positions)
    assert len({found[0], found[2], found[5]}) == len({found[1], found[4]}) == 1
    alone = [pick(KeyedPicker(Sampling(temperature=1.0, seed=3)), LOGITS[None], [at])[0] for at in positions]
    assert found == alone, "neither company nor order of rows changes a draw"


def test_a_draw_is_the_same_after_it_was_forgotten():
    picker = KeyedPicker(Sampling(temperature=1.5, seed=3))
    flat = torch.zeros(2000, 8)
    first = pick(picker, flat, range(2000))  # more positions than are remembered
    assert pick(picker, flat, range(2000)) == first
    assert pick(picker, flat.flip(0), range(1999, -1, -1)) == first[::-1]


def test_seeds_and_positions_make_a_difference():
    flat = torch.zeros(400, 8)
    base = pick(KeyedPicker(Sampling(temperature=1.0, seed=0)), flat, range(400))
    for seed in (1, -1, 2**64 + 1, 10**30):
        other = pick(KeyedPicker(Sampling(temperature=1.0, seed=seed)), flat, range(400))
        assert 0.05 < sum(a == b for a, b in zip(base, other, strict=True)) / 400 < 0.25
    assert len(set(base)) == 8


def test_the_global_generator_is_neither_used_nor_moved():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = pick(KeyedPicker(Sampling(temperature=1.0)), torch.zeros(9, 8), range(9))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert pick(KeyedPicker(Sampling(temperature=1.0)), torch.zeros(9, 8), range(9)) == first


@pytest.mark.parametrize("size", [8, 40, 1000])
def test_a_smaller_vocabulary_uses_the_first_entries_of_the_same_noise(size):
    """Decision P9: so a draft with fewer padded rows still draws what the target draws."""
    small = KeyedPicker(Sampling(temperature=1.0, seed=11))
    large = KeyedPicker(Sampling(temperature=1.0, seed=11))
    logits = torch.full((50, 2 * size), -1e9)
    logits[:, :size] = 0
    assert pick(small, logits[:, :size], range(50)) == pick(large, logits, range(50))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**31))
def test_every_seed_and_position_has_a_stream_of_its_own(seed, position):
    """torch's CPU generator keeps 32 bits of a seed: 5 and 5 + 2**32 would draw the same."""
    streams = {
        tuple(KeyedPicker(Sampling(temperature=1.0, seed=s))._noise_at(p, 4).tolist())
        for s, p in ((seed, position), (seed ^ 1 << 32, position), (seed ^ 1, position), (seed, position + 1))
    }
    assert len(streams) == 4


@settings(max_examples=200)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.3, 0.7, 1.0, 1.7]),
    st.sampled_from([0, 1, 2, 7, 24, 100]),
    st.sampled_from([1.0, 0.95, 0.5, 0.1, 1e-9]),
    st.sampled_from([0.0, 0.02, 0.3, 1.0]),
)
def test_warping_agrees_with_transformers(seed, temperature, top_k, top_p, min_p):
    logits = 3 * torch.randn(4, 24, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    due = TemperatureLogitsWarper(temperature)(None, logits) if temperature != 1 else logits
    if top_k:
        due = TopKLogitsWarper(top_k)(None, due)
    if top_p < 1:
        due = TopPLogitsWarper(top_p)(None, due)
    if min_p:
        due = MinPLogitsWarper(min_p)(None, due)
    found = warp(logits, Sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p))
    assert torch.equal(found.isinf(), due.isinf())
    assert torch.allclose(found.softmax(-1), due.softmax(-1), atol=1e-12, rtol=0)


@pytest.mark.parametrize("top_p", [0.5, 0.9, 0.999999])
def test_the_likeliest_token_always_stays(top_p):
    logits = torch.tensor([[50.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = warp(logits, Sampling(temperature=1.0, top_p=top_p))
    assert found.isfinite().any(-1).all()
    assert found[0, 0].isfinite()


def test_cut_offs_at_their_ends():
    ties = torch.zeros(1, 4)
    assert warp(ties, Sampling(temperature=1.0, top_p=0.5)).isfinite().tolist() == [
        [True, True, False, False]
    ]
    assert warp(ties, Sampling(temperature=1.0, min_p=1.0)).isfinite().all(), "all are the likeliest"
    rare = torch.tensor([[0.0, -60.0]], dtype=torch.float64)
    assert warp(rare, Sampling(temperature=1.0)).isfinite().all(), "1 and 0 cut nothing, not even by rounding"


@pytest.mark.parametrize("temperature", [0.5, 1e-9])
def test_the_best_token_of_every_row_is_at_zero(temperature):
    found = warp(torch.tensor([[9.0, 8.0], [-7.0, -5.0]]), Sampling(temperature=temperature))
    assert found.amax(-1).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_warped_in_single_precision(dtype):
    logits = torch.tensor([[2.0, 1.25, -3.0]], dtype=dtype)
    sampling = Sampling(temperature=0.7)
    found = warp(logits, sampling)
    assert found.dtype == torch.float32
    assert torch.equal(found, warp(logits.float(), sampling))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_sampled_in_single_precision(dtype):
    """In half precision the noise would be rounded to a handful of values, and ties would go to low ids."""
    sampling = Sampling(temperature=1.0, seed=2)
    found = draws(sampling, torch.zeros(8, dtype=dtype), range(DRAWS))
    assert p_value(histogram(found, 8), torch.full((8,), 0.125)) > ALPHA


@pytest.mark.parametrize("temperature", [1e-3, 1e-12, 1e-40, 5e-324])
def test_a_temperature_near_zero_is_nearly_greedy(temperature):
    """LookaheadDecoding PR#6: low temperature did not converge to greedy."""
    logits = torch.tensor([[30.0, 29.0, -40.0], [-1.0, 3.0, 2.0]])
    assert pick(KeyedPicker(Sampling(temperature=temperature)), logits, [4, 5]) == [0, 1]


def test_temperature_zero_is_greedy_and_nothing_else_is():
    """LookaheadDecoding#54: sampling was silently greedy."""
    assert isinstance(picker_of(Sampling()), GreedyPicker)
    assert isinstance(picker_of(Sampling(temperature=1e-9)), KeyedPicker)
    assert len(set(pick(picker_of(Sampling(temperature=1.0)), torch.zeros(60, 8), range(60)))) > 1


@pytest.mark.parametrize(
    "picker", [GreedyPicker(), KeyedPicker(Sampling(temperature=1.0))], ids=["greedy", "keyed"]
)
def test_rows_without_a_finite_maximum_have_no_pick(picker):
    """argmax returns the place of a NaN without a word (reliability B7)."""
    logits = torch.zeros(5, 8)
    logits[1, 3] = math.nan
    logits[2] = -math.inf
    logits[3, 0] = math.inf
    logits[4, :7] = -math.inf
    first, *others = pick(picker, logits, range(5))
    assert 0 <= first < 8
    assert others == [-1, -1, -1, 7]


def test_greedy_takes_the_first_of_a_tie():
    logits = torch.tensor([[1.0, 5.0, 5.0], [2.0, 2.0, 2.0]])
    assert pick(GreedyPicker(), logits, [0, 0]) == [1, 0]


def test_double_precision_is_not_rounded():
    assert pick(GreedyPicker(), torch.tensor([[1.0, 1.0 + 1e-12]], dtype=torch.float64), [0]) == [1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_logits_of_any_precision_are_compared_as_they_are(dtype):
    """numpy has no bfloat16."""
    assert pick(GreedyPicker(), torch.tensor([[1.0, 3.0, 2.0]], dtype=dtype), [0]) == [1]


class Elsewhere(torch.Tensor):
    """Says that it is not on the processor."""

    device = torch.device("cuda")


values = st.sampled_from([0.0, 1.0, 2.0, math.inf, -math.inf, math.nan])


@given(st.lists(st.lists(values, min_size=3, max_size=3), min_size=1))
def test_numpy_and_torch_find_the_same_token(rows):
    scores = torch.tensor(rows, dtype=torch.float64)
    assert best(scores.as_subclass(Elsewhere)).tolist() == best(scores).tolist()


# --- processors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0)], ids=["greedy", "keyed"])
def test_a_processor_sees_every_row_with_its_own_prefix(dtype, sampling):
    """vllm#22987, Ouroboros on trees: rows of one length together, each with the path that leads to it."""
    prefixes = [(1, 2), (1, 2, 3), (1, 2, 4), (1, 2, 3, 5), (1, 2)]
    seen = {}

    def only_what_follows(ids, scores):
        assert scores.dtype == torch.promote_types(dtype, torch.float32)
        assert len(ids) == len(scores)
        for row in ids.tolist():
            seen[tuple(row)] = seen.get(tuple(row), 0) + 1
        scores.fill_(-torch.inf)  # in place, as transformers' own do
        return scores.scatter(1, ids[:, -1:] + 1, 0.0)

    logits = torch.zeros(5, 8, dtype=dtype)
    rows = Rows(positions=[len(prefix) for prefix in prefixes], prefix=lambda row: list(prefixes[row]))
    found = picker_of(sampling, [only_what_follows]).pick(logits, rows).tolist()
    assert found == [3, 4, 5, 6, 3]
    assert seen == {(1, 2): 2, (1, 2, 3): 1, (1, 2, 4): 1, (1, 2, 3, 5): 1}
    assert not logits.any(), "the model's logits are not the processor's to change"


def test_processors_work_in_turn():
    add = lambda value: lambda ids, scores: scores + torch.tensor([value, 0.0])  # noqa: E731
    double = lambda ids, scores: 2 * scores  # noqa: E731
    rows = Rows(positions=[1], prefix=lambda row: [0])
    logits = torch.tensor([[0.0, 3.0]])
    assert picker_of(Sampling(), [add(2.0), double, add(-2.0)]).pick(logits, rows).tolist() == [1]
    assert picker_of(Sampling(), [double, add(7.0)]).pick(logits, rows).tolist() == [0]


@pytest.mark.parametrize(
    ("name", "rule", "inside", "outside"),
    [
        ("temperature", "a number from 0 up", [0, 1e-9, 100], [-1e-9, math.inf, math.nan]),
        ("top_k", "a whole number from 0 up", [0, 1, 10**9], [-1]),
        ("top_p", "a number over 0 to 1", [1e-9, 1], [0, -0.5, 1.001]),
        ("min_p", "a number from 0 to 1", [0, 0.5, 1], [-0.001, 1.001]),
        ("repetition_penalty", "a number over 0 up", [1e-9, 0.5, 9], [0, -1]),
        ("presence_penalty", "a number that is finite", [-1e9, 0, 1e9], [math.inf, -math.inf]),
        ("min_new_tokens", "a whole number from 0 up", [0, 1, 9], [-1]),
        ("seed", "a whole number that is finite", [-(10**30), 0, 10**30], []),
    ],
)
def test_a_bad_setting_is_one_error_that_names_it(name, rule, inside, outside):
    for value in inside:
        assert getattr(Sampling(**{name: value}), name) == value
    for value in outside:
        with pytest.raises(ValueError, match=f"^{name} must be {rule}, but got {value}$"):
            Sampling(**{name: value})
    for value in (True, None, "1", 1j, math.inf if "whole" in rule else []):
        with pytest.raises(TypeError, match=f"^{name} must be {rule}, but got {re.escape(repr(value))}$"):
            Sampling(**{name: value})


def test_bad_words_are_sequences_of_token_ids():
    for words in ((), [[0]], ((1, 2), [3])):
        assert Sampling(bad_words=words).bad_words == words
    rule = "^bad_words must be sequences of token ids, but got "
    for words in (None, "ab", ("ab",), (1,), ((True,),), ((1.5,),), ((1, "2"),)):
        with pytest.raises(TypeError, match=rule):
            Sampling(bad_words=words)
    for words in (((),), ((-1,),), ((3,), (1, -2))):
        with pytest.raises(ValueError, match=rule):
            Sampling(bad_words=words)


def test_a_temperature_too_large_for_a_float_is_refused():
    with pytest.raises(ValueError, match="temperature"):
        Sampling(temperature=10**400)


def test_noise_is_pinned_and_remembered():
    """The text of a seed is the same in every release; draft and target ask for the same positions."""
    picker = KeyedPicker(Sampling(temperature=1.0, seed=1))
    found = picker._noise_at(2, 4)
    assert found.dtype == torch.float32
    assert found.tolist() == pytest.approx([-0.19799, 0.59356, 1.36238, -0.48712], abs=1e-4)
    assert picker._noise_at(2, 4) is found
    assert picker._noise_at(2, 5) is not found
    for position in range(3, 1000):
        picker._noise_at(position, 4)
    assert len(picker._noise) == KEPT_POSITIONS
    assert (2, 4) not in picker._noise, "the oldest go first"
    assert (999, 4) in picker._noise


@pytest.mark.parametrize("rule", ["match", "rejection"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_picker_has_the_processors(temperature, rule):
    """TensorRT-LLM PR#17701: a fused path that ignored penalties; here every level of drafting applies them."""

    def only_two(ids, scores):
        return torch.full_like(scores, -torch.inf).index_fill_(1, torch.tensor([2]), 0.0)

    sampling = Sampling(temperature=temperature, rule=rule)
    pickers = [picker_of(sampling, [only_two]), *pickers_of(sampling, [only_two], vocabulary=8)]
    if temperature and rule == "rejection":
        assert list(map(type, pickers)) == [RejectionPicker, RejectionPicker, DraftSampler, GreedyPicker]
        assert pickers[1].draft is pickers[2], "the target judges what this draft drew"
    else:
        assert list(map(type, pickers)) == [KeyedPicker if temperature else GreedyPicker] * 2
    for picker in pickers:
        assert picker.processors == (only_two,)
        assert pick(picker, torch.zeros(3, 8), [4, 5, 6]) == [2, 2, 2]


def test_log_probabilities_travel_with_the_picks():
    logits = torch.tensor([[0.0, 2.0, -1.0], [5.0, -torch.inf, 0.0], [torch.nan, 0.0, 1.0]])
    picks = torch.tensor([1, 0, -1])
    packed = with_logprobs(logits, picks)
    assert packed.shape == (2, 3)
    assert packed[0].tolist() == [1.0, 0.0, -1.0]
    due = logits[:2].log_softmax(-1)[[0, 1], picks[:2]]
    assert torch.allclose(packed[1, :2], due)
    assert packed[1, 2] == 0.0


def test_a_token_that_the_model_rules_out_stays_finite():
    """A processor may leave nothing else."""
    packed = with_logprobs(torch.tensor([[0.0, -torch.inf]]), torch.tensor([1]))
    assert packed[1].tolist() == [LEAST]


def test_ids_of_a_large_vocabulary_survive_the_transfer():
    logits = torch.zeros(1, 300_001)
    assert int(with_logprobs(logits, torch.tensor([300_000]))[0].item()) == 300_000
