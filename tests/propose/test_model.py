"""Drafting with a model: the trunk is what the draft says, as long as asked, and its cache follows."""

from __future__ import annotations

import pytest
import torch

import phrasekit as pk
from phrasekit.decode import Decoder, Draft, Knobs, Limits, TokenTree
from phrasekit.pool import PhrasePool, PoolJournal
from phrasekit.propose import Lengthen, ModelProposer, PoolGuesses, PromptLookup
from tests import models
from tests.models import PROMPT, ScriptedModel, follow, mixing

VOCABULARY = 20
SCRIPT = mixing(VOCABULARY, order=3, salt=2)
TEXT = (4, 8, 15, 16)
TRUTH = follow(SCRIPT, TEXT, 60)


def proposer(
    *inner, vocabulary: int = VOCABULARY, script=SCRIPT, context=None, eos=(), count=99
) -> ModelProposer:
    model = ScriptedModel(script, vocabulary=vocabulary, context=context)
    limits = Limits(max_new_tokens=count, eos=frozenset(eos))
    return ModelProposer(Decoder(model, TEXT, proposers=inner, limits=limits))


def propose(model: ModelProposer, context=TEXT, *, limit=50, vocabulary=VOCABULARY, eos=(), **knobs) -> Draft:
    draft = Draft(
        TokenTree(vocabulary=vocabulary, limit=limit, ends=frozenset(eos)), list(context), Knobs(**knobs)
    )
    model.propose(draft)
    return draft


def trunk(draft: Draft) -> tuple[int, ...]:
    return tuple(draft.tree.tokens[node] for node in draft.tree.trunk)


@pytest.mark.parametrize("gamma", [1, 2, 5, 9])
def test_token_by_token_it_is_exactly_gamma(gamma):
    draft = propose(proposer(), gamma=gamma)
    assert trunk(draft) == TRUTH[:gamma]
    assert len(draft.inner) == gamma
    assert set(draft.tree.kinds) == {"draft"}


@pytest.mark.parametrize(("gamma", "limit"), [(0, 9), (5, 0)])
def test_nothing_is_drafted_where_nothing_can_be_used(gamma, limit):
    model = proposer()
    draft = propose(model, gamma=gamma, limit=limit)
    assert (trunk(draft), draft.inner) == ((), ())
    assert model.decoder.model.forwards == []


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_never_deeper_than_the_limit(limit):
    draft = propose(proposer(), gamma=7, limit=limit)
    assert trunk(draft) == TRUTH[:limit]


def warm() -> PoolJournal:
    """The right four tokens after every key that the text holds."""
    pool = PhrasePool()
    whole = (*TEXT, *TRUTH)
    for at in range(len(whole) - 5, -1, -1):
        pool.insert(whole[at : at + 5], "window")
    return PoolJournal(pool)


def test_what_the_last_forward_delivers_beyond_gamma_is_kept_or_cut():
    """Decision P5: Ouroboros throws it away, though it is paid for."""
    kept = propose(proposer(PoolGuesses(warm())), gamma=3, level=5, guesses=9)
    assert len(trunk(kept)) > 3
    assert trunk(kept) == TRUTH[: len(trunk(kept))]
    cut = propose(proposer(PoolGuesses(warm())), gamma=3, level=5, guesses=9, cut_to_gamma=True)
    assert trunk(cut) == TRUTH[:3]
    assert len(cut.inner) <= len(kept.inner)


def test_origins_of_drafted_tokens():
    """The draft's own pick is DRAFT; what it confirmed of a phrase is PHRASE, with its id."""
    journal = warm()
    draft = propose(proposer(PoolGuesses(journal)), gamma=4, level=5, guesses=9)
    (inner, *_) = draft.inner
    kinds = [draft.tree.kinds[node] for node in draft.tree.trunk]
    ids = [draft.tree.phrases[node] for node in draft.tree.trunk]
    assert kinds[: len(inner.emitted)] == ["phrase"] * (len(inner.emitted) - 1) + ["draft"]
    assert ids[len(inner.emitted) - 1] == -1
    known = {phrase.id: phrase.tokens for phrase in journal.pool}
    assert all(phrase in known for phrase in ids[: len(inner.emitted) - 1])
    assert "target" not in kinds


def test_a_draft_ends_at_its_end_token():
    draft = propose(proposer(eos=[TRUTH[2]]), gamma=9, eos=[TRUTH[2]])
    assert trunk(draft) == TRUTH[:3]


