"""How sure a manner of calling is was measured, and is what the record says."""

from __future__ import annotations

import json
from pathlib import Path

from towhom.hearing.manners import CALLING, REASONS, SURE, Manner
from towhom.hearing.utterance import CALLED

RECORD = Path(__file__).parents[2] / "results" / "calls.json"


def test_as_measured() -> None:
    worth = json.loads(RECORD.read_text("utf-8"))["worth"]
    assert len(worth) >= 8
    for name, row in worth.items():
        # Which manner counts for somebody named twice depends on these numbers, so they move a little.
        assert abs(SURE[Manner(name)] - row["sure"]) <= 0.02
        assert SURE[Manner(name)] == row["used"]


def test_what_is_rare_is_as_sure_as_its_kin() -> None:
    assert SURE[Manner.REPLY] == SURE[Manner.GIVEN] == SURE[Manner.FRONT]
    assert SURE[Manner.MENTION_INSIDE] == SURE[Manner.END]


def test_only_calls_are_believed() -> None:
    assert {manner for manner, sure in SURE.items() if sure >= CALLED} == CALLING
    assert set(REASONS) == set(SURE) == set(Manner)
