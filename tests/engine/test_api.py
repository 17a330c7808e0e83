"""What users call: stop strings, streaming, limits, cancelling, and bad input before a model runs."""

from __future__ import annotations

import math
import threading
from inspect import signature

import pytest
import torch

import phrasekit as pk
from phrasekit.decode import Proposer
from phrasekit.errors import NonFiniteLogitsError
from phrasekit.methods import METHODS, runnable
from phrasekit.trace import faults
from phrasekit.trace.records import LOOKUP
from tests import models
from tests.models import PROMPT, VOCABULARY, ScriptedModel, pair_of

BAD = 5  # an id past the end of a script


@pytest.fixture(scope="module")
def tokenizer():
    return pk.load_pair().tokenizer


class Says(ScriptedModel):
    """A model that says one text, token by token, whatever it is asked; the end token after it."""

    def __init__(self, tokenizer, prompt: str, text: str) -> None:
        self.start = len(tokenizer(prompt)["input_ids"])
        self.ids = tokenizer(text)["input_ids"]
        self.end = tokenizer.eos_token_id
        super().__init__(self._said, vocabulary=len(tokenizer))
        self.device = torch.device("cpu")
        self.adapter = type("Adapter", (), {"dtype": torch.float32})

    def _said(self, prefix):
        at = len(prefix) - self.start
        return self.ids[at] if at < len(self.ids) else self.end


class Tells(Proposer):
    """Proposes what the model will say, `count` tokens at a time."""

    def __init__(self, model: Says, count: int) -> None:
        self.model, self.count = model, count

    def propose(self, draft):
        at = len(draft.context) - self.model.start
        draft.tree.add_branch(-1, self.model.ids[at : at + self.count], LOOKUP)


def say(tokenizer, text: str, *, count: int = 5, prompt: str = "x = ", **options):
    """A run of a model that says `text`, several tokens a step; pieces as streamed."""
    model = Says(tokenizer, prompt, text)
    pair = pk.Pair(target=model, tokenizer=tokenizer, eos=frozenset({tokenizer.eos_token_id}))
    decoding = pk.decoder(pair, prompt, method="vanilla", **options)
    decoding._decoder.proposers = (Tells(model, count),)
    pieces, shown = [], 0
    for _ in decoding:
        pieces.append(decoding.text[shown:])
        shown = len(decoding.text)
    return decoding.result(), pieces


TEXTS = (
    "def f(items):\n    return [item for item in items if item]\n",
    "the sign 🙂 and 漢字 and ß: é, e\u0301, 👩‍👩‍👧‍👦 end",
    "a" * 60,
    "\n\n\n  \t",
    "<|endoftext|> is text here",
)


@pytest.mark.parametrize("count", [0, 1, 3, 9])
@pytest.mark.parametrize("text", TEXTS[:4])
def test_streamed_pieces_are_the_text(tokenizer, text, count):
    """LookaheadDecoding PR#69, ipex-llm PR#11922: a streamer that got one token a step."""
    run, pieces = say(tokenizer, text, count=count, max_new_tokens=200)
    assert "".join(pieces) == run.text == text
    assert run.finish_reason == "eos"
    assert run.tokens[-1] == tokenizer.eos_token_id


@pytest.mark.parametrize("count", [0, 2, 7])
@pytest.mark.parametrize(
    "stop",
    [
        "return",
        "item",
        "m in it",
        "\n",
        "]\n",
        "def f",
        "🙂",
        "漢",
        "字",
        "\u0301",
        "👧",
        " end",
        "ß:",
        "s\n",
    ],
)
@pytest.mark.parametrize("text", TEXTS[:2])
def test_stop_strings_across_tokens_and_inside_characters(tokenizer, text, stop, count):
    run, pieces = say(tokenizer, text, count=count, stop=stop, max_new_tokens=200)
    at = text.find(stop)
    if at < 0:
        assert (run.text, run.finish_reason) == (text, "eos")
        return
    assert run.text == "".join(pieces) == text[: at + len(stop)]
    assert run.finish_reason == "stop"
    whole, before = tokenizer.decode(run.tokens), tokenizer.decode(run.tokens[:-1])
    assert stop in whole
    assert stop not in before, "not one token too many"
    assert sum(len(iteration.emitted) for iteration in run.trace.iterations) == len(run.tokens)


def test_of_several_stop_strings_the_first_in_the_text(tokenizer):
    run, _ = say(tokenizer, "one two three four", stop=("four", "three", "two t"), max_new_tokens=99)
    assert run.text == "one two t"


def test_the_stop_string_counts_in_the_text_and_not_in_the_prompt(tokenizer):
    run, _ = say(tokenizer, "abc stop", prompt="stop = st", stop="stop", max_new_tokens=99)
    assert run.text == "abc stop"