def test_it_goes_on_after_a_draft_that_had_ended():
    model = proposer(eos=[TRUTH[1]])
    propose(model, gamma=9)
    other = (*TEXT, 3, 3)
    assert trunk(propose(model, other, gamma=3))[0] == SCRIPT(other)


def test_a_context_too_long_for_the_draft_is_drafted_for_no_more():
    model = proposer(context=len(TEXT) + 3)
    assert trunk(propose(model, gamma=9)) == TRUTH[:3]
    assert trunk(propose(model, (*TEXT, *TRUTH[:3]), gamma=9)) == ()
    assert trunk(propose(model, (*TEXT, *TRUTH[:30]), gamma=9)) == ()
    assert trunk(propose(model, (*TEXT, *TRUTH[:1]), gamma=9)) == TRUTH[1:3]


def test_a_draft_with_more_tokens_than_the_target_never_gets_lost():
    """Padded vocabularies: what the target cannot emit ends the draft; nothing is tacked on behind the gap."""
    foreign = mixing(VOCABULARY, order=2, salt=1)
    model = proposer(script=foreign)
    draft = propose(model, gamma=9, vocabulary=8)
    said = follow(foreign, TEXT, 30)
    usable = next(i for i, token in enumerate(said) if token >= 8)
    assert trunk(draft) == said[:usable]
    assert len(model.decoder.model.forwards) <= usable + 1, "no forward for a draft that has ended"


def test_tokens_that_the_draft_does_not_know_are_survived():
    """Target 20 tokens, draft 16: the target may emit what the draft has no embedding for."""
    made = models.build("llama")
    small = models.build("llama", seed=5, vocab_size=40)
    pair = pk.Pair(target=pk.load_model(made), draft=pk.load_model(small))
    prompt = [token % 40 for token in PROMPT]
    due = models.greedy(made, prompt, 40)
    assert max(due) >= 40
    for method in ("speculative", "ouroboros", "cascade", "hybrid"):
        assert pk.generate(pair, prompt, method=method, max_new_tokens=40).tokens == due


def test_a_prompt_that_the_draft_does_not_know_is_survived_or_refused_in_words():
    made = models.build("llama")
    small = models.build("llama", seed=5, vocab_size=40)
    pair = pk.Pair(target=pk.load_model(made), draft=pk.load_model(small))
    try:
        run = pk.generate(pair, PROMPT, method="speculative", max_new_tokens=9)
    except ValueError as error:
        assert "0 to 39" in str(error)
    else:
        assert run.tokens == models.greedy(made, PROMPT, 9)


def test_the_draft_cache_after_a_rebase_is_that_of_a_fresh_prefill(family):
    """transformers#30042 one level down: accepted rows stay, refused rows go, nothing is recomputed."""
    pair = models.pair_of(family)
    decoding = pk.decoder(pair, PROMPT, method="ouroboros", knobs=Knobs(gamma=5, window=2), max_new_tokens=40)
    inner = decoding._decoder.proposers[0].decoder
    for _ in range(6):
        decoding.step()
        inner.rebase(decoding._decoder.context)
        session = inner._session
        fresh = pair.draft.session(200)
        fresh.prefill(inner.context[: session.length])
        assert 0 < len(inner.context) - session.length < 9
        for a, b in zip(session.cache.layers, fresh.cache.layers, strict=True):
            for x, y in ((a.keys, b.keys), (a.values, b.values)):
                same = torch.allclose(
                    x[:, :, : session.length], y[:, :, : session.length], atol=1e-12, rtol=1e-12
                )
                assert same


def test_the_target_cache_is_that_of_a_sequential_run(family):
    """llama.cpp PR#4484, mlx-lm PR#1491: length, contents and dtype, after every step."""
    decoding = pk.decoder(models.pair_of(family), PROMPT, method="ouroboros", max_new_tokens=60)
    for iteration in decoding:
        assert iteration.emitted
        decoder = decoding._decoder
        assert decoder._session.length == len(decoder.context) - 1
    session, fresh = decoder._session, models.target(family).session(200)
    for token in decoder.context[:-1]:
        fresh.prefill([token])
    for a, b in zip(session.cache.layers, fresh.cache.layers, strict=True):
        assert a.length == session.length
        assert a.keys.dtype == a.values.dtype == torch.float64
        for x, y in ((a.keys, b.keys), (a.values, b.values)):
            assert torch.allclose(x[:, :, : a.length], y[:, :, : b.length], atol=1e-11, rtol=1e-11)


