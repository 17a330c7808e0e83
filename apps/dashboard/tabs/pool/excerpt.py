"""A piece of prompt and text around a phrase, which is ringed."""

from __future__ import annotations

from phrasekit.trace import Trace
from phrasekit.trace.visible import token_text
from phrasekit.views.html import chips, plain
from phrasekit.views.tokens import emitted_tokens

BEFORE, AFTER = 10, 5  # tokens


def excerpt(trace: Trace, start: int, end: int) -> str:
    """The text around positions `start` to `end - 1` as markup; the prompt's own tokens are no chips."""
    first = max(0, start - BEFORE)
    parts = ((first, start), (start, end), (end, end + AFTER))
    before, ringed, after = (_prompt(trace, *part) + _text(trace, *part) for part in parts)
    return f'<div class="snip">{before}<span class="ring">{ringed}</span>{after}</div>'


def _prompt(trace: Trace, start: int, end: int) -> str:
    return "".join(
        plain(token_text(token, trace.texts), "pk-said pk-soft") for token in trace.prompt[start:end]
    )


def _text(trace: Trace, start: int, end: int) -> str:
    near = (
        iteration
        for iteration in trace.iterations
        if iteration.position < end and iteration.position + len(iteration.emitted) > start
    )
    tokens = (token for iteration in near for token in emitted_tokens(iteration, trace.texts))
    return chips(token for token in tokens if start <= token.position < end)
