"""Records of runs that never were, for reports and figures."""

from __future__ import annotations

from typing import Any

from towhom.experiments import Experiment, Row

EXPERIMENT = Experiment(
    (
        Row("recent-tfidf", 15, 2),
        Row("recent-tfidf", 15, 10),
        Row("dynamic-rnn", 15, 2),
        Row("sirnn", 15, 2, {"dev_adr_res": 67.01, "adr_res": 67.3, "adr": 80.47, "res": 80.91}),
        Row("sirnn", 15, 10, {"dev_adr_res": 35.5, "adr_res": 35.76, "adr": 78.53, "res": 40.83}),
    ),
    {},
)


def record(
    system: str,
    candidates: int = 2,
    *,
    context: int = 15,
    seed: int = 0,
    accuracy: float = 50.0,
    groups: tuple[tuple[int, float], ...] = ((100, 40.0), (50, 60.0), (19, 90.0)),
    split: str = "dev",
) -> dict[str, Any]:
    """A record: ADR-RES is `accuracy`, ADR 10 more, RES 20 more; `groups` are samples and ADR of each."""
    results = {
        "samples": 1234,
        "adr_res": accuracy,
        "adr": accuracy + 10,
        "res": accuracy + 20,
        "by_speakers": [
            {"speakers": number + 2, "samples": samples, "adr": adr}
            for number, (samples, adr) in enumerate(groups)
        ],
        "by_distance": [
            {"distance": distance, "samples": samples, "adr": adr}
            for distance, (samples, adr) in zip((1, 4, 16), groups, strict=True)
        ],
    }
    identity = {"system": system, "context": context, "candidates": candidates, "seed": seed}
    return {"identity": identity, "results": {split: results}}
