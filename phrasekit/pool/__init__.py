"""The phrase pool, what is harvested into it, and a decoder's journal of it. Plain Python."""

from phrasekit.pool.journal import PoolJournal
from phrasekit.pool.pool import Phrase, PhrasePool

__all__ = ["Phrase", "PhrasePool", "PoolJournal"]
