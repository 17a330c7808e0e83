"""Proposers: what grows the tree. None of them can change the output."""

from phrasekit.propose.datastore import Datastore
from phrasekit.propose.guesses import PoolGuesses
from phrasekit.propose.harvest import Harvest
from phrasekit.propose.hybrid import Hybrid
from phrasekit.propose.lengthen import Lengthen
from phrasekit.propose.lookup import PromptLookup
from phrasekit.propose.model import ModelProposer
from phrasekit.propose.retrieve import Guide, Retrieve
from phrasekit.propose.retriever import Retriever
from phrasekit.propose.window import LookaheadWindow

__all__ = [
    "Datastore",
    "Guide",
    "Harvest",
    "Hybrid",
    "Lengthen",
    "LookaheadWindow",
    "ModelProposer",
    "PoolGuesses",
    "PromptLookup",
    "Retrieve",
    "Retriever",
]