@pytest.mark.parametrize("tokens", range(1, 9))
def test_a_limit_inside_a_character_is_kept(tokenizer, tokens):
    run, pieces = say(tokenizer, "🙂🙂🙂🙂", max_new_tokens=tokens)
    assert len(run.tokens) == tokens
    assert run.text == "".join(pieces) == tokenizer.decode(run.tokens)


def test_generate_streams_what_it_returns(tokenizer):
    pieces = []
    pair = pk.load_pair()
    run = pk.generate(pair, "def main(", max_new_tokens=60, stream=pieces.append, temperature=1.2, seed=3)
    assert "".join(pieces) == run.text == tokenizer.decode(run.tokens, skip_special_tokens=True)
    assert all(pieces)


def test_special_tokens_are_emitted_and_are_no_text(tokenizer):
    run, _ = say(tokenizer, "a", max_new_tokens=9)
    assert run.text == "a"
    assert run.tokens[-1] == tokenizer.eos_token_id


# --- a run under way --------------------------------------------------------------------------------


def test_cancelling_keeps_what_was_made():
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 4

    run = pk.generate(pair_of("llama"), PROMPT, method="ouroboros", max_new_tokens=90, cancelled=cancelled)
    assert run.finish_reason == "cancelled"
    assert len(run.trace.iterations) == 4
    assert run.tokens == run.trace.tokens == models.generated("llama", 90)[: len(run.tokens)]
    assert list(faults(run.trace)) == []


def test_generate_takes_what_a_decoder_takes():
    own, other = (signature(function).parameters for function in (pk.generate, pk.decoder))
    assert {name: own[name] for name in other} == dict(other)
    assert own.keys() - other.keys() == {"stream", "cancelled"}


def test_a_run_that_is_left_or_fails_is_over(monkeypatch):
    def lanes():
        return [one for one in threading.enumerate() if one.name.startswith("phrasekit-draft")]

    options = {"method": "pearl", "schedule": "threads", "max_new_tokens": 40}
    left = pk.decoder(pair_of("llama"), PROMPT, **options)
    for iteration in left.follow():
        assert lanes()
        if iteration.index == 2:
            break
    assert (len(left.iterations), left.finish_reason, lanes()) == (3, "cancelled", [])
    assert left.tokens == models.generated("llama", 40)[: len(left.tokens)]

    def broken(self):
        raise NonFiniteLogitsError("from here on")

    failing = pk.decoder(pair_of("llama"), PROMPT, **options)
    failing.step()
    assert lanes()
    monkeypatch.setattr(pk.api.Decoding, "step", broken)
    with pytest.raises(NonFiniteLogitsError):
        list(failing.follow())
    assert (len(failing.iterations), lanes()) == (1, [])


def test_cancelled_before_it_began():
    run = pk.generate(pair_of("llama"), PROMPT, cancelled=lambda: True)
    assert (run.tokens, run.trace.iterations, run.finish_reason) == ((), (), "cancelled")


def test_a_finished_run_stays_finished():
    decoding = pk.decoder(pair_of("llama"), PROMPT, max_new_tokens=3)
    assert len(list(decoding)) >= 1
    assert decoding.finished
    decoding.cancel()
    assert decoding.finish_reason == "length"
    with pytest.raises(RuntimeError, match="finished"):
        decoding.step()
    assert len(decoding.tokens) == 3


@pytest.mark.parametrize("where", ["propose", "learn"])
def test_an_interrupted_step_loses_nothing_and_repeats_nothing(where, tokenizer):
    """Tokens, text and trace agree after Ctrl-C in the middle of a step, and the run can go on."""
    pair = pk.load_pair()
    plain = pk.generate(pair, "import os\n", method="vanilla", max_new_tokens=40)
    decoding = pk.decoder(pair, "import os\n", method="ouroboros", max_new_tokens=40, stop="no such text")
    harvest = decoding._decoder.proposers[-1]
    inside, calls = getattr(harvest, where), []

    def interrupted(*given):
        inside(*given)
        calls.append(1)
        if len(calls) in (2, 3, 6):
            raise KeyboardInterrupt

    setattr(harvest, where, interrupted)
    times = 0
    while not decoding.finished:
        try:
            decoding.step()
        except KeyboardInterrupt:
            times += 1
            assert decoding.trace.tokens == decoding.tokens
    assert times == 3
    run = decoding.result()
    assert run.tokens == run.trace.tokens == plain.tokens
    assert run.text == plain.text


