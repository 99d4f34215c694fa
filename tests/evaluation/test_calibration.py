"""Probabilities that mean what they say: calibrations that are known, and bins counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from towhom.evaluation.calibration import as_scores, confidence, cross_fitted, fit_calibration, reliability
from towhom.live.calibration import Calibration

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


def softmax(logits: Float) -> Float:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: Float = powers / powers.sum(axis=1, keepdims=True)
    return result


def simulated(temperature: float, *, samples: int = 20_000, choices: int = 5) -> tuple[Float, Bool]:
    """Scores, and whether the best is right where the truth is drawn at a temperature."""
    random = np.random.default_rng(0)
    logits = random.normal(scale=2, size=(samples, choices))
    drawn = (softmax(logits / temperature).cumsum(axis=1) < random.random((samples, 1))).sum(axis=1)
    return logits, logits.argmax(axis=1) == drawn


class TestConfidence:
    @pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
    def test_the_largest_of_the_softmax(self, temperature: float) -> None:
        logits = np.random.default_rng(1).normal(size=(20, 4))
        expected = softmax(logits / temperature).max(axis=1)
        assert_allclose(confidence(logits, Calibration(temperature)), expected)

    def test_choices_that_are_not_there(self) -> None:
        logits = np.log([[0.6, 0.2, 0.2], [0.3, 0.1, 1.0]])
        logits[1, 2] = -np.inf
        assert_allclose(confidence(logits, Calibration()), [0.6, 0.75])
        assert_allclose(confidence(np.array([[3.0, -np.inf]]), Calibration(7.0, 0.2)), [1.0])

    def test_scores_of_any_size(self) -> None:
        assert_allclose(confidence(np.array([[1e6, 0.0], [-1e6, -1e6]]), Calibration(0.02)), [1.0, 0.5])


class TestCalibration:
    @pytest.mark.parametrize(("temperature", "floor"), [(0.3, 0.0), (1.0, 0.2), (4.0, 1.0)])
    def test_adds_up_and_keeps_the_order(self, temperature: float, floor: float) -> None:
        scores = np.random.default_rng(2).normal(size=(30, 6))
        scores[3, 2:] = -np.inf
        found = Calibration(temperature, floor)(scores)
        assert_allclose(found.sum(axis=1), 1)
        assert (found[3, 2:] == 0).all()
        if floor < 1:
            assert_array_equal(np.argsort(found[4:]), np.argsort(scores[4:]))

    def test_floor(self) -> None:
        assert_allclose(Calibration(1.0, 0.3)(np.log([[0.8, 0.2], [0.5, 0.5]])), [[0.71, 0.29], [0.5, 0.5]])

    @pytest.mark.parametrize(
        ("temperature", "floor"), [(0, 0), (-1, 0), (float("nan"), 0), (1, -0.1), (1, 2)]
    )
    def test_impossible(self, temperature: float, floor: float) -> None:
        with pytest.raises(ValueError, match="temperature must be positive and floor between 0 and 1"):
            Calibration(temperature, floor)


class TestFit:
    @pytest.mark.parametrize("temperature", [0.25, 1.0, 2.5, 8.0])
    def test_recovers_the_temperature(self, temperature: float) -> None:
        scores, right = simulated(temperature)
        found = fit_calibration(scores, right)
        assert found.temperature == pytest.approx(temperature, rel=0.12)
        assert found.floor < 0.06

    def test_recovers_the_floor(self) -> None:
        """In a quarter of the cases, the truth is drawn from all choices alike."""
        scores, right = simulated(0.5)
        random = np.random.default_rng(3)
        unknowable = random.random(len(right)) < 0.25
        right = np.where(unknowable, random.random(len(right)) < 0.2, right)
        found = fit_calibration(scores, right)
        assert found.floor == pytest.approx(0.25, abs=0.04)
        assert found.temperature == pytest.approx(0.5, rel=0.2)

    def test_what_it_is_for(self) -> None:
        """Scores that are far too sure; calibrated, said and right agree in every bin."""
        scores, right = simulated(4.0)
        assert reliability(confidence(scores, Calibration()), right)["error"] > 0.3
        assert reliability(confidence(scores, fit_calibration(scores, right)), right)["error"] < 0.015

    def test_always_right_and_always_wrong(self) -> None:
        scores = np.log(np.array([[0.6, 0.4]] * 5))
        assert confidence(scores, fit_calibration(scores, np.ones(5, bool)))[0] > 0.99
        assert confidence(scores, fit_calibration(scores, np.zeros(5, bool)))[0] < 0.51

    def test_nothing_to_fit(self) -> None:
        assert fit_calibration(np.empty((0, 0)), np.empty(0, bool)) == Calibration()


class TestCrossFitted:
    logits = np.log(np.array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1], [0.6, 0.4]]))
    documents = np.array([7, 7, 3, 3])

    def test_only_the_other_document(self) -> None:
        """One in which the best is always right, one in which it never is."""
        right = np.array([True, True, False, False])
        sure = cross_fitted(self.logits, right, self.documents)
        first = confidence(self.logits[:2], fit_calibration(self.logits[2:], right[2:]))
        second = confidence(self.logits[2:], fit_calibration(self.logits[:2], right[:2]))
        assert_array_equal(sure, [*first, *second])
        assert (sure[:2] < 0.55).all()
        assert (sure[2:] > 0.95).all()

    def test_what_is_true_here_does_not_matter_here(self) -> None:
        one, other = np.array([True, False, True, True]), np.array([False, False, True, True])
        before, after = (cross_fitted(self.logits, right, self.documents) for right in (one, other))
        assert_array_equal(before[:2], after[:2])
        assert (before[2:] != after[2:]).all()

    def test_three_documents(self) -> None:
        """Each by the calibration of the two others together."""
        logits, right = simulated(2.0, samples=90)
        documents = np.arange(90) % 3
        for document in range(3):
            here = documents == document
            expected = confidence(logits[here], fit_calibration(logits[~here], right[~here]))
            assert_array_equal(cross_fitted(logits, right, documents)[here], expected)

    def test_one_document_has_no_other(self) -> None:
        right = np.array([True, False, True, False])
        sure = cross_fitted(self.logits, right, np.zeros(4, np.int64))
        assert_array_equal(sure, confidence(self.logits, fit_calibration(self.logits, right)))

    def test_nothing(self) -> None:
        assert len(cross_fitted(np.empty((0, 3)), np.empty(0, bool), np.empty(0, np.int64))) == 0


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


class TestAsScores:
    def test_rows_of_different_lengths(self) -> None:
        found = as_scores([[0.5, 0.25, 0.25], [1.0], []])
        assert found.shape == (3, 3)
        assert_allclose(np.exp(found), [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        assert_array_equal(np.isneginf(found), [[0, 0, 0], [0, 1, 1], [1, 1, 1]])

    def test_impossible_is_not_absent(self) -> None:
        assert_allclose(as_scores([[0.0, 1.0]]), np.log([[1e-30, 1.0]]))

    def test_nothing(self) -> None:
        assert as_scores([]).shape == (0, 0)
