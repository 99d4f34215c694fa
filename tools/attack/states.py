"""Damaged states of sessions: they are refused, or the session works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.live.damage import FUZZED, assert_refused_or_works
from tests.live.damage import damaged as damaged_state

from tools.attack.attack import Try


@contextmanager
def damaged(folder: Path) -> Iterator[Try]:
    """Move, remove or replace one or two values."""

    def attempt(random: Random) -> int:
        assert_refused_or_works(random.choice(FUZZED), damaged_state(random))
        return 1

    yield attempt
