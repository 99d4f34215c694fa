"""Defines attacks, and runs one for some time."""

from __future__ import annotations

import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

Try = Callable[[Random], int]
"""Does something hostile, chosen at random. Returns the number of things it did; raises on a failure."""
Attack = Callable[[Path], AbstractContextManager[Try]]
"""Prepares an empty folder, yields the function for tries, and cleans up."""

_PATIENCE = 120
"""Seconds after which a try counts as hanging."""
_ENOUGH = 10
"""Number of failures after which an attack stops."""


class Outcome(NamedTuple):
    """The result of an attack."""

    tries: int
    failures: int
    seconds: float


def run(name: str, attack: Attack, *, seed: int, seconds: float, only: int | None = None) -> Outcome:
    """Run tries until the time is over, at least one; print those that fail.

    Args:
        name: The name of the attack.
        attack: The attack.
        seed: With the name and the number of a try, the seed of the try's random numbers.
        seconds: After so many seconds, no new try is started.
        only: The number of the only try to run; None for all.
    """
    begin = time.monotonic()
    tries = failures = 0
    number = only or 0
    try:
        with tempfile.TemporaryDirectory() as folder, attack(Path(folder)) as attempt:
            while True:
                try:
                    with _patience():
                        tries += attempt(Random(f"{seed} {name} {number}"))
                except Exception:
                    tries, failures = tries + 1, failures + 1
                    print(f"-- again: --only '{name}' --seed {seed} --try {number}\n{traceback.format_exc()}")
                number += 1
                if only is not None or failures >= _ENOUGH or time.monotonic() - begin > seconds:
                    break
    except Exception:  # while preparing or cleaning up
        failures += 1
        print(f"-- again: --only '{name}' --seed {seed}\n{traceback.format_exc()}")
    return Outcome(tries, failures, time.monotonic() - begin)


@contextmanager
def _patience() -> Iterator[None]:
    """Let a try that hangs fail."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"it took longer than {_PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
