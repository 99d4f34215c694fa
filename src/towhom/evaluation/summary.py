"""The report of a measurement: metrics, their intervals, and the breakdowns."""

from __future__ import annotations

from typing import Any

from towhom.evaluation.breakdown import by_distance, by_speakers
from towhom.evaluation.evaluator import summary
from towhom.evaluation.metrics import METRICS, Outcomes
from towhom.evaluation.significance import bootstrap


def describe(outcomes: Outcomes) -> dict[str, Any]:
    """Compute metrics, their intervals, and the breakdowns."""
    intervals = {}
    for metric in METRICS[:3]:
        interval = bootstrap(metric.of_samples(outcomes) * 100, outcomes.document)
        intervals[metric.name] = [round(interval.low, 2), round(interval.high, 2)]
    return {
        **summary(outcomes),
        "intervals": intervals,
        "by_speakers": by_speakers(outcomes),
        "by_distance": by_distance(outcomes),
    }
