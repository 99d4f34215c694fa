"""A limit on how many requests come from one client."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from time import monotonic

from towhom.serve.problems import Problem

_BURST = 2.0
"""Seconds' worth of requests that may come at once."""
_CLIENTS = 10_000


class RateLimit:
    """A token bucket for each client, which refills at a steady rate.

    Args:
        rate: Requests per second; 0 for no limit.
        clock: Returns the time in seconds.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._most = max(1.0, rate * _BURST)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request.

        Raises:
            Problem: The client sent too many.
        """
        if not self._rate:
            return
        now = self._clock()
        level, since = self._buckets.pop(client, (self._most, now))
        level = min(self._most, level + (now - since) * self._rate)
        allowed = level >= 1
        self._buckets[client] = (level - allowed, now)
        if len(self._buckets) > _CLIENTS:  # the longest-idle client, whose bucket is probably full
            self._buckets.popitem(last=False)
        if not allowed:
            wait = ceil((1 - level) / self._rate)
            sentence = f"More than {self._rate:g} requests a second; wait as long as Retry-After says."
            raise Problem(429, "too-many-requests", sentence, headers={"Retry-After": str(wait)})
