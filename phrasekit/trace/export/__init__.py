"""Traces in the formats that other tools read, one file per format."""

from phrasekit.trace.export.convert import FORMATS, Format, convert, format_of
from phrasekit.trace.export.parquet import parquet_bytes
from phrasekit.trace.export.perfetto import perfetto
from phrasekit.trace.export.specbench import spec_bench
from phrasekit.trace.export.vllm import acceptance

__all__ = [
    "FORMATS",
    "Format",
    "acceptance",
    "convert",
    "format_of",
    "parquet_bytes",
    "perfetto",
    "spec_bench",
]
