"""The decoding loop: token tree, pick, walk, stop, step."""

from phrasekit.decode.decoder import Decoder
from phrasekit.decode.knobs import Knobs
from phrasekit.decode.picker import GreedyPicker, KeyedPicker, Picker, Rows, Sampling
from phrasekit.decode.pickers import picker_of, pickers_of
from phrasekit.decode.proposer import Draft, Proposer, Verdict
from phrasekit.decode.stopping import Limits
from phrasekit.decode.tree import ROOT, TokenTree
from phrasekit.decode.walk import walk

__all__ = [
    "ROOT",
    "Decoder",
    "Draft",
    "GreedyPicker",
    "KeyedPicker",
    "Knobs",
    "Limits",
    "Picker",
    "Proposer",
    "Rows",
    "Sampling",
    "TokenTree",
    "Verdict",
    "picker_of",
    "pickers_of",
    "walk",
]
