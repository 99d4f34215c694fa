"""Accuracy by speakers and by distance, by hand."""

from __future__ import annotations

import numpy as np

from towhom.evaluation.breakdown import FAR, by_distance, by_speakers
from towhom.evaluation.metrics import Outcomes

OUTCOMES = Outcomes(
    addressee=np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
    response=np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
    both=np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
    rank=np.array([1, 1, 2, 1, 2, 1]),
    document=np.zeros(6, np.int64),
    speakers=np.array([2, 2, 2, 7, 3, 7]),
    distance=np.array([1, FAR, 1, 2, FAR + 1, 0]),
)


def test_by_speakers() -> None:
    assert by_speakers(OUTCOMES) == [
        {"speakers": 2, "samples": 3, "adr": 66.6667, "res": 66.6667, "adr_res": 33.3333},
        {"speakers": 3, "samples": 1, "adr": 0.0, "res": 0.0, "adr_res": 0.0},
        {"speakers": 7, "samples": 2, "adr": 50.0, "res": 100.0, "adr_res": 50.0},
    ]


def test_by_distance() -> None:
    """Those who are farther than any context reaches, and those who never spoke, are one group, the last."""
    assert by_distance(OUTCOMES) == [
        {"distance": 1, "samples": 2, "adr": 100.0, "res": 50.0, "adr_res": 50.0},
        {"distance": 2, "samples": 1, "adr": 100.0, "res": 100.0, "adr_res": 100.0},
        {"distance": 15, "samples": 1, "adr": 0.0, "res": 100.0, "adr_res": 0.0},
        {"distance": 16, "samples": 2, "adr": 0.0, "res": 50.0, "adr_res": 0.0},
    ]
