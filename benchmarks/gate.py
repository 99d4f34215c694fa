"""Measures a bot behind `towhom.Gate` in annotated rooms, the lag of its event loop, and its memory.

    python benchmarks/gate.py answering results/gate-answering.json
    python benchmarks/gate.py cost results/gate.json [--rooms 50] [--rate 200] [--seconds 20]

The rooms are those of benchmarks/data. The bot's own messages come from the file, whatever the gate decides:
each message is judged as if all earlier ones had been answered correctly. The gate is compared with a bot
that answers everything, one that answers whenever its name occurs or one of its messages gets a reply, and
one that answers only messages with its name in front.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from towhom import Gate, Message, Presence
from towhom.records import circumstances, describe_data, write_record

DATA = Path(__file__).parent / "data"
ROOMS = {
    "first": DATA / "gate_room.txt",
    "second": DATA / "gate_room_2.txt",
    "third": DATA / "gate_room_3.txt",
    "fourth": DATA / "gate_room_4.txt",
}
ME = {"first": "juno", "second": "mochi", "third": "wren", "fourth": "krümel"}
COMMANDS = {"wren": ("/ask",)}
BOTS = ("atlas", "ledger", "dicebot", "lootbot", "melody", "kassenbot", *ME.values())
_LINE = re.compile(r"(\d+) ([-+~.]) (\S+): (.*)")
_TAG = re.compile(r" \[(id|re)=(\w+)\]")
_BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Told(NamedTuple):
    """A message, and whether the bot should answer it; None if both are right."""

    message: Message
    turn: bool | None


def read_room(path: Path) -> list[Told]:
    """The messages of a room, with their labels."""
    told, moment = [], _BEGIN
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise SystemExit(f"{path}:{number}: not a line of the room")
        seconds, mark, speaker, text = match.groups()
        tags = dict(_TAG.findall(text))
        moment += timedelta(seconds=int(seconds))
        message = Message(
            speaker,
            _TAG.sub("", text),
            time=moment,
            id=tags.get("id", f"line {number}"),
            reply_to=tags.get("re"),
            channel="club",
            bot=speaker in BOTS,
        )
        told.append(Told(message, {"+": True, "-": False}.get(mark)))
    return told


async def judged(told: list[Told], me: str, **policy: Any) -> list[bool]:
    """Whether the gate decides to answer each message."""
    gate = Gate(me, commands=COMMANDS.get(me, ()), **policy)
    for speaker in dict.fromkeys((me, *(each.message.speaker for each in told))):
        await gate.hear(Presence(speaker, "club", bot=speaker in BOTS))
    return [bool(await gate.hear(each.message)) for each in told]


def figures(told: list[Told], answers: Iterable[bool]) -> dict[str, Any]:
    """Precision and recall of answering."""
    pairs = [(each.turn, yes) for each, yes in zip(told, answers, strict=True) if each.turn is not None]
    right = sum(turn and yes for turn, yes in pairs)
    spoken, turns = sum(yes for _, yes in pairs), sum(bool(turn) for turn, _ in pairs)
    return {
        "answered": spoken,
        "right": right,
        "precision": round(right / spoken, 4) if spoken else None,
        "recall": round(right / turns, 4),
    }


def compare(told: list[Told], me: str) -> dict[str, Any]:
    """The results of the gate and of simple rules."""
    own = {each.message.id for each in told if each.message.speaker == me}
    name = re.compile(rf"\b{me}\b", re.IGNORECASE)
    front = re.compile(rf"@?{me}\b", re.IGNORECASE)
    others = [each.message.speaker not in BOTS for each in told]

    def rule(test: Callable[[Message], bool]) -> dict[str, Any]:
        return figures(told, [other and test(each.message) for each, other in zip(told, others, strict=True)])

    answers = asyncio.run(judged(told, me))
    wrong = [
        f"{each.message.id}: {each.message.speaker}: {each.message.text} ({'answered' if yes else 'silent'})"
        for each, yes in zip(told, answers, strict=True)
        if each.turn is not None and each.turn != yes
    ]
    return {
        "messages": len(told),
        "counted": sum(each.turn is not None for each in told),
        "the bot's turn": sum(bool(each.turn) for each in told),
        "gate": figures(told, answers),
        "gate by threshold": {
            str(threshold): figures(told, asyncio.run(judged(told, me, threshold=threshold)))
            for threshold in (0.2, 0.5, 0.8)
        },
        "gate, remarks answered": figures(told, asyncio.run(judged(told, me, remarks=True))),
        "gate, only when called": figures(told, asyncio.run(judged(told, me, only_called=True))),
        "answer everything": rule(lambda _: True),
        "answer every mention": rule(
            lambda message: bool(name.search(message.text)) or message.reply_to in own
        ),
        "answer the name in front": rule(lambda message: bool(front.match(message.text))),
        "wrong": wrong,
    }


async def lag(
    told: list[Told], rooms: int, rate: float, seconds: float, folder: str | None
) -> dict[str, Any]:
    """The lag of the event loop and the time of verdicts, under a load of many rooms."""
    gate = Gate(ME["first"], folder=folder)
    for each in told:  # loads the word lists of all its languages
        await gate.hear(each.message)
    for number in range(rooms):  # the model and the rooms are loaded before the measurement
        await gate.hear(replace(told[0].message, channel=f"room {number}", id="first"))
    late: list[float] = []
    took: list[float] = []
    done = asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            due = time.perf_counter() + 0.01
            await asyncio.sleep(0.01)
            late.append(time.perf_counter() - due)

    async def hear(message: Message) -> None:
        begun = time.perf_counter()
        await gate.hear(message)
        took.append(time.perf_counter() - begun)

    watching = asyncio.create_task(watch())
    processor = time.process_time()
    start, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(start + number / rate - time.perf_counter(), 0))
        message = told[1 + number // rooms % (len(told) - 1)].message
        tasks.append(
            asyncio.create_task(
                hear(replace(message, channel=f"room {number % rooms}", id=str(number), reply_to=None))
            )
        )
    sent = time.perf_counter() - start
    await asyncio.gather(*tasks)
    done.set()
    await watching
    processor = time.process_time() - processor
    return {
        "rooms": rooms,
        "messages a second": round(len(tasks) / sent, 1),
        "messages": len(tasks),
        "kept on disk": folder is not None,
        "load of the machine": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
        "niceness": os.nice(0),
        "processor time a message, ms": round(1000 * processor / len(tasks), 2),
        "loop lag, ms": quantiles(late),
        "message to verdict, ms": quantiles(took),
    }


def quantiles(seconds: list[float]) -> dict[str, float]:
    """The median, the 99th percentile and the maximum, in milliseconds."""
    cut = statistics.quantiles(seconds, n=100)
    return {
        name: round(value * 1000, 2)
        for name, value in (("p50", cut[49]), ("p99", cut[98]), ("most", max(seconds)))
    }


async def memory(told: list[Told], rooms: int, messages: int) -> dict[str, Any]:
    """The memory of rooms, without that of the model."""
    gate = Gate(ME["first"], max_rooms=rooms)
    await gate.hear(told[0].message)
    before = resident()
    for number in range(rooms):
        for each in told[:messages]:
            await gate.hear(replace(each.message, channel=f"room {number}"))
    grown = resident() - before
    return {
        "rooms": rooms,
        "messages a room": messages,
        "MB": round(grown / 1e6, 1),
        "kB a room": round(grown / rooms / 1e3, 1),
    }


def resident() -> int:
    """Bytes of memory that the process uses."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure how well the gate decides, or what it costs, with each part in a new process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["answering", "cost"])
    parser.add_argument("record", type=Path)
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    told = read_room(ROOMS["first"])
    if arguments.part:
        parts: dict[str, Callable[[], Any]] = {
            "lag": lambda: lag(told, arguments.rooms, arguments.rate, arguments.seconds, None),
            "lag, a tenth": lambda: lag(told, arguments.rooms, arguments.rate / 10, arguments.seconds, None),
            "lag, kept": lambda: lag(
                told, arguments.rooms, arguments.rate, arguments.seconds, str(arguments.record)
            ),
            "memory": lambda: memory(told, 1000, 10),
            "memory, full": lambda: memory(told, 50, 150),
        }
        print(json.dumps(asyncio.run(parts[arguments.part]())))
        return
    record: dict[str, Any] = {
        **circumstances(),
        "data": describe_data([os.path.relpath(path) for path in ROOMS.values()]),
    }
    if arguments.what == "answering":
        for name, path in ROOMS.items():
            record[f"answering, {name} room"] = compare(read_room(path), ME[name])
            print(name, json.dumps(record[f"answering, {name} room"], indent=1, ensure_ascii=False))
    else:
        for part in ("lag", "lag, a tenth", "lag, kept", "memory", "memory, full"):
            record[part] = _apart(part, arguments)
            print(part, record[part])
    write_record(arguments.record, record)


def _apart(part: str, arguments: argparse.Namespace) -> Any:
    """Run a part in a new process."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        options = [
            "--rooms",
            str(arguments.rooms),
            "--rate",
            str(arguments.rate),
            "--seconds",
            str(arguments.seconds),
        ]
        done = subprocess.run(
            [sys.executable, __file__, "cost", folder, "--part", part, *options],
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
