"""The known failures of this field, by their number in the design's list: each has a test, or cannot happen here.

A symptom that others met is cheap to meet again. The first table names the tests that would go red
(the bugs among them are injected by `tests/engine/bugs.py`); the second says why a failure has no place
in this design. The tests named must exist.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import pytest

import phrasekit as pk
from tests import models
from tests.equality import check
from tests.models import PROMPT, generated

TESTS = Path(__file__).resolve().parent.parent

TESTED = {
    # numbers
    "N1 half precision flips near-ties": "test_check.py::test_a_wrong_choice_is_found_and_not_excused",
    "N2 the batch shape changes text": "test_check.py::test_the_control_agrees_with_itself",
    "N3 a greedy tree accepts any plausible branch": "decode/test_walk.py::test_the_path_is_a_chain_from_the_root_and_as_long_as_can_be",
    # cached rows
    "K1 positions not advanced by what was accepted": "engine/test_exact.py::test_partial_acceptance_is_what_was_compared",
    "K2 a draft of another depth": "engine/test_known.py::test_a_draft_of_another_depth",
    "K3 rows not rolled back": "engine/test_controls.py::test_every_bug_is_seen",
    "K4 masks and rows beyond the window": "engine/test_exact.py::test_prompts_of_every_length",
    "K5 recurrent state cannot be truncated": "lm/test_probe.py::test_recurrent_models_are_refused_for_what_they_are",
    "K6 no size is enough": "engine/test_exact.py::test_a_cache_that_has_to_grow",
    # masks
    "M1 the tree mask is ignored": "lm/test_probe.py::test_an_unsound_forward_is_refused",
    "M2 attention without custom masks": "lm/test_probe.py::test_attention_without_4d_masks_is_refused_with_what_to_do",
    "M3 the mask is wrong below the diagonal": "engine/test_controls.py::test_every_bug_is_seen",
    "M4 models that take no positions": "lm/test_probe.py::test_architectures_that_cannot_take_a_tree_get_one_clear_error",
    # sampling
    "S1 a greedy draft judged by its softmax": "decode/test_law.py::test_a_greedy_draft_judged_by_its_softmax_is_found",
    "S2 drawn from one law, judged by another": "decode/test_rejection.py::test_cut_offs_and_processors_reach_both_laws",
    "S3 top tokens are no draws": "decode/test_law.py::test_top_tokens_taken_for_draws_are_found",
    "S4 a wrong rule above temperature 0": "decode/test_law.py::test_a_wrong_rule_in_the_loop_is_found",
    "S5 warpers need one shape": "decode/test_picker.py::test_warping_agrees_with_transformers",
    "S6 low temperature does not reach greedy": "decode/test_picker.py::test_a_temperature_near_zero_is_nearly_greedy",
    "S7 sampling silently greedy": "decode/test_picker.py::test_temperature_zero_is_greedy_and_nothing_else_is",
    "S8 no sampling at all": "test_exactness.py::test_seeded_sampling_is_plain_sampling",
    # ends
    "E1 text after an end token": "decode/test_decoder.py::test_an_end_token_inside_an_accepted_run_ends_it_there",
    "E2 more tokens than asked for": "decode/test_decoder.py::test_never_more_tokens_than_asked_for",
    "E3 streamed text is not the text": "engine/test_api.py::test_streamed_pieces_are_the_text",
    "E4 one end token of several": "lm/test_load.py::test_every_end_token_is_found",
    # processors
    "P1 only the last token of a block is penalised": "decode/test_picker.py::test_a_processor_sees_every_row_with_its_own_prefix",
    "P2 rejected drafts change penalties": "test_exactness.py::test_seeded_sampling_is_plain_sampling",
    "P3 penalties ignored": "decode/test_picker.py::test_every_picker_has_the_processors",
    "P4 one grammar mask for all positions": "decode/test_picker.py::test_a_processor_sees_every_row_with_its_own_prefix",
    # input
    "B1 more than one sequence": "engine/test_api.py::test_bad_input_is_one_error_before_a_model_runs",
    "T1 another tokenizer": "lm/test_load.py::test_another_tokenizer_is_refused_and_both_are_named",
    "T2 padded vocabularies": "lm/test_load.py::test_padded_vocabularies_of_different_size_work",
    # pools and stores
    "D1 ids of 16 bits": "propose/test_corpus.py::test_ids_of_large_vocabularies",
    "D2 a tree that is not cut enough": "propose/test_rest.py::test_the_tree_never_has_more_than_64_nodes",
    "D3 phrases of the request before": "engine/test_exact.py::test_history_is_off_where_a_method_says_so",
    "D4 capacity equal to depth": "pool/test_pool.py::test_a_pool_of_one",
    "D5 the second call is wrong": "engine/test_interrupted.py::test_runs_of_every_method_in_turns_on_one_pair_and_one_pool",
    "D6 W for G": "engine/test_exact.py::test_every_extreme_is_greedy_generate",
    "D8 a setting without effect": "engine/test_api.py::test_each_knob_has_an_effect",
    # speed
    "L1 slower than plain": "propose/test_hybrid.py::test_the_ledger_follows_a_change",
    "L2 the last verdict unused": "decode/test_decoder.py::test_right_then_wrong_at_each_place",
    "L3 how the window fills": "propose/test_window.py::test_fill_shift_and_phrases",
}

CANNOT_HAPPEN = {
    "K7 static caches cannot be cropped": "the cache is our own (`TreeCache`); a static one is never used",
    "K8 unaccepted rows in a shared prefix cache": "a sequence has its own cache; nothing is published",
    "V1 private generate functions were patched": "the loop is our own and calls the public forward only",
    "V2 a copied `assisted_decoding` is out of date": "nothing is copied; one adapter knows transformers",
    "B2 slower at large batches": "one sequence at a time",
    "D7 draft length must fit W, N, G": "sizes follow from the tree; nobody gives them",
}

IDS = [
    *(f"{letter}{number}" for letter, last in
      {"N": 3, "K": 8, "M": 4, "S": 8, "E": 4, "P": 4, "V": 2, "B": 2, "T": 2, "D": 8, "L": 3}.items()
      for number in range(1, last + 1)),
]  # fmt: skip


@lru_cache
def functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_known_failure_is_accounted_for_once():
    told = [title.split()[0] for title in (*TESTED, *CANNOT_HAPPEN)]
    assert sorted(told) == sorted(IDS)


@pytest.mark.parametrize("title", TESTED)
def test_the_test_of_a_known_failure_exists(title):
    file, name = TESTED[title].split("::")
    assert name in functions(file)


@pytest.mark.parametrize("layers", [1, 5])
def test_a_draft_of_another_depth(layers):
    """Ouroboros#6: the rollback knew one number of layers."""
    small = models.build("llama", seed=3, num_hidden_layers=layers)
    pair = pk.Pair(target=models.target("llama"), draft=pk.load_model(small))
    for method in ("speculative", "ouroboros"):
        check(pk.generate(pair, PROMPT, method=method, max_new_tokens=40), generated("llama", 40))
