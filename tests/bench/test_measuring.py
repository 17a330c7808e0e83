"""What is measured beside the clock: forwards, the cost of records, agreement."""

from __future__ import annotations

import pytest
import torch

import phrasekit as pk
from phrasekit.bench.agreement import agreeing_positions, measure_agreement
from phrasekit.bench.contender import OwnMethod
from phrasekit.bench.environment import cpu_name, environment, revision
from phrasekit.bench.forwards import ForwardMeter
from phrasekit.bench.recording import recording_share, timed_steps
from phrasekit.decode import Decoder
from tests.bench.conftest import task

PROMPT = "def add(left, right):\n    "


def test_hooks_see_the_forwards_that_the_trace_tells(pair):
    own = OwnMethod(pair, "speculative", max_new_tokens=8)
    with ForwardMeter(pair).watch() as seen:  # under hooks the models run through transformers
        own.generate(pair.encode(PROMPT))
    account = own.account()
    assert (seen.target, seen.draft) == (account.target_forwards, account.draft_forwards)
    assert 0 < seen.seconds <= account.forward_seconds < account.trace.metrics().total_ms / 1e3
    assert not pair.target.model._forward_hooks
    assert not pair.draft.model._forward_pre_hooks


def test_hooks_go_when_a_run_breaks(pair):
    def broken():
        with ForwardMeter(pair).watch():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert not pair.target.model._forward_hooks


def test_a_pool_lives_across_prompts_until_it_is_renewed(pair):
    own = OwnMethod(pair, "ouroboros", max_new_tokens=8)
    ids = pair.encode(PROMPT)
    before = own.generate(ids)
    assert own.generate(ids) == before
    assert own.account().trace.iterations[0].pool.lookups + own.account().trace.metrics().hits > 0
    known = len(own._pool)
    own.renew()
    assert known > len(own._pool) == 0
    fresh = OwnMethod(pair, "ouroboros", max_new_tokens=8, fresh_pool=True)
    assert fresh.generate(ids) == before
    assert len(fresh._pool) == 0


def test_an_account_before_a_run_is_refused(pair):
    with pytest.raises(RuntimeError, match="call generate"):
        OwnMethod(pair, "vanilla").account()


def test_record_time_is_what_a_step_takes_beyond_its_other_phases(pair):
    """A clock that adds 3 ms between a step's phases and its end gives 3 ms a step."""
    share = recording_share(OwnMethod(pair, "speculative", max_new_tokens=6), [task(0, *pair.encode(PROMPT))])
    assert 0 < share < 0.5
    with timed_steps() as time:
        pk.generate(pair, PROMPT, method="speculative", max_new_tokens=6)
    assert 0 < time.records < time.total
    assert Decoder.step.__module__ == "phrasekit.decode.decoder"


def test_record_time_of_draft_steps_is_added_once():
    class Slow:
        """Stands for a decoder whose records take a known time."""

    ticks = iter([0.0, 1.0, 3.0, 10.0])  # outer from 0 to 10, inside it a draft step from 1 to 3
    inner, outer = _iteration(ms=1500.0), _iteration(ms=9000.0, record=250.0)

    def step(self, *, room=None):
        if self.below is None:
            return inner
        self.below.step()
        return outer

    original = Decoder.step
    try:
        Decoder.step = step
        with timed_steps(lambda: next(ticks)) as time:
            draft = object.__new__(Decoder)
            draft.below = None
            target = object.__new__(Decoder)
            target.below = draft
            target.step()
    finally:
        Decoder.step = original
    assert time.total == 10.0
    assert time.records == pytest.approx((2.0 - 1.5) + (10.0 - 9.25) + 0.25)
    assert time.share == pytest.approx(0.15)


def _iteration(*, ms, record=0.0):
    from dataclasses import replace

    from tests.trace.conftest import drafting

    phases = {"forward": ms} | ({"record": record} if record else {})
    return replace(drafting(ms), phases=phases)


def test_agreement_counts_the_drafts_own_argmax_after_true_tokens(pair):
    ids = pair.encode(PROMPT)
    run = pk.generate(pair, ids, method="vanilla", max_new_tokens=12)
    found = agreeing_positions(pair.draft, ids, run.tokens)
    with torch.inference_mode():
        logits = pair.draft.model(torch.tensor([[*ids, *run.tokens]])).logits[0]
    picks = logits.argmax(-1).tolist()[len(ids) - 1 : -1]
    assert found == sum(pick == token for pick, token in zip(picks, run.tokens, strict=True))


def test_a_target_agrees_with_itself_everywhere(pair):
    twin = pk.Pair(target=pair.target, draft=pair.target, tokenizer=pair.tokenizer)
    told = measure_agreement(twin, [task(0, *pair.encode(PROMPT))], gamma=4, max_new_tokens=10)
    assert (told.positions, told.agreeing, told.share) == (10, 10, 1.0)
    assert told.mean_emitted == 1 + told.mean_accepted
    assert "agree at 1.000 of the positions" in str(told)


def test_an_interrupted_agreement_keeps_the_finished_prompts(pair):
    tasks = [task(n, *pair.encode(PROMPT)) for n in range(2)]

    def interrupt(name):
        raise KeyboardInterrupt

    told = measure_agreement(pair, tasks, max_new_tokens=4, progress=interrupt)
    assert (told.prompts, told.partial) == (1, True)
    assert "PARTIAL" in str(told)


def test_the_environment_names_the_machine_and_the_models(pair):
    told = environment(pair)
    assert told["packages"]["torch"] == torch.__version__
    assert (told["dtype"], told["device"], told["target"]) == ("float32", "cpu", pair.target.name)
    assert told["threads"] == torch.get_num_threads()
    assert told["cpu"]


def test_no_revision_without_a_checkout_and_a_cpu_without_proc(tmp_path):
    assert revision(tmp_path) == ""
    assert cpu_name(tmp_path / "none")
