from __future__ import annotations

import pytest

from phrasekit.tune.strategy import algorithm1, algorithm1_points, grid, grid_points, middle

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
    points = run(algorithm1(AXES), lambda at: -abs(at["gamma"] - 4) - at["window"] - abs(at["beta"] - 3) / 10)
    assert [(point.stage, tuple(point.values.values())) for point in points] == [
        ("gamma", (1, 8, 6)),  # the middle of W and β stands in until their turn
        ("gamma", (2, 8, 6)),
        ("gamma", (4, 8, 6)),
        ("window", (4, 0, 6)),
        ("window", (4, 8, 6)),
        ("beta", (4, 0, 3)),
        ("beta", (4, 0, 6)),
        ("beta", (4, 0, 8)),
    ]


def test_algorithm1_passes_over_failures_and_keeps_the_middle_where_all_fail():
    def score(at):
        return None if at["gamma"] != 1 or at["window"] else 1.0

    points = run(algorithm1({"window": (0, 8), "gamma": (1, 2, 4)}), score)
    assert points[2].values == {"window": 8, "gamma": 1}  # both windows failed at the middle γ = 2
    points = run(algorithm1({"gamma": (1, 2)}), lambda at: {1: None, 2: 0.5}[at["gamma"]])
    assert len(points) == 2


def test_the_earlier_of_equals_wins():
    points = run(algorithm1({"gamma": (1, 2, 4), "beta": (3, 4)}), lambda at: 1.0)
    assert {point.values["gamma"] for point in points if point.stage == "beta"} == {1}


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
    points = run(algorithm1(axes), lambda at: float(at["gamma"]))
    assert len({point.key for point in points}) == algorithm1_points(axes)
    assert len(run(grid(axes), lambda at: 1.0)) == grid_points(axes)


def test_the_middle_is_the_later_of_two():
    assert [middle((1,)), middle((1, 2)), middle((1, 2, 3))] == [1, 2, 2]
