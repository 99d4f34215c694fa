"""Measures the cost of `towhom who` on an idle machine, and on one where every core is busy.

    python benchmarks/busy.py LOG --json results/busy.json

CPU time is user and system time of the whole process: it includes threads that wait for each other by
spinning, but no time of other processes. Runs take turns. "own threads" is the same with as many threads of
OpenBLAS as there are cores, which is NumPy's default, but not towhom's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from towhom.records import circumstances, write_record

_SPIN = "while True: pass"
_TOLD = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def busy() -> Iterator[None]:
    """Run a process for each core that does nothing but compute."""
    with ExitStack() as stack:
        for _ in range(cores()):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _SPIN]))
            stack.callback(process.kill)
        yield


def cost(log: Path, environment: dict[str, str]) -> dict[str, float]:
    """Seconds that one run takes."""
    begin = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "towhom", "who", str(log)], stdout=subprocess.DEVNULL, env=environment
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"towhom who {log} ended with {process.returncode}")
    return {"cpu": used.ru_utime + used.ru_stime, "wall": perf_counter() - begin}


def measure(log: Path, rounds: int) -> dict[str, Any]:
    """Medians of both ways, idle and busy, and the ratio of busy to idle."""
    plain = {name: value for name, value in os.environ.items() if name not in _TOLD}
    ways = {"towhom": plain, "own threads": {**plain, "OPENBLAS_NUM_THREADS": str(cores())}}
    runs: dict[str, dict[str, list[dict[str, float]]]] = {way: {"idle": [], "busy": []} for way in ways}
    for _ in range(rounds):
        for way, environment in ways.items():
            runs[way]["idle"].append(cost(log, environment))
            with busy():
                runs[way]["busy"].append(cost(log, environment))
    found: dict[str, Any] = {}
    for way, by_state in runs.items():
        seconds = {
            state: {kind: round(statistics.median(run[kind] for run in each), 2) for kind in ("cpu", "wall")}
            for state, each in by_state.items()
        }
        ratio = round(seconds["busy"]["cpu"] / seconds["idle"]["cpu"], 2)
        found[way] = {**seconds, "ratio_of_cpu": ratio}
    return found


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description="What `towhom who` costs beside busy processes.")
    parser.add_argument("log", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options.log, options.rounds)
    for way, each in found.items():
        print(f"{way:12} idle {each['idle']}  busy {each['busy']}  ratio of CPU time {each['ratio_of_cpu']}")
    if options.json:
        record = {**circumstances(), "log": str(options.log), "rounds": options.rounds, "seconds": found}
        write_record(options.json, record)


if __name__ == "__main__":
    main()
