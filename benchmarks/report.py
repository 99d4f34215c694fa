"""How long a report of a large export takes, and how much memory.

    python benchmarks/report.py RECORD [--messages 100000] [--exports 3] [--seed 0]

Exports are made up, each with other random numbers: Slack's, three channels, a file a day. Each goes through
`towhom report` in a process of its own, which says how much processor time and memory it took; the page is
then opened in Chromium, if there is one, which says how long that takes. Run it from the project's root.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from towhom.records import circumstances, write_record

sys.path.insert(0, str(Path(__file__).parent.parent))


def main() -> None:
    """Make exports, report on them, write what it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("record", type=Path)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--exports", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.exports):
            runs.append(_run(Path(folder), options.seed + number, options.messages))
            print(runs[-1], flush=True)
    load = os.getloadavg()[2]
    total = round(sum(run["processor_seconds"] for run in runs), 1)
    record = {**circumstances(), "seed": options.seed, "load": round(load, 1), "runs": runs}
    write_record(options.record, record | {"processor_seconds": total})


def _run(folder: Path, seed: int, messages: int) -> dict[str, Any]:
    from tests.readers.exports import zipped
    from tests.workspace import workspace

    made = workspace(seed=seed, messages=messages, days=max(messages // 250, 21))
    export, page = folder / f"export-{seed}.zip", folder / f"report-{seed}.html"
    export.write_bytes(zipped(made.files))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "towhom", "report", str(export), "-o", str(page)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "messages": made.count,
        "processor_seconds": round(seconds, 1),
        "largest_memory_megabytes": after.ru_maxrss // 1024,
        "page_kilobytes": page.stat().st_size // 1024,
        "milliseconds_to_open": _opened(page),
    }


def _opened(page: Path) -> int | None:
    """How long a browser takes until the page is there, all of it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page()
        opened.goto(page.as_uri())
        took: float = opened.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        browser.close()
    return round(took)


if __name__ == "__main__":
    main()
