"""Whether a probability means what it says, and the temperature that makes it so.

Whatever is chosen is the one with the highest score, at any temperature; what the temperature changes is how
sure the choice is. It is fitted so that the choices called 80 % sure are right in 8 of 10 cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINS = 10
_LOWEST, _HIGHEST = 0.02, 20.0


def confidence(logits: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """(S,) How sure the best of each row of (S, K) scores is; minus infinity where there is none."""
    scaled = (logits - logits.max(axis=1, keepdims=True)) / temperature
    result: NDArray[np.float64] = 1.0 / np.exp(scaled).sum(axis=1)
    return result


def fit_temperature(logits: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """The temperature at which it is likeliest that just those best ones are right that are.

    Args:
        logits: (S, K) Logarithmic scores; minus infinity where there is no choice.
        right: (S,) Whether the best is right.

    >>> sure = np.log(np.array([[0.9, 0.1]] * 10))
    >>> round(float(confidence(sure, fit_temperature(sure, np.arange(10) < 7))[0]), 2)
    0.7
    """
    if not len(right):
        return 1.0
    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    for _ in range(4):  # ever finer: the loss has one valley
        tried = np.linspace(low, high, 25)
        best = int(np.argmin([_loss(confidence(logits, float(np.exp(each))), right) for each in tried]))
        low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    return float(np.exp((low + high) / 2))


def cross_fitted(
    logits: NDArray[np.float64], right: NDArray[np.bool_], documents: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(S,) How sure each best one is, at the temperature that fits the other documents best."""
    result = np.empty(len(right))
    for document in np.unique(documents):
        here = documents == document
        fitted_on = ~here if (~here).any() else here
        result[here] = confidence(logits[here], fit_temperature(logits[fitted_on], right[fitted_on]))
    return result


def reliability(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, Any]:
    """How often the best is right, by how sure it was, in ten bins; and the expected calibration error."""
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
    return {"bins": bins, "error": round(error, 4)}


def as_logits(probabilities: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """(S, K) Rows of different lengths, as logarithms."""
    result = np.full((len(probabilities), max(map(len, probabilities), default=0)), -np.inf)
    for row, values in enumerate(probabilities):
        result[row, : len(values)] = np.log(np.maximum(values, 1e-30))
    return result


def _loss(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    sure = np.clip(sure, 1e-9, 1 - 1e-9)
    return float(-np.where(right, np.log(sure), np.log1p(-sure)).mean())
