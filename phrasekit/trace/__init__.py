"""Plain records of decoding runs, the numbers derived from them, readers and writers."""

from phrasekit.trace.integrity import faults
from phrasekit.trace.jsonl import TraceWriter, load_trace, save_trace
from phrasekit.trace.metrics import Metrics, measure
from phrasekit.trace.records import (
    SCHEMA_VERSION,
    Branch,
    ForwardRecord,
    Iteration,
    LaneRecord,
    PhraseRecord,
    PoolRecord,
    RetrievalRecord,
    RoundRecord,
    Trace,
    TreeRecord,
)
from phrasekit.trace.rounds import RoundMetrics, measure_rounds, speed_by_forwards
from phrasekit.trace.text import render, sentence
from phrasekit.trace.visible import visible

__all__ = [
    "SCHEMA_VERSION",
    "Branch",
    "ForwardRecord",
    "Iteration",
    "LaneRecord",
    "Metrics",
    "PhraseRecord",
    "PoolRecord",
    "RetrievalRecord",
    "RoundMetrics",
    "RoundRecord",
    "Trace",
    "TraceWriter",
    "TreeRecord",
    "faults",
    "load_trace",
    "measure",
    "measure_rounds",
    "render",
    "save_trace",
    "sentence",
    "speed_by_forwards",
    "visible",
]
