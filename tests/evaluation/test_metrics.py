"""Metrics, by hand."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from towhom.evaluation.metrics import METRICS, Metric, Outcomes

BY_NAME = {metric.name: metric for metric in METRICS}


def outcomes(addressee: list[float], response: list[float], rank: list[int]) -> Outcomes:
    zeros = np.zeros(len(rank), np.int64)
    right = np.array(addressee, np.float64), np.array(response, np.float64)
    return Outcomes(*right, right[0] * right[1], np.array(rank, np.int64), zeros, zeros, zeros)


FOUR = outcomes([1, 1, 0, 0], [1, 0, 1, 0], [1, 2, 1, 6])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("adr", 50),
        ("res", 50),
        ("adr_res", 25),
        ("recall_at_1", 50),
        ("recall_at_2", 75),
        ("recall_at_5", 75),
        ("mrr", (1 + 1 / 2 + 1 + 1 / 6) / 4),
    ],
)
def test_values(name: str, value: float) -> None:
    assert BY_NAME[name](FOUR) == pytest.approx(value)


def test_chances_are_averaged() -> None:
    assert BY_NAME["adr"](outcomes([1 / 2, 1 / 4], [1, 1], [1, 1])) == pytest.approx(37.5)


def test_all_are_listed_once_and_say_which_way_is_better() -> None:
    assert set(BY_NAME) == {"adr", "res", "adr_res", "recall_at_1", "recall_at_2", "recall_at_5", "mrr"}
    assert len({metric.title for metric in METRICS}) == len(METRICS) == len(BY_NAME)
    assert all(metric.higher_is_better for metric in METRICS)
    perfect, worst = outcomes([1], [1], [1]), outcomes([0], [0], [10])
    for metric in METRICS:
        assert metric(perfect) == (100 if metric.percent else 1)
        assert metric(worst) < metric(perfect)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_of_nothing_there_is_no_mean(metric: Metric) -> None:
    assert isnan(metric(outcomes([], [], [])))
