from __future__ import annotations

import pytest

from phrasekit.tune.strategy import Point, algorithm1, algorithm1_points, grid, grid_points, middle

AXES = {"gamma": (1, 2, 4), "window": (0, 8), "beta": (3, 6, 8)}


def run(strategy, score):
    """Points in order, each scored by its values."""
    points = []
    point = next(strategy, None)
    while point is not None:
        points.append(point)
        try:
            point = strategy.send(score(point.values))
        except StopIteration:
            point = None
    return points


def test_algorithm1_takes_gamma_then_window_then_beta_and_keeps_the_best():
    points = run(
        algorithm1(AXES), lambda at: 20 - abs(at["gamma"] - 4) - at["window"] - abs(at["beta"] - 3) / 10
    )
    assert [(point.stage, tuple(point.values.values())) for point in points][:8] == [
        ("gamma", (1, 8, 6)),  # the middle of W and β stands in until their turn
        ("gamma", (2, 8, 6)),
        ("gamma", (4, 8, 6)),
        ("window", (4, 0, 6)),
        ("window", (4, 8, 6)),
        ("beta", (4, 0, 3)),
        ("beta", (4, 0, 6)),
        ("beta", (4, 0, 8)),
    ]


def test_another_round_searches_gamma_beside_the_window_that_won():
    """γ 1 is best beside W 8, γ 4 beside W 0; the first round alone would end at γ 1, W 0."""

    def score(at):
        return 1.0 + at["gamma"] / 10 if at["window"] == 0 else 1.0 - at["gamma"] / 10

    points = run(algorithm1(AXES), score)
    again = [(point.stage, tuple(point.values.values())) for point in points][8:]
    assert again[:3] == [("gamma", (1, 0, 6)), ("gamma", (2, 0, 6)), ("gamma", (4, 0, 6))]
    assert again[3:5] == [("window", (4, 0, 6)), ("window", (4, 8, 6))]
    assert max(points, key=lambda point: score(point.values)).values == {"gamma": 4, "window": 0, "beta": 6}


def test_rounds_end_where_one_changes_nothing_and_noise_moves_nothing():
    points = run(algorithm1(AXES), lambda at: 1.0 + at["gamma"] / 1000 - at["window"] / 1e6)
    assert len(points) == 2 * 8  # γ 4 from the first round on
    nearly = run(algorithm1(AXES), lambda at: 1.01 if at["window"] == 0 and at["gamma"] == 4 else 1.0)
    assert len(nearly) == 2 * 8  # 1 % more at another γ is no reason to go on


def test_rounds_go_out_from_the_start_where_that_is_ahead():
    start = Point({"gamma": 3, "window": 1, "beta": 5}, "before")
    points = run(algorithm1(AXES, start), lambda at: 2.0 if at["window"] == 1 else 1.0)
    assert points[0] is start
    assert points[9].values == {"gamma": 1, "window": 1, "beta": 5}
    behind = run(algorithm1(AXES, start), lambda at: 1.0)
    assert behind[9].values == {"gamma": 1, "window": 8, "beta": 6}


def test_algorithm1_passes_over_failures_and_keeps_the_middle_where_all_fail():
    def score(at):
        return None if at["gamma"] != 1 or at["window"] else 1.0

    points = run(algorithm1({"window": (0, 8), "gamma": (1, 2, 4)}), score)
    assert points[2].values == {"window": 8, "gamma": 1}  # both windows failed at the middle γ = 2
    points = run(algorithm1({"gamma": (1, 2)}), lambda at: {1: None, 2: 0.5}[at["gamma"]])
    assert {point.values["gamma"] for point in points} == {1, 2}


def test_the_earlier_of_equals_wins():
    points = run(algorithm1({"gamma": (1, 2, 4), "beta": (3, 4)}), lambda at: 1.0)
    assert {point.values["gamma"] for point in points if point.stage == "beta"} == {1}
    assert {point.values["beta"] for point in points[5:] if point.stage == "gamma"} == {4}  # the middle
    assert len(points) == 2 * 5


def test_a_grid_is_every_combination():
    points = run(grid({"gamma": (1, 2), "repair": ("paper", "off")}), lambda at: 1.0)
    assert [tuple(point.values.values()) for point in points] == [
        (1, "paper"),
        (1, "off"),
        (2, "paper"),
        (2, "off"),
    ]


@pytest.mark.parametrize("axes", [AXES, {"gamma": (1,)}, {"gamma": (1, 2), "beta": (3, 4, 5, 6)}])
def test_points_are_counted_before_they_are_tried(axes):
    def score(at):  # what was in the middle is not the best, so that γ is searched once more
        return 1 / at["gamma"] + (at["window"] == 0 if "window" in at else at.get("beta") == 3)

    points = run(algorithm1(axes), score)
    assert len({point.key for point in points}) == algorithm1_points(axes)
    assert len(run(grid(axes), lambda at: 1.0)) == grid_points(axes)


def test_the_middle_is_the_later_of_two():
    assert [middle((1,)), middle((1, 2)), middle((1, 2, 3))] == [1, 2, 2]
