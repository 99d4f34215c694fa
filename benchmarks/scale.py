"""What `threads --into` costs at scale: runs with one and two workers, costs of each step, and a model.

    python benchmarks/scale.py RECORD LOG... [--messages 2000000] [--folder FOLDER]
    python benchmarks/scale.py RECORD --model

The first command measures and writes the record, on messages of real rooms, repeated under other room names
as often as needed. After an interruption, the same command with the same folder continues from the stored
measurements; an interrupted run is repeated, since its time counts. The second command computes from the
record what a billion messages cost on 16 machines. Costs are seconds of processor time, so that other work
on the machine matters little; the efficiency of two workers is by the clock and needs an idle machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from towhom.batch.inputs import bundles, find_inputs, rooms_of
from towhom.batch.layout import Layout
from towhom.batch.rows import encode
from towhom.batch.segments import Segment, decoded
from towhom.batch.settings import PART, WARM_UP, Command, Output, Settings
from towhom.batch.work import read_bundle
from towhom.chat import Kind, Message
from towhom.clusters import open_pool
from towhom.live.model import load_live
from towhom.live.reading import answers, thread_record
from towhom.places import Place
from towhom.readers import read_messages
from towhom.records import circumstances, describe_data, read_record, write_record
from towhom.wire import to_json

ROOM = 60_000
"""Number of messages per room; each room is a file."""
TASKS = 1_000
MACHINES, CORES, MESSAGES = 16, 16, 1_000_000_000
PUT_GET = 0.05
"""Seconds to wait for a request to an object store, by its vendors' figures."""
REQUESTS = 3_500
"""Writes per second that S3 guarantees for a prefix."""


