"""Proposers: what grows the tree. None of them can change the output."""

from phrasekit.propose.corpus import Corpus
from phrasekit.propose.datastore import Datastore
from phrasekit.propose.documents import Retrieved, prompt_mark
from phrasekit.propose.guesses import PoolGuesses
from phrasekit.propose.harvest import Harvest
from phrasekit.propose.hybrid import Hybrid
from phrasekit.propose.lengthen import Lengthen
from phrasekit.propose.lookup import PromptLookup
from phrasekit.propose.model import ModelProposer
from phrasekit.propose.rest import Rest
from phrasekit.propose.retrieve import Guide, Retrieve
from phrasekit.propose.retriever import Retriever
from phrasekit.propose.stores import Store, load_store, save_store
from phrasekit.propose.window import LookaheadWindow

__all__ = [
    "Corpus",
    "Datastore",
    "Guide",
    "Harvest",
    "Hybrid",
    "Lengthen",
    "LookaheadWindow",
    "ModelProposer",
    "PoolGuesses",
    "PromptLookup",
    "Rest",
    "Retrieve",
    "Retrieved",
    "Retriever",
    "Store",
    "load_store",
    "prompt_mark",
    "save_store",
]
