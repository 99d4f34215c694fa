"""Attacks towhom for some minutes, on this machine alone, and says what it did not stand.

`make attack SECONDS=60` takes about a minute. Each run has other random numbers; the seed is printed, and a
try that fails is printed with the options that repeat it.
"""

from __future__ import annotations

import argparse
import os
import sys
from random import SystemRandom

from tools.attack import logs, server, states, writing
from tools.attack.attack import Attack, run

ATTACKS: dict[str, Attack] = {
    "hostile logs": logs.hostile,
    "damaged states": states.damaged,
    "killed before every call": writing.killed_everywhere,
    "killed at any moment": writing.killed_anywhere,
    "full disk": writing.full_disk,
    "full disk, commands": writing.full_disk_of_commands,
    "server killed": server.killed,
    "workers killed": server.workers_killed,
    "workers halted": server.workers_halted,
    "clock jumps": server.clock_jumps,
    "half-open connections": server.half_open_connections,
    "slow bodies": server.slow_bodies,
    "malformed HTTP": server.malformed,
    "hostile JSON": server.hostile_json,
    "hostile files": server.hostile_files,
    "database lost": server.database_lost,
    "full disk, server": server.full_disk,
}


def main() -> int:
    """Run the attacks; returns the exit code, which is 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=300, help="for all together, about (default: 300)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6), help="of a run before")
    parser.add_argument("--only", choices=list(ATTACKS), action="append", help="this attack; may be repeated")
    parser.add_argument("--try", type=int, dest="number", help="a single try, by its number")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    names = arguments.only or list(ATTACKS)
    print(f"seed {arguments.seed}", flush=True)
    print(f"{'attack':<26}{'tries':>8}{'failed':>8}{'seconds':>9}")
    failed = 0
    for name in names:
        seconds = arguments.seconds / len(names)
        outcome = run(name, ATTACKS[name], seed=arguments.seed, seconds=seconds, only=arguments.number)
        print(f"{name:<26}{outcome.tries:>8,}{outcome.failures:>8,}{outcome.seconds:>9.1f}", flush=True)
        failed += outcome.failures
    print(f"{failed:,} failed: run it again with --seed {arguments.seed}" if failed else "nothing failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
