"""Other packages on the same models, each called the way that suits it best.

Greedy, the same end tokens, ids in and ids out, nothing fetched. Settings that a checkpoint brings
for sampling or penalties are neutralised, since plain greedy decoding knows none.
"""

from phrasekit.bench.peers.catalogue import PEERS, Peer, build_peers, check_peers, installed_peers

__all__ = ["PEERS", "Peer", "build_peers", "check_peers", "installed_peers"]
