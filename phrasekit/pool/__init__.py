"""The phrase pool, what is harvested into it, a decoder's journal of it, and its files. Plain Python."""

from phrasekit.pool.files import load_pool, save_pool
from phrasekit.pool.journal import PoolJournal
from phrasekit.pool.phrase import Phrase
from phrasekit.pool.pool import PhrasePool

__all__ = ["Phrase", "PhrasePool", "PoolJournal", "load_pool", "save_pool"]
