"""Results as files: one JSON document, and Spec-Bench's JSON Lines, one file per contender."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import time
from uuid import NAMESPACE_URL, uuid5

from phrasekit.bench.report import FamilyReport, Report
from phrasekit.bench.samples import Sample
from phrasekit.trace.whole import write_whole

Decode = Callable[[Sequence[int]], str]


def write_json(document: object, file: Path) -> None:
    """Write a document as JSON; the file appears whole or stays as it was."""
    told = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(file, told.encode("utf-8"))


def write_spec_bench(report: Report, file: Path, *, decode: Decode) -> list[Path]:
    """Write what Spec-Bench's `evaluation/speed.py` and `equal.py` read.

    Every contender gets a file of its own, `answers.jsonl` becomes `answers-ouroboros.jsonl`: one row
    per prompt, one choice per repeat. `accept_lengths` are tokens per target step, the bonus included;
    empty for a contender that does not tell its steps.

    Args:
        report: finished or partial.
        file: gives folder and names.
        decode: token ids to text.

    Returns:
        The files written.
    """
    names = dict.fromkeys(sample.contender for family in report.families for sample in family.outcome.samples)
    written = []
    for name in names:
        rows = [row for family in report.families for row in _rows(family, name, decode)]
        place = file.with_name(f"{file.stem}-{name}{file.suffix or '.jsonl'}")
        told = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_whole(place, told.encode("utf-8"))
        written.append(place)
    return written


def _rows(family: FamilyReport, name: str, decode: Decode) -> Iterator[dict[str, object]]:
    stamp = time()
    for task in family.tasks:
        samples = [
            sample for sample in family.outcome.samples if (sample.contender, sample.task) == (name, task.id)
        ]
        if samples:
            yield {
                "question_id": int(task.id) if task.id.isdecimal() else task.id,
                "category": task.prompt.category,
                "answer_id": uuid5(NAMESPACE_URL, f"{name}/{family.family}/{task.id}").hex,
                "model_id": name,
                "choices": [_choice(index, sample, decode) for index, sample in enumerate(samples)],
                "tstamp": stamp,
            }


def _choice(index: int, sample: Sample, decode: Decode) -> dict[str, object]:
    forwards = sample.target_forwards
    return {
        "index": index,
        "turns": [decode(sample.tokens)],
        "decoding_steps": [len(sample.steps) if sample.steps or forwards is None else forwards],
        "new_tokens": [len(sample.tokens)],
        "wall_time": [sample.seconds],
        "accept_lengths": list(sample.steps),
    }
