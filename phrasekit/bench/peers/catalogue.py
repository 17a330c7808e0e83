"""Which peers there are, which can run here, and how they are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from phrasekit.bench.contender import Contender
from phrasekit.bench.peers.economize import EconomizePeer
from phrasekit.bench.peers.flashspec import FlashSpecPeer
from phrasekit.bench.peers.generate import assisted, lookup, plain
from phrasekit.bench.peers.shared import InferenceMode
from phrasekit.lm import Pair

Build = Callable[[Pair, str, int], Contender]


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """A method of another package and the settings it is tried at.

    Attributes:
        summary: one line for people.
        package: what must be installed.
        variants: settings to try by default; the fastest one stands for the peer.
        build: makes the contender of one variant.
        drafts: whether it needs a draft model.
    """

    summary: str
    package: str
    variants: tuple[str, ...]
    build: Build
    drafts: bool = False


def installed_peers(pair: Pair) -> tuple[str, ...]:
    """Names of the peers that can run here, with all their variants."""
    return tuple(
        name
        for name, peer in PEERS.items()
        if find_spec(peer.package) is not None and (pair.draft is not None or not peer.drafts)
    )


def check_peers(names: Sequence[str], *, drafting: bool) -> None:
    """Refuse what can be refused without a model.

    Args:
        names: see `build_peers`.
        drafting: whether there is a draft model.

    Raises:
        ValueError: an unknown name, or a peer that needs a draft model where there is none.
        ImportError: the peer's package is not installed.
    """
    for asked in names:
        name, _ = _resolve(asked)
        if PEERS[name].drafts and not drafting:
            raise ValueError(
                f"peer {name!r} needs a draft model, but only a target was given; name one with --draft"
            )
        package = PEERS[name].package
        if find_spec(package) is None:
            raise ImportError(
                f"peer {name!r} needs the package {package}, which is not installed; pip install {package}"
            )


def build_peers(
    pair: Pair, names: Sequence[str], *, max_new_tokens: int, inference: bool = True
) -> list[Contender]:
    """Contenders of the peers named.

    Args:
        pair: the models all of them share.
        names: keys of `PEERS` for all variants of a peer, or one variant such as "assisted-4".
        max_new_tokens: limit.
        inference: run them inside `torch.inference_mode` where they do not capture graphs.

    Raises:
        ValueError: an unknown name or variant, or a peer that needs a draft model the pair lacks.
        ImportError: the peer's package is not installed.
    """
    check_peers(names, drafting=pair.draft is not None)
    built: dict[str, Contender] = {}
    for asked in names:
        name, variants = _resolve(asked)
        peer = PEERS[name]
        for variant in variants:
            contender = peer.build(pair, variant, max_new_tokens)
            if inference and (contender.hooked or pair.target.device.type == "cpu"):
                contender = InferenceMode(contender)
            built[contender.name] = contender
    return list(built.values())


def _resolve(asked: str) -> tuple[str, tuple[str, ...]]:
    if asked in PEERS:
        return asked, PEERS[asked].variants
    for name in PEERS:
        if asked.startswith(f"{name}-"):
            return name, (asked.removeprefix(f"{name}-"),)
    raise ValueError(
        f"peers must be among {', '.join(PEERS)}, or one variant such as assisted-4, but got {asked!r}"
    )


PEERS: Mapping[str, Peer] = {
    "generate": Peer(
        summary="transformers' generate, greedy", package="transformers", variants=("eager",), build=plain
    ),
    "assisted": Peer(
        summary="transformers' assisted generation at a constant draft length",
        package="transformers",
        variants=("2", "3", "4", "5", "6"),
        build=assisted,
        drafts=True,
    ),
    "lookup": Peer(
        summary="transformers' prompt lookup: tokens, longest n-gram",
        package="transformers",
        variants=("10", "10-3"),
        build=lookup,
    ),
    "flashspec": Peer(
        summary="FlashSpec: lookup where the context matches, else the draft model",
        package="flashspec",
        variants=("composite-g6-f2", "composite-g4", "model-2"),
        build=FlashSpecPeer,
        drafts=True,
    ),
    "economize": Peer(
        summary="economize: draft model, lookup, or lookup else draft model",
        package="economize",
        variants=("draft-3", "lookup-10", "hybrid-6-2"),
        build=EconomizePeer,
        drafts=True,
    ),
}
