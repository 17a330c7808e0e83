"""Trials in a journal: other tools open it, a killed search goes on, damage is one clear error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time as clock
from dataclasses import replace

import optuna
import pytest
import torch
from optuna.storages.journal import JournalFileBackend

from phrasekit.bench.standings import Spread
from phrasekit.errors import StudyFormatError
from phrasekit.tune import Tuning, plan_algorithm1, plan_grid
from phrasekit.tune.records import CANCELLED, COMPLETE, DIFFERS, FAILED, KILLED
from phrasekit.tune.strategy import Point
from phrasekit.tune.study import check_optuna, open_studies
from phrasekit.tune.tuning import Options
from tests.tune.conftest import COSTS, PROMPTS

POINT = Point({"gamma": 2, "window": 0, "beta": 4}, "gamma")
CONDITIONS = {"models": "tiny"}


def complete(record):
    return replace(
        record,
        state=COMPLETE,
        ratio=Spread(1.5, 1.4, 1.6),
        tokens_per_target_forward=3.0,
        tokens_per_draft_forward=1.5,
        ms=2.0,
        plain_ms=3.0,
        identical=True,
    )


def open_store(path, plan):
    with open_studies(path) as studies:
        return studies.store(plan, CONDITIONS)


def load(path, name):
    return optuna.load_study(
        study_name=name, storage=optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    )


def names(path):
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    return optuna.get_all_study_names(storage)


def test_known_tools_open_the_file(pair, tmp_path):
    path = tmp_path / "trials.journal"
    with open_studies(path) as studies:
        store = studies.store(plan_algorithm1("ouroboros", pair), CONDITIONS)
        store.finish(complete(store.begin(POINT)))
        failed = store.begin(Point({"gamma": 4, "window": 0, "beta": 4}, "gamma"))
        store.finish(replace(failed, state=FAILED, failure=DIFFERS, reason="output differs", identical=False))
    (name,) = names(path)
    study = load(path, name)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "FAIL"]
    assert study.best_trial.params == dict(POINT.values)
    assert study.best_value == 1.5
    attributes = study.trials[0].user_attrs
    assert attributes["ratio"] == [1.4, 1.5, 1.6]
    assert (attributes["tokens_per_target_forward"], attributes["tokens_per_draft_forward"]) == (3.0, 1.5)
    assert (attributes["ms"], attributes["identical"], attributes["stage"]) == (2.0, True, "gamma")
    assert study.trials[1].user_attrs["reason"] == "output differs"
    assert study.user_attrs["conditions"]["models"] == "tiny"


def test_a_finished_trial_comes_back_as_it_was(pair, tmp_path):
    path, plan = tmp_path / "trials.journal", plan_algorithm1("ouroboros", pair)
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        told = complete(store.begin(POINT))
        store.finish(told)
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        assert store.find(POINT) == replace(told, reused=True)
        assert store.find(Point({**POINT.values, "gamma": 3}, "gamma")) is None
        assert studies.store(plan, {"models": "others"}).find(POINT) is None
        assert studies.store(plan_algorithm1("hybrid", pair), CONDITIONS).find(POINT) is None


@pytest.mark.parametrize(("failure", "again"), [(DIFFERS, False), (CANCELLED, True)])
def test_a_mismatch_is_settled_and_a_cut_trial_is_tried_again(pair, failure, again):
    with open_studies(None) as studies:
        store = studies.store(plan_algorithm1("ouroboros", pair), CONDITIONS)
        store.finish(replace(store.begin(POINT), state=FAILED, failure=failure, reason="so"))
        assert (store.find(POINT) is None) == again


def test_trials_of_a_dead_process_are_buried_when_the_next_one_opens(pair, tmp_path):
    path, plan = tmp_path / "trials.journal", plan_algorithm1("ouroboros", pair)
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        store.begin(POINT)  # and nothing more: the process died
        store._study.enqueue_trial({"gamma": 9, "window": 0, "beta": 4})
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        record = store.begin(POINT)
        store.finish(complete(record))
        trials = [store._record(trial) for trial in store._study.trials]
    assert [(trial.state, trial.failure) for trial in trials] == [
        (FAILED, KILLED),
        (FAILED, KILLED),  # it waited, and nobody asks for it any more
        (COMPLETE, ""),
    ]


def test_only_the_running_trial_can_be_finished(pair):
    with open_studies(None) as studies:
        store = studies.store(plan_algorithm1("ouroboros", pair), CONDITIONS)
        record = store.begin(POINT)
        store.finish(complete(record))
        with pytest.raises(RuntimeError, match="must be running"):
            store.finish(complete(record))


def test_knobs_that_are_no_numbers_are_kept(pair, tmp_path):
    path = tmp_path / "trials.journal"
    plan = plan_grid("ouroboros", pair, {"repair": ["off", "paper"], "cut_to_gamma": [True]})
    point = Point({"repair": "off", "cut_to_gamma": True}, "grid")
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        store.finish(complete(store.begin(point)))
    with open_studies(path) as studies:
        assert studies.store(plan, CONDITIONS).find(point).knobs["repair"] == "off"


DAMAGE = {
    "garbage": b"\x00\xff\xfe garbage\nmore\n",
    "text": b"these are\nnotes\n",
    "foreign": b'{"name": "not ours"}\n{"name": "nor this"}\n',
    "a list": b"[1, 2]\n[3]\n",
    "an unknown operation": b'{"op_code": 99, "worker_id": "x"}\n',
    "one object": b'{"name": "a configuration without a last line end"}',
    "torn": b'{"op_co',
    "one line": b"milk, bread\n",
    "a number": b"3\n",
    "deep": b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("data", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_foreign_file_is_one_clear_error_and_stays_as_it_was(data, pair, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    with pytest.raises(StudyFormatError, match=r"must be a journal file of Optuna's.*notes\.txt"):
        open_store(path, plan_algorithm1("ouroboros", pair))
    assert path.read_bytes() == data


def test_damage_in_the_middle_and_a_changed_value_are_found(pair, tmp_path):
    path, plan = tmp_path / "trials.journal", plan_algorithm1("ouroboros", pair)
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        store.finish(complete(store.begin(POINT)))
    lines = path.read_bytes().splitlines(keepends=True)
    for place in (0, 2, len(lines)):
        path.write_bytes(b"".join([*lines[:place], b'{"op_co\n', *lines[place:]]))
        with pytest.raises(StudyFormatError):
            open_store(path, plan)
    path.write_bytes(b"".join(lines).replace(b'"ratio":[1.4,1.5,1.6]', b'"ratio":["x"]'))
    with pytest.raises(StudyFormatError):
        open_store(path, plan)


@pytest.mark.parametrize("torn", [b"{", b'{"op_c', b'{"op_code":5,"work', b'{"op_code":5}'])
def test_a_last_line_cut_off_in_the_middle_is_dropped(torn, pair, tmp_path):
    path, plan = tmp_path / "trials.journal", plan_algorithm1("ouroboros", pair)
    with open_studies(path) as studies:
        store = studies.store(plan, CONDITIONS)
        store.finish(complete(store.begin(POINT)))
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    for _ in range(2):  # and what is written then stands on lines of its own
        with open_studies(path) as studies:
            store = studies.store(plan, CONDITIONS)
            assert store.find(POINT).ratio.median == 1.5
            store.finish(complete(store.begin(Point({**POINT.values, "gamma": 7}, "gamma"))))


def test_folders_are_no_files(tmp_path):
    with pytest.raises(OSError, match="directory"), open_studies(tmp_path):
        pass


def test_a_study_takes_one_search_at_a_time(pair, tmp_path):
    path = tmp_path / "trials.journal"
    plan = plan_algorithm1("ouroboros", pair)
    with open_studies(path), pytest.raises(RuntimeError, match="one search at a time"):
        open_store(path, plan)
    open_store(path, plan)  # free again


def test_without_optuna_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("phrasekit.tune.study.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"phrasekit\[tune\]"):
        check_optuna()


KILLED_SEARCH = """
import os, signal, sys
import torch
torch.set_num_threads(int(sys.argv[2]))
from tests.tune.test_study import search
trials = 0
for progress in search(sys.argv[1]):
    if progress.phase == "search" and progress.trial.state == "running" and progress.trials == 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def search(path, **changes) -> Tuning:
    from pathlib import Path

    from tests import models

    pair = models.pair_of("llama")
    return Tuning(
        pair,
        PROMPTS,
        plans=[plan_algorithm1("ouroboros", pair, axes={"gamma": [1, 3]}, fixed={"window": 0, "beta": 4})],
        options=Options(max_new_tokens=6, repeats=1, final_repeats=1),
        study=Path(path),
        costs=COSTS,
        **changes,
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_killed_search_goes_on_where_it_was(tmp_path):
    path = tmp_path / "trials.journal"
    done = subprocess.run(
        [sys.executable, "-c", KILLED_SEARCH, str(path), str(torch.get_num_threads())],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (name,) = names(path)
    assert [trial.state.name for trial in load(path, name).trials] == ["COMPLETE", "COMPLETE", "RUNNING"]
    before = clock.monotonic()
    tuning = search(path)
    for _ in tuning:
        pass
    assert clock.monotonic() - before < 60  # no lock to wait for
    assert [trial.reused for trial in tuning.trials] == [True, True, False]
    assert names(path) == [name]
    states = [trial.state.name for trial in load(path, name).trials]
    assert states == ["COMPLETE", "COMPLETE", "FAIL", "COMPLETE"]
    assert load(path, name).user_attrs["verdict"] == tuning.verdict.sentence
    again = search(path)
    for _ in again:
        pass
    assert all(trial.reused for trial in again.trials)
    assert len(load(path, name).trials) == 4


def test_the_journal_is_json_lines(tmp_path):
    path = tmp_path / "trials.journal"
    for _ in search(path):
        pass
    assert all(isinstance(json.loads(line), dict) for line in path.read_text().splitlines())
