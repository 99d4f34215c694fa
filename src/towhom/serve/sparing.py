"""Keeps clients from flooding the log: repeated lines are limited, and those left out are counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

log = logging.getLogger("towhom.serve")

_LINES = 10
"""Maximum lines of a kind per second."""


class Sparing(logging.Filter):
    """Limits lines of the same kind: warnings, errors, and refused requests (`extra={"few": True}`).

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}
        """Message format of a line -> start of its current second, and number of lines since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        if record.levelno < logging.WARNING and not getattr(record, "few", False):
            return True
        now, kind = self._clock(), record.msg
        since, count = self._kinds.get(kind, (now, 0))
        left_out = max(0, count - _LINES)
        if now - since >= 1:
            since, count = now, 0
            if left_out:
                log.warning("%d lines like the next were left out", left_out)
        self._kinds[kind] = since, count + 1
        return count < _LINES
