"""Peers on the embedded pair: the same tokens, counted, and nothing left behind."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest

from phrasekit.bench.contender import OwnMethod
from phrasekit.bench.forwards import ForwardMeter
from phrasekit.bench.peers import PEERS, build_peers, catalogue, installed_peers

PROMPT = "import os\n\nfor name in os.listdir(path):\n    print(name)\n\nfor name in "
LIMIT = 12


@pytest.fixture(scope="module")
def plain(pair):
    return list(OwnMethod(pair, "vanilla", max_new_tokens=LIMIT).generate(pair.encode(PROMPT)))


def variants():
    for name, peer in PEERS.items():
        missing = pytest.mark.skipif(
            find_spec(peer.package) is None, reason=f"{peer.package} is not installed"
        )
        for variant in peer.variants[-2:]:
            yield pytest.param(f"{name}-{variant}", marks=missing)


@pytest.mark.parametrize("name", list(variants()))
def test_every_peer_gives_the_plain_tokens_and_tells_its_steps(pair, plain, name):
    (peer,) = build_peers(pair, [name], max_new_tokens=LIMIT)
    peer.renew()
    with ForwardMeter(pair).watch() as seen:
        assert list(peer.generate(pair.encode(PROMPT))) == plain
    account = peer.account()
    if account.steps:
        assert sum(account.steps) == LIMIT
    forwards = account.target_forwards if account.target_forwards is not None else seen.target
    assert 1 <= forwards <= LIMIT + 1
    assert not pair.target.model._forward_hooks


def test_assisted_generation_drafts_as_many_as_asked_and_restores_the_drafts_settings(pair):
    config = pair.draft.model.generation_config
    before = config.to_dict()
    lone, more = build_peers(pair, ["assisted-1", "assisted-5"], max_new_tokens=LIMIT)
    counts = []
    for peer in (lone, more):
        with ForwardMeter(pair).watch() as seen:
            peer.generate(pair.encode(PROMPT))
        counts.append((seen.target, seen.draft, max(peer.account().steps)))
    (targets, drafts, longest), (_, more_drafts, _) = counts
    assert longest <= 2
    assert drafts <= targets
    assert more_drafts > drafts
    assert config.to_dict() == before


def test_a_checkpoints_penalties_do_not_reach_plain_greedy_decoding(pair, plain):
    config = pair.target.model.generation_config
    config.repetition_penalty = 3.0
    try:
        (peer,) = build_peers(pair, ["generate"], max_new_tokens=LIMIT)
        assert list(peer.generate(pair.encode(PROMPT))) == plain
    finally:
        config.repetition_penalty = None


def test_end_tokens_end_the_peers_too(pair, plain):
    end = plain[4]
    stopping = replace(pair, eos=frozenset([end]))
    cut = plain[: plain.index(end) + 1]
    for peer in build_peers(stopping, ["generate", "assisted-3", "lookup"], max_new_tokens=LIMIT):
        assert list(peer.generate(pair.encode(PROMPT))) == cut


def test_names_are_peers_or_single_variants(pair):
    built = build_peers(pair, ["assisted", "assisted-3", "lookup-5-3"], max_new_tokens=4)
    assert [peer.name for peer in built] == [*[f"assisted-{n}" for n in range(2, 7)], "lookup-5-3"]
    asked = {"prompt_lookup_num_tokens": 5, "max_matching_ngram_size": 3}
    assert built[-1].settings == {**asked, "inference_mode": True}
    (bare,) = build_peers(pair, ["lookup-5-3"], max_new_tokens=4, inference=False)
    assert bare.settings == asked
    for name in ("medusa", "assisted-x", "assisted-0", "lookup-1-2-3", "generate-fast"):
        with pytest.raises(ValueError, match="must"):
            build_peers(pair, [name], max_new_tokens=4)


def test_without_a_draft_model_only_peers_that_need_none_are_offered(pair):
    alone = replace(pair, draft=None)
    assert installed_peers(alone) == ("generate", "lookup")
    with pytest.raises(ValueError, match="needs a draft model"):
        build_peers(alone, ["assisted"], max_new_tokens=4)


def test_a_peer_that_is_not_installed_says_how_to_get_it(pair, monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda _: None)
    assert installed_peers(pair) == ()
    with pytest.raises(ImportError, match="pip install flashspec"):
        build_peers(pair, ["flashspec"], max_new_tokens=4)
