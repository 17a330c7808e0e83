"""PEARL, DOUBLE and their ablations on tiny models: the target's own tokens in every schedule."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

import phrasekit as pk
from phrasekit.decode.prefix import common_prefix
from phrasekit.errors import NonFiniteLogitsError, TokenizerMismatchError
from phrasekit.lm import LanguageModel
from phrasekit.methods import METHODS
from phrasekit.propose import Datastore
from phrasekit.trace import faults, load_trace, measure_rounds, save_trace
from phrasekit.trace.rounds import agreed
from tests import equality
from tests.models import PROMPT, VOCABULARY, ScriptedModel, follow, generated, mixing, pair_of
from tests.runs import wander

PARALLEL = [name for name, method in METHODS.items() if method.beside]
FAMILY = "llama"
SAMPLED = {"temperature": 0.8, "top_p": 0.95, "seed": 11}


def decode(method: str, kind: str = "noisy", **options) -> pk.Run:
    options = {"max_new_tokens": 60, **options}
    return pk.generate(pair_of(FAMILY, kind), PROMPT, method=method, **options)


@pytest.mark.parametrize("kind", ["noisy", "other", "same"])
@pytest.mark.parametrize("schedule", ["serial", "threads"])
@pytest.mark.parametrize("method", PARALLEL)
def test_greedy_text_is_the_targets(method, schedule, kind):
    run = decode(method, kind, schedule=schedule)
    equality.check(run, generated(FAMILY, 60))
    assert list(faults(run.trace)) == []
    assert run.trace.settings["schedule"] == schedule


@pytest.mark.parametrize("schedule", ["serial", "threads"])
@pytest.mark.parametrize("method", PARALLEL)
def test_sampled_text_is_the_targets(method, schedule):
    plain = decode("vanilla", **SAMPLED)
    equality.check(decode(method, schedule=schedule, **SAMPLED), plain.tokens)


@pytest.mark.parametrize("method", PARALLEL)
def test_knobs_may_wander_between_rounds(method):
    run = wander(pair_of(FAMILY, "noisy"), method, walk=5, count=60, schedule="threads")
    equality.check(run, generated(FAMILY, 60))


@pytest.mark.parametrize("method", ["pearl", "double"])
def test_all_schedules_run_the_same_rounds(method):
    serial, threads = (decode(method, schedule=name).trace.iterations for name in ("serial", "threads"))
    assert [one.emitted for one in serial] == [one.emitted for one in threads]
    assert [one.round.kept for one in serial] == [one.round.kept for one in threads]
    assert [one.tree for one in serial] == [one.tree for one in threads]
    # serial leaves out the drafts that nobody would have used, and only those
    for alone, beside in zip(serial, threads, strict=True):
        assert alone.round.drafted in ((), beside.round.drafted)
        assert alone.round.drafted or not beside.round.kept


@pytest.mark.parametrize("limit", range(1, 14))
def test_limits_hold_to_the_token(limit):
    for method in ("pearl", "double"):
        run = decode(method, "same", max_new_tokens=limit)
        assert run.tokens == generated(FAMILY, limit)
        assert run.finish_reason == "length"


def test_a_store_of_the_right_text_is_retrieved_from_on_both_sides():
    text = generated(FAMILY, 60)
    store = Datastore()
    store.add([*PROMPT, *text])
    run = decode("double", store=store)
    equality.check(run, text)
    alone = decode("double")
    assert len(run.trace.iterations) < len(alone.trace.iterations)
    found = measure_rounds(run.trace)
    assert all(found.sides[side].hits["store"] > 0 for side in ("draft", "target"))
    assert found.sides["draft"].amt > measure_rounds(alone.trace).sides["draft"].amt
    assert run.trace.settings["store_tokens"] == len(PROMPT) + 60
    assert run.trace.settings["store_saw_prompt"] is False


def test_the_trace_says_when_a_store_was_built_from_the_prompt():
    from phrasekit.propose.documents import prompt_mark

    store = Datastore()
    store.add([*PROMPT, 1, 2, 3], source=prompt_mark(PROMPT))
    assert decode("double", store=store).trace.settings["store_saw_prompt"] is True


@pytest.mark.parametrize("right", [0, 1, 3])
def test_an_adversarial_store_costs_speed_only(right):
    """Always wrong, or right for some tokens and then wrong."""
    text = (*PROMPT, *generated(FAMILY, 60))
    store = Datastore()
    for end in range(len(PROMPT), len(text) - 8):
        lie = [(token + 1) % VOCABULARY for token in text[end + right : end + 8]]
        store.add([*text[end - 3 : end + right], *lie])
    for options in ({}, SAMPLED):
        plain = decode("vanilla", **options)
        for method in ("double", "double-no-retrieval", "double-no-guide"):
            equality.check(decode(method, store=store, **options), plain.tokens)


def test_ids_beyond_the_vocabulary_are_dropped():
    store = Datastore()
    for token in range(VOCABULARY):
        store.add([token, VOCABULARY + 7, 3])
    run = decode("double", store=store)
    equality.check(run, generated(FAMILY, 60))
    assert sum(inner.tree.dropped for one in run.trace.iterations for inner in one.draft)


@pytest.mark.parametrize("gamma", [1, 3])
@pytest.mark.parametrize("kind", ["noisy", "same"])
def test_a_guide_that_the_tree_refuses_takes_nothing_from_the_draft_beside_it(kind, gamma):
    store = Datastore()
    for token in range(VOCABULARY):
        store.add([token, VOCABULARY + 7, 3])
    rounds = decode("double", kind, store=store, knobs=pk.Knobs(gamma=gamma)).trace.iterations
    assert any(one.tree.dropped and agreed(one) for one in rounds)
    for before, one in pairwise(rounds):
        tail = before.round.kept  # all of it, whatever the tree took
        said = one.emitted[tail:] if one.accepted == tail else ()
        assert agreed(one) == common_prefix(one.round.drafted, said)


@pytest.mark.parametrize("name", ["retrieval", "guide", "rejected"])
def test_every_part_can_be_switched_off(name):
    run = decode(f"double-no-{name}")
    sides = measure_rounds(run.trace).sides
    off = {
        "retrieval": sides["draft"].queries,
        "guide": sides["target"].queries,
        "rejected": sides["draft"].hits["rejected"] + sides["target"].hits["rejected"],
    }
    assert off[name] == 0
    assert sum(value > 0 for value in off.values()) >= 1


@pytest.mark.parametrize("depth", [1, 4, 20])
def test_depth_bounds_what_is_retrieved(depth):
    run = decode("double", knobs=pk.Knobs(depth=depth))
    offered = [inner.retrieval.offered for one in run.trace.iterations for inner in one.draft]
    assert max(offered) == depth


@pytest.mark.parametrize("depth", [0, 21])
def test_a_depth_out_of_range_is_refused(depth):
    with pytest.raises(ValueError, match=f"depth must be .* from 1 to 20, but got {depth}"):
        pk.Knobs(depth=depth)


def test_bad_input_is_refused_before_a_model_runs():
    pair = pair_of(FAMILY)
    with pytest.raises(ValueError, match="schedule 'streams' needs models on a CUDA device"):
        pk.decoder(pair, PROMPT, method="double", schedule="streams")
    with pytest.raises(ValueError, match="schedule must be one of"):
        pk.decoder(pair, PROMPT, method="vanilla", schedule="both")
    with pytest.raises(ValueError, match="judges by the rule 'match', but rule='rejection' was given"):
        pk.decoder(pair, PROMPT, method="pearl", temperature=1.0, rule="rejection")
    with pytest.raises(TokenizerMismatchError, match="a store's tokenizer must be the pair's"):
        pk.decoder(pair, PROMPT, method="double", store=Datastore(fingerprint="another"))
    with pytest.raises(TypeError, match="store must be"):
        pk.decoder(pair, PROMPT, method="double", store="file")
    with pytest.raises(ValueError, match="needs a draft model"):
        pk.decoder(pk.Pair(target=pair.target), PROMPT, method="double")


def test_a_failing_lane_leaves_the_run_as_it_was(monkeypatch):
    decoding = pk.decoder(pair_of(FAMILY), PROMPT, method="double", schedule="threads", max_new_tokens=60)
    for _ in range(3):
        decoding.step()
    before, draft = decoding.tokens, decoding._decoder.drafter
    step = draft.decoder.step
    with monkeypatch.context() as patch:
        patch.setattr(draft.decoder, "step", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoding.step()
    assert (decoding.tokens, len(decoding.iterations)) == (before, 3)
    draft.decoder.step = step
    equality.check(sound_rest(decoding), generated(FAMILY, 60))
    assert not [one for one in threading.enumerate() if one.name.startswith("phrasekit-draft")]


def sound_rest(decoding: pk.Decoding) -> pk.Run:
    for _ in decoding:
        pass
    run = decoding.result()
    assert list(faults(run.trace)) == []
    return run


def test_nan_logits_of_the_target_end_the_round_and_the_other_lane():
    good = mixing(16, 2)
    target = ScriptedModel(lambda prefix: None if len(prefix) > 9 else good(prefix))
    pair = pk.Pair(target=target, draft=ScriptedModel(good))
    decoding = pk.decoder(pair, (1, 2, 3), method="pearl", schedule="threads", max_new_tokens=30)
    with pytest.raises(NonFiniteLogitsError):
        for _ in decoding:
            pass
    assert len(decoding.tokens) <= 7
    decoding.cancel()
    assert not [one for one in threading.enumerate() if one.name.startswith("phrasekit-draft")]


def test_a_cancelled_run_leaves_no_thread_behind():
    decoding = pk.decoder(pair_of(FAMILY), PROMPT, method="pearl", schedule="threads", max_new_tokens=60)
    decoding.step()
    decoding.cancel()
    assert not [one for one in threading.enumerate() if one.name.startswith("phrasekit-draft")]
    assert decoding.finish_reason == "cancelled"


def test_rounds_survive_a_file(tmp_path):
    trace = decode("double", schedule="threads").trace
    path = tmp_path / "run.jsonl"
    save_trace(trace, path)
    assert load_trace(path) == trace
    save_trace(decode("vanilla").trace, tmp_path / "plain.jsonl")
    assert '"round"' not in (tmp_path / "plain.jsonl").read_text()


def test_lanes_have_real_times_on_one_clock():
    run = decode("double", schedule="threads")
    for one in run.trace.iterations:
        lane = one.round.draft
        for inner in one.draft:
            assert lane.start_ms <= inner.forward.start_ms
            assert inner.forward.start_ms + inner.forward.ms <= lane.end_ms + 1e-6
        target = one.round.target
        assert target.start_ms <= one.forward.start_ms <= target.end_ms
    assert measure_rounds(run.trace).overlap_ms > 0
    serial = decode("double").trace
    assert measure_rounds(serial).overlap_ms == 0


def test_a_draft_with_fewer_tokens_than_the_target():
    """The draft has no embedding for some tokens of the text: then only the target's side proposes."""
    script = mixing(12, 2)
    pair = pk.Pair(target=ScriptedModel(script), draft=ScriptedModel(mixing(4, 2), vocabulary=4))
    decoding = pk.decoder(pair, (1, 2, 3), method="double", max_new_tokens=30)
    made = list(decoding)
    assert decoding.tokens == follow(script, (1, 2, 3), 30)
    assert any(one.draft for one in made)
    assert not all(one.draft for one in made)


def test_a_model_may_draft_for_itself():
    target = pair_of(FAMILY).target
    assert isinstance(target, LanguageModel)
    run = pk.generate(
        pk.Pair(target=target, draft=target), PROMPT, method="pearl", schedule="threads", max_new_tokens=30
    )
    assert run.tokens == generated(FAMILY, 30)
