"""Whether a probability means what it says, and the calibration that makes it so.

Whatever is chosen is the one with the highest score, however it is calibrated; what changes is how sure the
choice is. It is fitted so that of the choices called 80 % sure, eight in ten are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.live.calibration import Calibration

_BINS = 10
_TEMPERATURES = (0.05, 20.0)
_MAX_FLOOR = 0.5


def confidence(scores: NDArray[np.float64], calibration: Calibration) -> NDArray[np.float64]:
    """(S,) How sure the best of each row of (S, K) scores is; minus infinity where there is none."""
    result: NDArray[np.float64] = calibration(scores).max(axis=1)
    return result


def fit_calibration(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> Calibration:
    """The calibration under which it is likeliest that just those best ones are right that are.

    Args:
        scores: (S, K) Logarithmic scores; minus infinity where there is no choice.
        right: (S,) Whether the best is right.

    >>> sure = np.log(np.array([[0.9, 0.1]] * 10))
    >>> round(float(confidence(sure, fit_calibration(sure, np.arange(10) < 7))[0]), 2)
    0.7
    """
    if not len(right):
        return Calibration()

    def temperature_at(floor: float) -> float:
        return exp(_lowest(lambda t: loss(exp(t), floor), *map(log, _TEMPERATURES)))

    # The same as `confidence`, without what does not change.
    below = scores - scores.max(axis=1, keepdims=True)
    chance = 1.0 / np.isfinite(scores).sum(axis=1)

    def loss(temperature: float, floor: float) -> float:
        return _loss((1.0 - floor) / np.exp(below / temperature).sum(axis=1) + floor * chance, right)

    # One inside the other: both make the choice less sure, and their best values depend on each other.
    floor = _lowest(lambda floor: loss(temperature_at(floor), floor), 0.0, _MAX_FLOOR)
    return Calibration(temperature_at(floor), floor)


def _lowest(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is lowest, by golden section, to a thousandth of the range."""
    ratio = (sqrt(5) - 1) / 2
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [value(each) for each in inner]
    for _ in range(13):
        if values[0] <= values[1]:
            high = inner[1]
            inner = [high - ratio * (high - low), inner[0]]
            values = [value(inner[0]), values[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + ratio * (high - low)]
            values = [values[1], value(inner[1])]
    return inner[0] if values[0] <= values[1] else inner[1]


def cross_fitted(
    scores: NDArray[np.float64], right: NDArray[np.bool_], documents: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(S,) How sure each best one is, by the calibration that fits the other documents best."""
    result = np.empty(len(right))
    for document in np.unique(documents):
        here = documents == document
        fitted_on = ~here if (~here).any() else here
        result[here] = confidence(scores[here], fit_calibration(scores[fitted_on], right[fitted_on]))
    return result


def reliability(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, Any]:
    """How often the best is right, by how sure it was, in ten bins, and of each quarter, the surest last.

    The error is the expected calibration error: how far what is said is from what is right, on average.
    """
    place = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    bins = [
        {
            "samples": int(here.sum()),
            "said": round(float(sure[here].mean()), 4),
            "right": round(float(right[here].mean()), 4),
        }
        for here in (place == number for number in range(_BINS))
        if here.any()
    ]
    error = sum(each["samples"] * abs(each["said"] - each["right"]) for each in bins) / max(len(right), 1)
    quarters = np.array_split(right[np.argsort(sure, kind="stable")], 4)
    return {
        "bins": bins,
        "quarters": [round(float(each.mean()), 4) for each in quarters if len(each)],
        "error": round(error, 4),
    }


def as_scores(probabilities: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """(S, K) Rows of different lengths, as logarithms."""
    result = np.full((len(probabilities), max(map(len, probabilities), default=0)), -np.inf)
    for row, values in enumerate(probabilities):
        result[row, : len(values)] = np.log(np.maximum(values, 1e-30))
    return result


def _loss(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    sure = np.clip(sure, 1e-9, 1 - 1e-9)
    return float(-np.where(right, np.log(sure), np.log1p(-sure)).mean())
