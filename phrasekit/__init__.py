"""phrasekit: see, check and tune phrase-level speculative decoding.

    import phrasekit as pk

    pair = pk.load_pair()
    run = pk.generate(pair, "def quicksort(items):", method="ouroboros")

The names below load on first use, so that reading a trace needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Decoding": "phrasekit.api",
    "Run": "phrasekit.api",
    "decoder": "phrasekit.api",
    "generate": "phrasekit.api",
    "Knobs": "phrasekit.decode.knobs",
    "Pair": "phrasekit.lm",
    "load_model": "phrasekit.lm",
    "load_pair": "phrasekit.lm",
    "METHODS": "phrasekit.methods",
    "PhrasePool": "phrasekit.pool",
    "Corpus": "phrasekit.propose",
    "Datastore": "phrasekit.propose",
    "load_store": "phrasekit.propose",
    "save_store": "phrasekit.propose",
    "Iteration": "phrasekit.trace",
    "Trace": "phrasekit.trace",
    "load_trace": "phrasekit.trace",
    "save_trace": "phrasekit.trace",
    "warm_up": "phrasekit.warmup",
}

if TYPE_CHECKING:
    from phrasekit.api import Decoding, Run, decoder, generate
    from phrasekit.decode.knobs import Knobs
    from phrasekit.lm import Pair, load_model, load_pair
    from phrasekit.methods import METHODS
    from phrasekit.pool import PhrasePool
    from phrasekit.propose import Corpus, Datastore, load_store, save_store
    from phrasekit.trace import Iteration, Trace, load_trace, save_trace
    from phrasekit.warmup import warm_up

__all__ = [
    "METHODS",
    "Corpus",
    "Datastore",
    "Decoding",
    "Iteration",
    "Knobs",
    "Pair",
    "PhrasePool",
    "Run",
    "Trace",
    "__version__",
    "decoder",
    "generate",
    "load_model",
    "load_pair",
    "load_store",
    "load_trace",
    "save_store",
    "save_trace",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'phrasekit' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
