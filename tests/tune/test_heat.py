from __future__ import annotations

from phrasekit.bench.standings import Spread
from phrasekit.tune import TrialRecord, heat_info


def trial(score, failure="", method="ouroboros", **values) -> TrialRecord:
    return TrialRecord(
        number=0,
        method=method,
        values=values,
        knobs={},
        stage="grid",
        state="failed" if failure else "complete",
        ratio=None if score is None else Spread(score, score, score),
        failure=failure,
    )


TRIALS = [
    trial(1.0, gamma=2, window=0, beta=4),
    trial(1.5, gamma=2, window=0, beta=6),
    trial(0.9, gamma=10, window=0, beta=4),
    trial(None, "differs", gamma=2, window=8, beta=4),
    trial(None, "cancelled", gamma=10, window=8, beta=4),
    trial(9.0, method="hybrid", gamma=2, window=0),
]


def test_a_cell_is_the_best_of_its_trials():
    info = heat_info(TRIALS, "ouroboros", "gamma", "window")
    assert (info.columns, info.rows) == ((2, 10), (0, 8))
    assert info.cells == ((1.5, 0.9), (None, None))
    assert info.best == (0, 0)


def test_a_failure_is_no_gap():
    assert heat_info(TRIALS, "ouroboros", "gamma", "window").failed == {(1, 0)}  # the cut one was not seen


def test_a_knob_that_was_not_searched_has_no_map():
    assert heat_info(TRIALS, "hybrid", "gamma", "beta") is None
    assert heat_info([], "ouroboros", "gamma", "beta") is None


def test_words_are_values_too():
    info = heat_info(
        [trial(1.0, repair="paper", gamma=1), trial(None, "error", repair="off", gamma=1)],
        "ouroboros",
        "repair",
        "gamma",
    )
    assert info.columns == ("off", "paper")
    assert heat_info([trial(None, "error", gamma=1, beta=2)], "ouroboros", "gamma", "beta").best is None
