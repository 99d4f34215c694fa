"""Probabilities that mean what they say: bins counted by hand."""

from __future__ import annotations

import numpy as np

from towhom.evaluation.calibration import reliability


class TestReliability:
    def test_by_hand(self) -> None:
        sure = np.array([0.05, 0.55, 0.59, 0.95, 1.0])
        right = np.array([False, True, False, True, True])
        assert reliability(sure, right) == {
            "bins": [
                {"samples": 1, "said": 0.05, "right": 0.0},
                {"samples": 2, "said": 0.57, "right": 0.5},
                {"samples": 2, "said": 0.975, "right": 1.0},
            ],
            "quarters": [0.5, 0.0, 1.0, 1.0],  # of two, one, one and one
            "error": 0.048,  # (1 * 0.05 + 2 * 0.07 + 2 * 0.025) / 5
        }

    def test_where_bins_begin(self) -> None:
        found = reliability(np.array([0.0, 0.099, 0.1, 0.5]), np.zeros(4, bool))
        assert [each["samples"] for each in found["bins"]] == [2, 1, 1]

    def test_the_surest_quarter_is_the_last(self) -> None:
        sure = np.array([0.9, 0.1, 0.5, 0.3, 0.95, 0.2, 0.6, 0.4])
        assert reliability(sure, sure > 0.55)["quarters"] == [0.0, 0.0, 0.5, 1.0]

    def test_as_said(self) -> None:
        found = reliability(np.full(10, 0.7), np.arange(10) < 7)
        assert found["bins"] == [{"samples": 10, "said": 0.7, "right": 0.7}]
        assert found["error"] == 0.0

    def test_nothing(self) -> None:
        assert reliability(np.empty(0), np.empty(0, bool)) == {"bins": [], "quarters": [], "error": 0.0}
