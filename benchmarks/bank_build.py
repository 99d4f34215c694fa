"""What it takes to build a bank: processor time, memory, bytes; killed in the middle and gone on with.

    python benchmarks/bank_build.py BANK LOG... --kill-after 50 --small LOG --json RECORD

After so many parts, the run is killed as `kill -9` does it, and started again. Of the small logs, a bank is
built with one worker and with two, and their bytes are compared.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from towhom.bank import Bank
from towhom.records import circumstances, describe_data, write_record


def main() -> None:
    """Build, kill, continue, compare, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--kill-after", type=int, default=50)
    parser.add_argument("--small", type=Path, nargs="+", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    circumstanced = circumstances()
    runs = [_run(options.bank, options.logs, kill_after=options.kill_after), _run(options.bank, options.logs)]
    bank = Bank(options.bank)
    bank.check()
    record: dict[str, Any] = {
        **circumstanced, "seed": None, "data": describe_data(options.logs), "workers": 1, "runs": runs,
        "responses": len(bank), "bytes": _size(options.bank),
        "processor_minutes": round(sum(run["processor_seconds"] for run in runs) / 60, 2),
        "peak_megabytes": max(run["peak_megabytes"] for run in runs),
    }  # fmt: skip
    if options.small:
        with tempfile.TemporaryDirectory(dir=options.bank.parent) as folder:
            banks = [Path(folder) / str(workers) for workers in (1, 2)]
            for workers, path in enumerate(banks, 1):
                _run(path, options.small, workers=workers)
            record["small"] = {
                "data": describe_data(options.small), "responses": len(Bank(banks[0])),
                "the same bytes with 1 and 2 workers": _contents(banks[0]) == _contents(banks[1]),
            }  # fmt: skip
    print({name: value for name, value in record.items() if name not in circumstanced and name != "data"})
    if options.json:
        write_record(options.json, record)


def _run(bank: Path, logs: list[Path], *, workers: int = 1, kill_after: int | None = None) -> dict[str, Any]:
    """Build a bank in a new process; returns what it cost."""
    command = [sys.executable, "-m", "towhom", "bank", "build", str(bank), *map(str, logs), "--quiet"]
    running = subprocess.Popen([*command, "--workers", str(workers)])
    parts = bank.with_name(f"{bank.name}.parts")
    killed = False
    while True:
        pid, status, used = os.wait4(running.pid, os.WNOHANG)
        if pid:
            break
        if kill_after and not killed and len(list(parts.glob("*.safetensors"))) >= kill_after:
            os.kill(running.pid, signal.SIGKILL)
            killed = True
        time.sleep(0.2)
    if status and not killed:
        raise SystemExit(f"building failed with status {status}")
    return {
        "killed": killed,
        "parts_when_done": len(list(parts.glob("*.safetensors"))),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_megabytes": round(used.ru_maxrss / 1024),
    }


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
