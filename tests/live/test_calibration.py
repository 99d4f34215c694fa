"""Scores to probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from towhom.live.calibration import Calibration

SCORES = np.log([0.5, 0.3, 0.2])


def test_as_they_are() -> None:
    assert Calibration()(SCORES) == pytest.approx([0.5, 0.3, 0.2])


@pytest.mark.parametrize("temperature", [0.001, 0.5, 1.0, 4.0, 1000.0])
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_adds_up_to_one_in_the_same_order(temperature: float, floor: float) -> None:
    found = Calibration(temperature, floor)(np.array([[3.0, 900.0, -2.0], [-900.0, -901.0, -902.0]]))
    assert found.sum(axis=1) == pytest.approx([1, 1])
    assert found.argmax(axis=1).tolist() == [1, 0]


def test_temperature() -> None:
    assert Calibration(0.5)(SCORES) == pytest.approx(np.array([0.25, 0.09, 0.04]) / 0.38)
    assert Calibration(2.0)(SCORES).max() < 0.5


def test_floor() -> None:
    assert Calibration(floor=0.3)(SCORES) == pytest.approx(0.7 * np.array([0.5, 0.3, 0.2]) + 0.1)


def test_where_there_is_no_choice() -> None:
    found = Calibration(2.0, 0.3)(np.array([0.0, -np.inf, 0.0]))
    assert found.tolist() == pytest.approx([0.5, 0.0, 0.5])


def test_scores_are_not_changed() -> None:
    scores = SCORES.copy()
    Calibration(2.0, 0.3)(scores)
    assert scores.tolist() == SCORES.tolist()


@pytest.mark.parametrize("wrong", [{"temperature": 0}, {"temperature": -1}, {"floor": -0.1}, {"floor": 1.1}])
def test_what_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="temperature must be positive and floor between 0 and 1"):
        Calibration(**wrong)