def test_a_draft_for_the_draft():
    """Three levels: the smallest proposes, the draft checks, the target decides."""
    pair = pk.Pair(
        target=models.target("llama"),
        draft=models.draft("llama", "noisy"),
        smaller=models.draft("llama", "other"),
    )
    run = pk.generate(pair, PROMPT, method="cascade", knobs=Knobs(gamma=4), max_new_tokens=60)
    assert run.tokens == models.generated("llama", 60)
    deepest = [inner.draft for iteration in run.trace.iterations for inner in iteration.draft]
    assert any(deepest)


# --- phrases ------------------------------------------------------------------------------------------


def journal_of(*phrases) -> PoolJournal:
    pool = PhrasePool()
    for phrase in phrases:
        pool.insert(phrase, "window")
    return PoolJournal(pool)


def drafted(tokens=(), *, limit=20, eos=(), **knobs) -> Draft:
    draft = Draft(TokenTree(vocabulary=VOCABULARY, limit=limit, ends=frozenset(eos)), [1, 2], Knobs(**knobs))
    draft.tree.extend_trunk(tokens, ["draft"] * len(tokens), [-1] * len(tokens))
    return draft


def paths(draft: Draft) -> list[tuple[int, ...]]:
    return [tuple(draft.tree.tokens[node] for node in branch.nodes) for branch in draft.tree.branches]


@pytest.mark.parametrize(
    ("suffixes", "beta", "due"),
    [(2, 9, [(6, 7, 8), (4, 5)]), (1, 9, [(6, 7, 8)]), (3, 3, [(6, 7), (4, 5), (9, 9)]), (0, 9, [])],
)
def test_lengthen_appends_the_newest_phrases_of_the_last_token(suffixes, beta, due):
    """β − 1 new tokens of each, K of them, newest first; p₁ is the draft's last token."""
    draft = drafted([5, 3], suffixes=suffixes, beta=beta)
    Lengthen(journal_of((3, 9, 9, 9), (3, 4, 5), (3, 6, 7, 8), (5, 1, 1), (2, 1, 1))).propose(draft)
    assert paths(draft) == due
    assert all(draft.tree.parents[branch.nodes[0]] == 1 for branch in draft.tree.branches)
    assert {branch.kind for branch in draft.tree.branches} <= {"suffix"}


def test_suffixes_that_share_a_beginning_share_rows():
    draft = drafted([3], suffixes=4, beta=9)
    Lengthen(journal_of((3, 4, 5, 6), (3, 4, 5, 7), (3, 4, 8))).propose(draft)
    assert len(draft.tree) == 1 + 5


def test_lengthen_without_a_draft_stands_behind_the_last_token():
    draft = drafted([], suffixes=4)
    Lengthen(journal_of((2, 4, 5), (1, 9))).propose(draft)
    assert paths(draft) == [(4, 5)]
    assert draft.tree.parents[0] == -1


def test_nothing_is_appended_behind_the_limit_or_an_end():
    """The pool is not even asked: a lookup makes phrases recently used."""
    for options in ({"limit": 2}, {"eos": [3]}):
        draft = drafted([5, 3], suffixes=4, **options)
        journal = journal_of((3, 4, 5))
        Lengthen(journal).propose(draft)
        assert paths(draft) == []
        assert journal.drain().lookups == 0


@pytest.mark.parametrize(
    ("guesses", "level", "due"),
    [(2, 9, [(6, 7, 8), (4, 5)]), (1, 3, [(6, 7)]), (0, 9, []), (9, 2, [(6,), (4,), (9,)])],
)
def test_guesses_stand_behind_the_last_token(guesses, level, due):
    """G phrases of N − 1 tokens; W and G are not the same (TensorRT-LLM#4003)."""
    draft = drafted([], guesses=guesses, level=level, window=5)
    PoolGuesses(journal_of((2, 9, 9, 9), (2, 4, 5), (2, 6, 7, 8), (1, 3))).propose(draft)
    assert paths(draft) == due


def test_a_lookup_that_found_text_hangs_it_as_the_trunk():
    draft = drafted([], lookup=3)
    draft.context = [1, 2, 9, 1, 2]
    PromptLookup().propose(draft)
    assert trunk(draft) == (9, 1, 2)
    assert set(draft.tree.kinds) == {"lookup"}