def test_an_interrupted_step_does_not_count_its_text_twice(tokenizer):
    """Else "b" tried twice is "bb", and a stop string that never was in the text ends it."""
    text = "a b c d e f"
    twice = {tokenizer.decode([token]) * 2 for token in tokenizer(text)["input_ids"]}
    model = Says(tokenizer, "x = ", text)
    pair = pk.Pair(target=model, tokenizer=tokenizer, eos=frozenset({tokenizer.eos_token_id}))
    decoding = pk.decoder(pair, "x = ", method="vanilla", stop=sorted(twice))
    interrupting = Proposer()
    decoding._decoder.proposers = (interrupting,)

    def interrupted(_):
        interrupting.learn = lambda _: None
        raise KeyboardInterrupt

    while not decoding.finished:
        interrupting.learn = interrupted
        with pytest.raises(KeyboardInterrupt):
            decoding.step()
        decoding.step()
    assert (decoding.text, decoding.finish_reason) == (text, "eos")


def test_knobs_may_change_between_steps_and_only_to_knobs():
    decoding = pk.decoder(pair_of("llama"), PROMPT, method="ouroboros-no-lengthening", max_new_tokens=40)
    decoding.knobs = pk.Knobs(gamma=2, suffixes=9)
    assert decoding.knobs == pk.Knobs(gamma=2, suffixes=0), "what the method fixes stays fixed"
    with pytest.raises(TypeError, match="Knobs"):
        decoding.knobs = {"gamma": 2}
    assert decoding.step().knobs["gamma"] == 2


def test_each_knob_has_an_effect():
    """ArcticInference PR#276: an argument in the wrong slot had none."""
    pool = pk.PhrasePool(per_key=8)
    for key in range(VOCABULARY):
        for salt in range(6):
            pool.insert([key, *((key + salt + i) % VOCABULARY for i in range(20))], "window")

    def shape(**changes):
        knobs = {
            "gamma": 4,
            "window": 3,
            "level": 4,
            "guesses": 3,
            "suffixes": 3,
            "beta": 5,
            "lookup": 6,
            "depth": 4,
        } | changes
        found = []
        for method in ("ouroboros", "prompt_lookup", "double"):
            decoding = pk.decoder(
                pair_of("llama"),
                PROMPT * 2,
                method=method,
                knobs=pk.Knobs(**knobs),
                max_new_tokens=40,
                pool=_copy(pool),
            )
            for iteration in decoding:
                found.append((iteration.tree.tokens, [inner.tree.tokens for inner in iteration.draft]))
            found.append([phrase.tokens for phrase in decoding.pool])
        return found

    base = shape()
    changes = {
        "gamma": 5,
        "window": 4,
        "level": 5,
        "guesses": 2,
        "suffixes": 2,
        "beta": 4,
        "cut_to_gamma": True,
        "harvest_discarded": False,
        "repair": "paper",
        "harvest_committed": False,
        "lookup": 5,
        "lookup_ngram": 1,
        "depth": 3,
        "retrieve": False,
        "guide": False,
        "reuse_rejected": False,
    }
    assert set(changes) == set(pk.Knobs().as_dict())
    assert [name for name, value in changes.items() if shape(**{name: value}) == base] == []


def _copy(pool: pk.PhrasePool) -> pk.PhrasePool:
    copy = pk.PhrasePool(per_key=pool.per_key)
    for phrase in pool:
        copy.insert(phrase.tokens, phrase.source)
    return copy


# --- bad input --------------------------------------------------------------------------------------

