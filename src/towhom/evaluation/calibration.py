"""Measures calibration: whether probabilities match frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINS = 10


def reliability(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, Any]:
    """Share of right answers by probability, in ten bins, and in quarters of the samples, the surest last.

    The error is the expected calibration error: the mean difference between probability and share of right
    answers.
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
