"""How long reports of large exports take, and how much memory.

    python benchmarks/report.py RECORD [--messages 100000] [--seed 0]

The exports are generated, each with different random numbers: one of Slack with three channels and a file
per day, one of Telegram with three chats, and IRC logs of three channels with a file per day. `towhom
report` reads each in a new process, whose processor time and memory are measured; before that it reads a
quarter of the export, to show how memory grows. The page is opened in Chromium, if it is installed, to
measure how long that takes. Run it from the project's root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from towhom.records import circumstances, write_record

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.readers.exports import zipped
from tests.workspace import Workspace, workspace


def main() -> None:
    """Make exports, report on them, and write the costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("record", type=Path)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(_EXPORTS):
            for messages in (options.messages // 4, options.messages):
                runs.append(_run(Path(folder), name, options.seed + number, messages))
                print(runs[-1], flush=True)
    load = os.getloadavg()[2]
    total = round(sum(run["processor_seconds"] for run in runs), 1)
    record = {**circumstances(), "seed": options.seed, "load": round(load, 1), "runs": runs}
    write_record(options.record, record | {"processor_seconds": total})


def _slack(made: Workspace) -> dict[str, bytes]:
    return made.files


def _telegram(made: Workspace) -> dict[str, bytes]:
    chats: dict[str, list[dict[str, Any]]] = {}
    numbers: dict[tuple[str, str], int] = {}
    for channel, name, message in _said(made):
        chat = chats.setdefault(channel, [])
        number = numbers[channel, message["ts"]] = len(chat) + 1
        time = datetime.fromtimestamp(float(message["ts"]), UTC)
        told = {
            "id": number, "type": "message", "date": f"{time:%Y-%m-%dT%H:%M:%S}",
            "date_unixtime": f"{time.timestamp():.0f}", "from": name, "from_id": f"user{name}",
            "text": message["text"],
        }  # fmt: skip
        answered = numbers.get((channel, message.get("thread_ts", "")), number)
        chat.append(told if answered == number else told | {"reply_to_message_id": answered})
    listed = [
        {"name": name, "type": "private_supergroup", "id": number, "messages": messages}
        for number, (name, messages) in enumerate(chats.items())
    ]
    return {"result.json": json.dumps({"chats": {"about": "", "list": listed}}).encode()}


def _irc(made: Workspace) -> dict[str, bytes]:
    files: dict[str, list[str]] = {}
    for channel, name, message in _said(made):
        time = datetime.fromtimestamp(float(message["ts"]), UTC)
        lines = files.setdefault(f"#{channel}.{time:%Y-%m-%d}.log", [])
        lines.append(f"[{time:%H:%M:%S}] <{name.replace(' ', '_')}> {message['text']}")
    return {name: "\n".join(lines).encode() for name, lines in files.items()}


def _said(made: Workspace) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Channel, speaker and message of everything that people said, with names in place of identifiers."""
    names = {each["id"]: each["profile"]["display_name"] for each in json.loads(made.files["users.json"])}
    for file, content in made.files.items():
        channel, _, day = file.partition("/")
        for message in json.loads(content) if day else ():
            if message.get("user") in names and "text" in message:
                text = _MENTION.sub(lambda found: f"{names.get(found[1], found[1])}:", message["text"])
                yield channel, names[message["user"]], message | {"text": text}


_MENTION = re.compile("<@(\\w+)>")
_EXPORTS = {"Slack": _slack, "Telegram": _telegram, "IRC": _irc}


def _make(export: Path, name: str, seed: int, messages: int) -> int:
    made = workspace(seed=seed, messages=messages, days=max(messages // 250, 21))
    export.write_bytes(zipped(_EXPORTS[name](made)))
    return made.count


def _run(folder: Path, name: str, seed: int, messages: int) -> dict[str, Any]:
    export, page = folder / f"{name}.zip", folder / f"{name}.html"
    # In another process, since the memory of a parent would be counted as that of its children.
    with get_context("spawn").Pool(1) as pool:
        said = pool.apply(_make, (export, name, seed, messages))
    command = [sys.executable, "-m", "towhom", "report", str(export), "-o", str(page)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the report of {name} failed")
    return {
        "export": name,
        "messages": said,
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "largest_memory_megabytes": used.ru_maxrss // 1024,
        "page_kilobytes": page.stat().st_size // 1024,
        "milliseconds_to_open": _opened(page),
    }


def _opened(page: Path) -> int | None:
    """The time until a browser has loaded the whole page; None without a browser."""
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
