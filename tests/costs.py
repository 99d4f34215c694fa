"""Checks costs independently of the machine: compares inputs of different lengths, not seconds."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time, sleep

_NOISE = 0.005
"""Seconds below which a cost is noise."""
_ATTEMPTS = 10
"""Number of attempts, of which the best counts: a busy machine makes work slower, never faster."""
_PAUSE = 0.2


def seconds(work: Callable[[], object]) -> float:
    """Seconds of processor time that a function takes."""
    start = process_time()
    work()
    return process_time() - start


def check_growth(cost: Callable[[int], float]) -> None:
    """Fail if an input that is four times as long costs more than ten times as much.

    Args:
        cost: Gives the seconds for an input that is so many times as long.
    """
    costs = {1: float("inf"), 4: float("inf")}
    for attempt in range(_ATTEMPTS):
        sleep(_PAUSE * attempt)
        for times in costs:
            costs[times] = min(costs[times], cost(times))
        if costs[4] < 10 * max(costs[1], _NOISE):
            return
    raise AssertionError(f"four times the length cost {costs[4] / costs[1]:.0f} times as much")
