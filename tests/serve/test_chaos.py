"""Three servers, of which one is killed every few seconds, and a database that is restarted."""

from __future__ import annotations

from pathlib import Path

from tests.serve.chaos import Chaos, Fleet, attacked
from tests.serve.databases import Postgres


def test_nothing_acknowledged_is_lost_or_doubled(postgres: Postgres, database: str, tmp_path: Path) -> None:
    """A minute of this with a thousand rooms is benchmarks/chaos.py."""
    with Fleet(tmp_path, database, 3, "--workers", "1", "--lease", "1") as fleet:
        chaos = Chaos(fleet, rooms=50, clients=6, pause=0.1, seed=1)
        attacked(chaos, fleet, postgres, seconds=12, every=3, followers=2)
        assert fleet.kills >= 2
        assert chaos.count > 50
        chaos.check(compared=50)
