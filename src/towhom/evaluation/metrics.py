"""Metrics, each with a name, a direction, a range, and a function that computes it from outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of a system on S samples."""

    addressee: NDArray[np.float64]
    """(S,) 1 where the addressee was right, else 0; or the probability of that."""
    response: NDArray[np.float64]
    """(S,) The same for the response."""
    both: NDArray[np.float64]
    """(S,) The same for both at once."""
    rank: NDArray[np.int64]
    """(S,) Rank of the true response among the candidates, from 1 on."""
    document: NDArray[np.int64]
    """(S,) Number of the sample's document."""
    speakers: NDArray[np.int64]
    """(S,) Number of speakers in the context, including the responder."""
    distance: NDArray[np.int64]
    """(S,) How many messages ago the addressee last spoke; 0 for never."""


@dataclass(frozen=True)
class Metric:
    """A measure of a system's quality."""

    name: str
    title: str
    of_samples: Callable[[Outcomes], NDArray[np.float64]]
    """(S,) Its value for each sample; the metric is the mean."""
    percent: bool = True
    higher_is_better: bool = True

    def __call__(self, outcomes: Outcomes) -> float:
        """The mean over all samples, in percent if it is a share."""
        values = self.of_samples(outcomes)
        return float(values.mean() * (100 if self.percent else 1)) if len(values) else float("nan")


METRICS = (
    Metric("adr", "ADR", lambda o: o.addressee),
    Metric("res", "RES", lambda o: o.response),
    Metric("adr_res", "ADR-RES", lambda o: o.both),
    Metric("recall_at_1", "R@1", lambda o: (o.rank <= 1).astype(np.float64)),
    Metric("recall_at_2", "R@2", lambda o: (o.rank <= 2).astype(np.float64)),
    Metric("recall_at_5", "R@5", lambda o: (o.rank <= 5).astype(np.float64)),
    Metric("mrr", "MRR", lambda o: 1.0 / o.rank, percent=False),
)
