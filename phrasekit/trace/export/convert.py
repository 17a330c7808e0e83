"""From a trace to a file in another format, chosen by name or by the file's suffix."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from phrasekit.trace.export.parquet import parquet_bytes
from phrasekit.trace.export.perfetto import perfetto
from phrasekit.trace.export.specbench import spec_bench
from phrasekit.trace.export.vllm import acceptance
from phrasekit.trace.jsonl import save_trace
from phrasekit.trace.records import Trace
from phrasekit.trace.whole import write_whole


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    Attributes:
        opens: what opens it, in words.
        suffixes: ends of file names that mean it.
        encode: makes the file's bytes.
    """

    opens: str
    suffixes: tuple[str, ...]
    encode: Callable[[Trace], bytes]


def _as_json(build: Callable[[Trace], object]) -> Callable[[Trace], bytes]:
    return lambda trace: json.dumps(build(trace), separators=(",", ":"), allow_nan=False).encode() + b"\n"


FORMATS: Mapping[str, Format] = {
    "parquet": Format("DuckDB, Polars, pandas, specspecs", (".parquet",), parquet_bytes),
    "perfetto": Format(
        "ui.perfetto.dev, chrome://tracing",
        (".perfetto.json", ".trace.json", ".perfetto-trace"),
        _as_json(perfetto),
    ),
    "vllm": Format("whatever reads vLLM's acceptance metrics", (".vllm.json",), _as_json(acceptance)),
    "spec-bench": Format(
        "Spec-Bench's speed.py and equal.py",
        (".spec-bench.jsonl", ".specbench.jsonl"),
        _as_json(spec_bench),
    ),
}


def convert(
    trace: Trace,
    path: str | os.PathLike[str],
    to: str = "",
    *,
    formats: Mapping[str, Format] = FORMATS,
) -> str:
    """Write a trace in another format; the file appears whole or stays as it was.

    Args:
        trace: a finished or unfinished run.
        path: the file; its folder must exist.
        to: name of the format, "jsonl" for phrasekit's own; without it the file's suffix decides.
        formats: those to choose from, beside phrasekit's own.

    Returns:
        The format's name.

    Raises:
        ValueError: an unknown format, or a suffix that names none.
        ImportError: the format needs a package that is not installed.
        OSError: the file cannot be written.
    """
    name = to or format_of(path, formats)
    if name == "jsonl":
        save_trace(trace, path)
        return name
    if name not in formats:
        raise ValueError(f"the format must be among {', '.join(('jsonl', *formats))}, but got {to[:40]!r}")
    write_whole(path, formats[name].encode(trace))
    return name


def format_of(path: str | os.PathLike[str], formats: Mapping[str, Format] = FORMATS) -> str:
    """The format that a file's suffix names.

    Raises:
        ValueError: none.
    """
    name = Path(path).name.lower()
    for known, one in formats.items():
        if name.endswith(one.suffixes):
            return known
    if name.endswith(".jsonl"):
        return "jsonl"
    known_suffixes = ", ".join((*(suffix for one in formats.values() for suffix in one.suffixes), ".jsonl"))
    raise ValueError(
        f"a file name must end in one of {known_suffixes}, but got {name[-60:]!r}. Or name the format."
    )