def write_logs(folder: Path, logs: list[Path], messages: int) -> int:
    """Write rooms of real messages, one file each; returns their size in bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    source = _repeated(logs)
    for room in range(-(-messages // ROOM)):
        with (folder / f"room-{room:03}.jsonl").open("w", encoding="utf-8") as file:
            for message in islice(source, min(ROOM, messages - room * ROOM)):
                file.write(to_json(replace(message, channel=f"room {room}")) + "\n")
    return sum(path.stat().st_size for path in folder.iterdir())


def _repeated(logs: list[Path]) -> Iterator[Message]:
    while True:
        for log in logs:
            yield from (each for each in read_messages(log) if each.kind not in (Kind.DAY, Kind.SYSTEM))


def run(logs: list[Path], out: Path, workers: int) -> dict[str, Any]:
    """The costs of a run: seconds by the clock and of processors, and the memory of its largest process."""
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable, "-m", "towhom", "threads", *map(str, logs), "--into", str(out),
        "--cluster", f"local:{workers}",
    ]  # fmt: skip
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("a run failed")
    parts = list(out.glob("part-*"))
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "largest_process_mb": used.ru_maxrss / 1024,
        "load": os.getloadavg()[0],
        "bytes": sum(path.stat().st_size for path in parts),
        "parts": len(parts),
        "sha256": _digest(parts),
    }


def _digest(parts: list[Path]) -> str:
    """A hash of the names and contents of all parts."""
    digest = hashlib.sha256()
    for part in sorted(parts):
        digest.update(f"{part.name} {hashlib.sha256(part.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def steps(logs: Path, out: Path, part: int) -> dict[str, float]:
    """Seconds of processor time of each step per message."""
    shutil.rmtree(out, ignore_errors=True)
    model = load_live()
    settings = Settings(
        command=Command.THREADS, output=Output.PARQUET, model=None, fingerprint=model.saved.fingerprint,
        part=part,
    )  # fmt: skip
    layout = Layout(Place(str(out)), "parquet")
    bundle = next(bundles(rooms_of(find_inputs([str(next(logs.iterdir()))], None)), several=False))
    start = time.process_time()
    index = read_bundle(bundle, settings, layout)
    read = time.process_time() - start
    segment = Segment.of(layout.segment(bundle.name, 0).read())
    size = sum(each.stat().st_size for each in (out / "_towhom" / "segments").iterdir())
    start = time.process_time()
    room = segment.runs[0].room
    lines = [decoded(line, room).located for line in segment.runs[0].lines]
    decode = time.process_time() - start
    start = time.process_time()
    answered = list(answers(model, lines))
    compute = time.process_time() - start
    encode([], Command.THREADS, Output.PARQUET)  # imports happen once per process
    start = time.process_time()
    encode([thread_record(each) for each in answered], Command.THREADS, Output.PARQUET)
    write = time.process_time() - start
    count = len(lines)
    return {
        "read": read / index.lines, "decode": decode / count, "compute": compute / count,
        "write": write / count, "segment_bytes": size / index.lines,
    }  # fmt: skip


def _nothing(number: int) -> int:
    return number


def scheduling() -> float:
    """Seconds of processor time per task in the scheduler and the client, which share a process."""
    with open_pool("local:2") as pool:
        start = time.process_time()
        for future in [pool.executor.submit(_nothing, number) for number in range(TASKS)]:
            future.result()
        return (time.process_time() - start) / TASKS


def measure(record: Path, logs: list[Path], messages: int, folder: Path) -> None:
    """Measure what has not been measured yet, and write the record."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"messages": messages, "logs": [str(log) for log in logs], "commit": circumstances()["commit"]}
    kept = folder / "measured.json"
    told: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else about
    if {key: told[key] for key in about} != about:
        raise SystemExit(f"{folder}: holds what was measured otherwise; remove it, or name another --folder")

    def once(name: str, value: Callable[[], Any]) -> None:
        if name not in told:
            print(f"{name} ...", flush=True)
            told[name] = value()
            print(f"{name}: {told[name]}", flush=True)
            kept.write_text(json.dumps(told))

    once("bytes", lambda: write_logs(folder / "logs", logs, messages))
    once("steps", lambda: steps(folder / "logs", folder / "steps", min(10_000, messages // 3)))
    once("task", scheduling)
    rooms = sorted((folder / "logs").iterdir())
    once("a room", lambda: {"messages": ROOM, **run(rooms[:1], folder / "out", 1)})
    once("two", lambda: run(rooms, folder / "out", 2))
    once("one", lambda: run(rooms, folder / "out", 1))
    told["same_bytes"] = told["one"]["sha256"] == told["two"]["sha256"]
    told["efficiency"] = {
        "of the clock": told["one"]["seconds"] / told["two"]["seconds"] / 2,
        "of the processors": told["one"]["cpu_seconds"] / told["two"]["cpu_seconds"],
    }
    write_record(record, {**circumstances(), "data": describe_data(logs), **told})
    shutil.rmtree(folder)


def model(told: dict[str, Any], *, cores: int = CORES, part: int = PART) -> dict[str, float]:
    """The costs of a billion messages, computed from those of one."""
    costs, parts = told["steps"], MESSAGES / part
    work = costs["decode"] + costs["compute"] + costs["write"]
    warm_up = work * WARM_UP / part
    join = costs["decode"] + costs["write"]  # rows of rooms that are cut are written twice
    cpu = MESSAGES * (costs["read"] + work + warm_up + join)
    tasks = 3 * parts  # read or cut, work, finish
    requests = 8 * parts  # segment, rows, ends, part: each is written once, and read or listed once
    waiting = requests * PUT_GET
    places = MACHINES * cores
    hours = (cpu + waiting) / places / 3600
    return {
        "cpu_hours": cpu / 3600,
        "hours": hours,
        "compute_share": MESSAGES * costs["compute"] / cpu,
        "seconds_a_part": cpu / parts,
        "parts": parts,
        "read_tb": MESSAGES * told["bytes"] / told["messages"] / 1e12,
        "between_tb": MESSAGES * costs["segment_bytes"] / 1e12,
        "written_tb": MESSAGES * told["one"]["bytes"] / told["messages"] / 1e12,
        "scheduler_share": tasks * told["task"] / (hours * 3600),
        "requests_a_second": requests / (hours * 3600),
        "cores_that_one_scheduler_feeds": cpu / tasks / told["task"],
        "smallest_part": told["task"] * 3 * places / (cpu / MESSAGES) * 10,
        "one_file_messages_an_hour": 3600 / costs["read"],
    }


def show(record: Path) -> None:
    """Print the computed costs for several sizes of parts."""
    told = read_record(record)
    sizes = (1_000, 10_000, PART, 500_000)
    found = [model(told, part=part) for part in sizes]
    print(f"{'lines of a part':32}" + "".join(f"{part:>12,}" for part in sizes))
    for key in found[0]:
        print(f"{key:32}" + "".join(f"{each[key]:>12,.3f}" for each in found))


def main() -> None:
    """Measure, or compute from measured costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("record", type=Path)
    parser.add_argument("logs", type=Path, nargs="*")
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "towhom-scale")
    parser.add_argument("--model", action="store_true")
    arguments = parser.parse_args()
    if not arguments.model and not arguments.logs:
        parser.error("name logs whose messages are taken")
    if arguments.model:
        show(arguments.record)
    else:
        measure(arguments.record, arguments.logs, arguments.messages, arguments.folder)


if __name__ == "__main__":
    main()
