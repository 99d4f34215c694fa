"""Confidence intervals and comparisons, by resampling documents.

Samples of one document are similar, so documents are drawn, not samples; with few documents,
intervals are wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A mean and the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """How much better one system is than another on the same samples."""

    difference: Interval
    p: float
    """The probability of a difference at least this far from zero if there were none."""


def bootstrap(
    values: NDArray[np.float64], documents: NDArray[np.int64], *, seed: int = 0, draws: int = _DRAWS
) -> Interval:
    """The mean of some values and its interval; documents are drawn with replacement.

    >>> bootstrap(np.array([1.0, 1.0, 1.0]), np.array([0, 0, 1]))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    means = _means(values, documents, seed, draws)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(values.mean()), float(low), float(high))


def compare(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    documents: NDArray[np.int64],
    *,
    seed: int = 0,
    draws: int = _DRAWS,
) -> Comparison:
    """The mean of `first` - `second` over the same samples, and its p-value.

    The p-value is that of a randomization test: without a real difference, the sign of each document's
    difference would be random.
    """
    difference = first - second
    interval = bootstrap(difference, documents, seed=seed, draws=draws)
    sums = np.bincount(np.unique(documents, return_inverse=True)[1], weights=difference)
    signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], size=(draws, len(sums)))
    extreme = np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9
    return Comparison(interval, float((extreme.sum() + 1) / (draws + 1)))


def _means(
    values: NDArray[np.float64], documents: NDArray[np.int64], seed: int, draws: int
) -> NDArray[np.float64]:
    which = np.unique(documents, return_inverse=True)[1]
    sums, counts = np.bincount(which, weights=values), np.bincount(which)
    drawn = np.random.default_rng(seed).integers(0, len(sums), size=(draws, len(sums)))
    means: NDArray[np.float64] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return means
