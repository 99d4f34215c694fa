"""Scores to probabilities that mean what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Calibration:
    """A softmax at a temperature, mixed with chance. The order of scores stays as it is.

    Args:
        temperature: Scores are divided by it; the higher, the less sure.
        floor: The share of cases that nobody could know, in which one choice is as good as another.

    >>> Calibration(temperature=1.0, floor=0.5)(np.log([3.0, 1.0]))
    array([0.625, 0.375])
    """

    temperature: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not self.temperature > 0 or not 0 <= self.floor <= 1:
            raise ValueError(f"temperature must be positive and floor between 0 and 1, are {self}")

    def __call__(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., K) Logarithmic scores -> (..., K) probabilities; minus infinity where there is no choice."""
        scaled: NDArray[np.float64] = scores - scores.max(axis=-1, keepdims=True)
        scaled /= self.temperature
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=-1, keepdims=True)
        if self.floor:
            there = np.isfinite(scores)
            scaled *= 1.0 - self.floor
            scaled += there * (self.floor / there.sum(axis=-1, keepdims=True))
        return scaled
