"""One language model behind one door. The only room that knows transformers."""

from phrasekit.lm.load import Pair, load_model, load_pair
from phrasekit.lm.model import LanguageModel, Session
from phrasekit.lm.text import TextStream

__all__ = ["LanguageModel", "Pair", "Session", "TextStream", "load_model", "load_pair"]
