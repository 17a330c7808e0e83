"""Errors a caller may want to tell apart; everything else is a ValueError or TypeError.

Every message states the rule, what was given and what to do about it.
"""


class PhrasekitError(Exception):
    """Root of the errors that are phrasekit's own."""


class UnsupportedModelError(PhrasekitError, ValueError):
    """The model cannot verify token trees exactly (recurrent layers, attention without 4-D masks, …)."""


class TokenizerMismatchError(PhrasekitError, ValueError):
    """Draft and target do not share a tokenizer."""


class NonFiniteLogitsError(PhrasekitError, ArithmeticError):
    """A row of logits that decides an emitted token holds NaN or only infinities."""


class TraceFormatError(PhrasekitError, ValueError):
    """A trace file is foreign, of another schema version, or damaged."""


class PoolFormatError(PhrasekitError, ValueError):
    """A pool file is foreign, of another tokenizer or schema version, or damaged."""


class StudyFormatError(PhrasekitError, ValueError):
    """A study file is foreign or damaged."""


class StoreFormatError(PhrasekitError, ValueError):
    """A datastore or corpus file is foreign, of another tokenizer or schema version, or damaged."""
