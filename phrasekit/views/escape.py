"""The one place where text becomes markup: every renderer passes model, file and error text through here.

Two ways lead out: `escape` for HTML text and attributes, `script_json` for data inside a script element.
"""

from __future__ import annotations

import json
from html import escape as _entities

from phrasekit.trace.visible import visible

_IN_SCRIPT = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def escape(text: object, *, spaces: bool = False, keep: int | None = None) -> str:
    r"""Text that is safe between tags and inside quoted attributes.

    Markup characters become entities. What a reader could not see or would be misled by (controls,
    right-to-left overrides, zero-width characters, lone surrogates) is spelled out as `\u202e`; line
    breaks become `⏎`. Lines that should stay lines are escaped one by one.

    Args:
        text: anything; `str()` of it is shown.
        spaces: show a space as `·`.
        keep: at most this many columns, plus a count of the characters left out.

    Returns:
        One line of HTML text without any tag.
    """
    return _entities(visible(str(text), spaces=spaces, keep=keep), quote=True)


def script_json(value: object) -> str:
    """JSON that no script element can be closed from: `<`, `>`, `&` and line separators are escaped.

    Args:
        value: plain data; NaN and infinity are refused.

    Returns:
        ASCII text that parses back to the same value.
    """
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT)
