"""What an attack is, and how one is run for some time."""

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
"""Does something hostile, drawn from random numbers; says how many things it did, raises what went wrong."""
Attack = Callable[[Path], AbstractContextManager[Try]]
"""Makes ready in an empty folder, gives its tries, and clears up."""

_PATIENCE = 120
"""Seconds after which a try hangs."""
_ENOUGH = 10
"""After so many failures there is no point in going on."""


class Outcome(NamedTuple):
    """What came of an attack."""

    tries: int
    failures: int
    seconds: float


def run(name: str, attack: Attack, *, seed: int, seconds: float, only: int | None = None) -> Outcome:
    """Try again and again, at least once, until the time is over; print what fails.

    Args:
        name: Of the attack.
        attack: What to do.
        seed: Each try has random numbers of its own, from this, the name, and its number.
        seconds: After so many, no try is begun.
        only: The number of a single try.
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
    except Exception:  # before the first try, or after the last
        failures += 1
        print(f"-- again: --only '{name}' --seed {seed}\n{traceback.format_exc()}")
    return Outcome(tries, failures, time.monotonic() - begin)


@contextmanager
def _patience() -> Iterator[None]:
    """A try that hangs fails."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"it took longer than {_PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
