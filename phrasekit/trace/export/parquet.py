"""Parquet (zstd), a row per iteration, with the column names that this field's trace viewers read.

`draft_tokens`, `acceptances`, `k`, `acceptance_length` and `emitted_token` are as in specspecs: one
proposed sequence, the verdict on each of its tokens, and the target's own token behind them. The
accepted draft tokens and the emitted tokens of all rows, in order, are the text. What a sequence cannot
tell (the tree, #Match, the pool, times) stands in columns of its own; `emitted_logprobs` is null where
the run was recorded without probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from phrasekit.trace.export.chain import chain
from phrasekit.trace.records import TARGET, Iteration, Trace
from phrasekit.trace.visible import token_text

COMPRESSION = "zstd"


def parquet_bytes(trace: Trace) -> bytes:
    """The file's bytes; the schema's metadata holds method, prompt, settings and finish reason.

    Raises:
        ImportError: pyarrow is not installed; the message says how to install it.
    """
    arrow, parquet = _pyarrow()
    rows = [_row(iteration, trace.texts) for iteration in trace.iterations]
    table = arrow.Table.from_pylist(rows, schema=_schema(arrow))
    sink = arrow.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(_about(trace)), sink, compression=COMPRESSION)
    return bytes(sink.getvalue().to_pybytes())


def _row(iteration: Iteration, texts: Mapping[int, str]) -> dict[str, object]:
    tree, pool = iteration.tree, iteration.pool
    nodes = chain(iteration)
    own = iteration.emitted[-1] if iteration.kinds and iteration.kinds[-1] == TARGET else None
    return {
        "sequence_id": 0,
        "step": iteration.index,
        "draft_tokens": [tree.tokens[node] for node in nodes],
        "acceptances": [place < len(iteration.path) for place in range(len(nodes))],
        "k": len(nodes),
        "acceptance_length": len(iteration.path),
        "emitted_token": own,
        "draft_texts": [_utf8(token_text(tree.tokens[node], texts)) for node in nodes],
        "draft_sources": [tree.kinds[node] for node in nodes],
        "draft_phrases": [tree.phrases[node] for node in nodes],
        "emitted_tokens": list(iteration.emitted),
        "emitted_sources": list(iteration.kinds),
        "emitted_logprobs": list(iteration.logprobs) or None,
        "emitted_text": _utf8("".join(token_text(token, texts) for token in iteration.emitted)),
        "position": iteration.position,
        "drafted": iteration.drafted,
        "accepted": iteration.accepted,
        "matches": iteration.matches,
        "draft_forwards": len(iteration.draft),
        "tree_tokens": list(tree.tokens),
        "tree_parents": list(tree.parents),
        "picks": list(iteration.picks),
        "pool_size": pool.size,
        "pool_inserted": len(pool.inserted) + sum(len(inner.pool.inserted) for inner in iteration.draft),
        "rows": iteration.forward.rows,
        "cached": iteration.forward.cached,
        "forward_ms": iteration.forward.ms,
        "draft_ms": sum(inner.forward.ms for inner in iteration.draft),
        "iteration_ms": iteration.ms,
        "knobs": json.dumps(dict(iteration.knobs), default=str),
    }


# Types are declared, so that a run without drafts has the same columns.
_COLUMNS = {
    "sequence_id": "int64",
    "step": "int64",
    "draft_tokens": "list<int64>",
    "acceptances": "list<bool>",
    "k": "int64",
    "acceptance_length": "int64",
    "emitted_token": "int64",
    "draft_texts": "list<string>",
    "draft_sources": "list<string>",
    "draft_phrases": "list<int64>",
    "emitted_tokens": "list<int64>",
    "emitted_sources": "list<string>",
    "emitted_logprobs": "list<float64>",
    "emitted_text": "string",
    "position": "int64",
    "drafted": "int64",
    "accepted": "int64",
    "matches": "int64",
    "draft_forwards": "int64",
    "tree_tokens": "list<int64>",
    "tree_parents": "list<int64>",
    "picks": "list<int64>",
    "pool_size": "int64",
    "pool_inserted": "int64",
    "rows": "int64",
    "cached": "int64",
    "forward_ms": "float64",
    "draft_ms": "float64",
    "iteration_ms": "float64",
    "knobs": "string",
}


def _schema(arrow: Any) -> Any:
    return arrow.schema([(name, _type(arrow, kind)) for name, kind in _COLUMNS.items()])


def _type(arrow: Any, kind: str) -> Any:
    if kind.startswith("list<"):
        return arrow.list_(_type(arrow, kind[5:-1]))
    return arrow.bool_() if kind == "bool" else getattr(arrow, kind)()


def _about(trace: Trace) -> dict[str, str]:
    return {
        "phrasekit.method": _utf8(trace.method),
        "phrasekit.finish_reason": trace.finish_reason,
        "phrasekit.prompt": json.dumps(trace.prompt),
        "phrasekit.settings": json.dumps(dict(trace.settings), default=str),
    }


def _utf8(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError('Parquet needs pyarrow. Install it: pip install "phrasekit[export]"') from None
    return pyarrow, parquet