BAD_ARGUMENTS = [
    ({"method": "oroboros"}, ValueError, "vanilla.*'oroboros'"),
    ({"method": None}, ValueError, "method"),
    ({"knobs": {"gamma": 3}}, TypeError, "Knobs"),
    ({"max_new_tokens": 0}, ValueError, "max_new_tokens.*0"),
    ({"max_new_tokens": -5}, ValueError, "max_new_tokens.*-5"),
    ({"max_new_tokens": 2.0}, TypeError, "max_new_tokens"),
    ({"max_new_tokens": "9"}, TypeError, "max_new_tokens"),
    ({"max_new_tokens": None}, TypeError, "max_new_tokens"),
    ({"temperature": -1}, ValueError, "temperature"),
    ({"temperature": math.nan}, ValueError, "temperature"),
    ({"temperature": math.inf}, ValueError, "temperature"),
    ({"temperature": "warm"}, TypeError, "temperature"),
    ({"temperature": None}, TypeError, "temperature"),
    ({"top_k": -1}, ValueError, "top_k"),
    ({"top_k": 1.5}, TypeError, "top_k"),
    ({"top_p": 0}, ValueError, "top_p"),
    ({"top_p": 1.01}, ValueError, "top_p"),
    ({"top_p": math.nan}, ValueError, "top_p"),
    ({"seed": 1.5}, TypeError, "seed"),
    ({"seed": None}, TypeError, "seed"),
    ({"bad_words": 5}, TypeError, "bad_words"),
    ({"bad_words": "no"}, TypeError, "bad_words"),
    ({"bad_words": [5]}, TypeError, "bad_words"),
    ({"bad_words": [[1.5]]}, TypeError, "bad_words"),
    ({"bad_words": [[True]]}, TypeError, "bad_words"),
    ({"bad_words": [[]]}, ValueError, "bad_words"),
    ({"bad_words": [[-1]]}, ValueError, "bad_words"),
    ({"bad_words": [[1, 4096]]}, ValueError, "bad_words.*4096"),
    ({"rule": "guess"}, ValueError, "rule"),
    ({"min_new_tokens": -1}, ValueError, "min_new_tokens"),
    ({"repetition_penalty": 0}, ValueError, "repetition_penalty"),
    ({"presence_penalty": math.inf}, ValueError, "presence_penalty"),
    ({"stop": 5}, TypeError, "stop"),
    ({"stop": None}, TypeError, "stop"),
    ({"stop": [5]}, TypeError, "stop"),
    ({"stop": ""}, ValueError, "stop"),
    ({"stop": ["a", ""]}, ValueError, "stop"),
    ({"temprature": 1}, TypeError, "temprature"),
    ({"prompt": ""}, ValueError, "at least one token"),
    ({"prompt": []}, ValueError, "at least one token"),
    ({"prompt": ()}, ValueError, "at least one token"),
    ({"prompt": None}, TypeError, "prompt"),
    ({"prompt": 5}, TypeError, "prompt"),
    ({"prompt": [1, "a"]}, TypeError, "prompt"),
    ({"prompt": [1.0, 2.0]}, TypeError, "prompt"),
    ({"prompt": [True]}, TypeError, "prompt"),
    ({"prompt": [[1, 2], [3]]}, TypeError, "prompt"),
    ({"prompt": [{"role": "user"}, 5]}, TypeError, "prompt"),
    ({"prompt": [-1]}, ValueError, "-1"),
    ({"prompt": [10**9]}, ValueError, "0 to 4095.*1000000000"),
    ({"prompt": [1] * 2048}, ValueError, "2048 tokens.*2048"),
    ({"prompt": [1] * 5000}, ValueError, "2048 tokens.*5000"),
]


@pytest.mark.parametrize(("arguments", "error", "says"), BAD_ARGUMENTS, ids=lambda value: str(value)[:40])
def test_bad_input_is_one_error_before_a_model_runs(arguments, error, says, monkeypatch):
    pair = pk.load_pair()
    monkeypatch.setattr(type(pair.target.adapter), "forward", lambda *_, **__: pytest.fail("a model ran"))
    given = {"prompt": "import os", **arguments}
    for call in (pk.generate, pk.decoder):
        with pytest.raises(error, match=f"(?s){says}"):
            call(pair, given["prompt"], **{name: value for name, value in given.items() if name != "prompt"})


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].drafts])
def test_a_method_that_needs_a_draft_says_so(method):
    pair = pk.Pair(target=models.target("llama"))
    with pytest.raises(ValueError, match=r"draft model.*load_pair\(target, draft\)"):
        pk.generate(pair, PROMPT, method=method)


def test_without_a_draft_the_other_methods_work():
    pair = pk.Pair(target=models.target("llama"))
    assert {"vanilla", "prompt_lookup", "lookahead", "hybrid"} == set(runnable(pair))
    for method in runnable(pair):
        assert pk.generate(pair, PROMPT, method=method, max_new_tokens=20).tokens == models.generated(
            "llama", 20
        )


def test_a_very_large_limit_reserves_no_memory():
    """A user who means "until it ends" must not pay for it before the first token."""
    decoding = pk.decoder(pair_of("llama"), PROMPT, method="ouroboros", max_new_tokens=10**9)
    decoding.step()
    decoder = decoding._decoder
    for session in (decoder._session, decoder.proposers[0].decoder._session):
        assert session.cache.layers[0].keys.shape[2] <= models.CONTEXT + 1024


def test_broken_weights_are_an_error_and_keep_what_was_made():
    """EAGLE: Qwen2 in half precision overflows; argmax of NaN is a token like any other."""
    made = models.build("gpt2")
    pair = pk.Pair(target=pk.load_model(made))
    decoding = pk.decoder(pair, PROMPT, method="vanilla", max_new_tokens=20)
    decoding.step()
    with torch.no_grad():
        made.transformer.ln_f.weight.fill_(math.nan)
    with pytest.raises(NonFiniteLogitsError, match=rf"position {len(PROMPT) + 1}"):
        decoding.step()
    assert decoding.tokens == models.generated("gpt2", 1)
    assert decoding.trace.tokens == decoding.tokens
