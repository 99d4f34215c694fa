"""Accuracy by number of speakers and by distance: the data of the paper's Figure 4."""

from __future__ import annotations

from typing import Any

import numpy as np

from towhom.evaluation.metrics import METRICS, Outcomes

_SHOWN = METRICS[:3]
FAR = 15
"""Addressees who spoke longer ago than this form one group, since they are outside the longest context."""


def by_speakers(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Accuracy for each number of speakers in the context, the responder included."""
    return [_group(outcomes, outcomes.speakers == n, speakers=int(n)) for n in np.unique(outcomes.speakers)]


def by_distance(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Accuracy for each distance to the addressee's last message; `FAR` + 1 for all farther ones."""
    distance = np.where((outcomes.distance == 0) | (outcomes.distance > FAR), FAR + 1, outcomes.distance)
    return [_group(outcomes, distance == n, distance=int(n)) for n in np.unique(distance)]


def _group(outcomes: Outcomes, chosen: np.ndarray[Any, Any], **key: int) -> dict[str, Any]:
    means = {
        metric.name: round(float(metric.of_samples(outcomes)[chosen].mean()) * 100, 4) for metric in _SHOWN
    }
    return {**key, "samples": int(chosen.sum()), **means}
