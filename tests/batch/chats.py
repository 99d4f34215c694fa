"""Chats that are long enough to be cut, and what a folder of results holds."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

_PEOPLE = ("ada", "bob", "cyd", "dee", "eli", "fay", "gus", "hal")
_WORDS = ["kettle", "lamp", "bolt", "paint", "rope", "glue", "saw", "drill", "board", "wheel"]


def write_room(path: Path, lines: int, seed: int = 0) -> Path:
    """An IRC log of people who ask and answer."""
    numbers = random.Random(seed)
    log: list[str] = []
    for number in range(lines):
        who, to = numbers.sample(_PEOPLE, 2)
        thing = numbers.choice(_WORDS)
        text = numbers.choice((f"{to}: where is the {thing}?", f"{to}: on the {thing}", f"the {thing} broke"))
        log.append(f"[{number // 60 % 24:02}:{number % 60:02}] <{who}> {text}")
        if number % 50 == 49:
            log.append(f"=== {who} [~x@example.org] has joined #shed")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(log) + "\n", "utf-8")
    return path


def write_rooms(path: Path, rooms: int, lines: int) -> Path:
    """JSON lines of several rooms whose messages take turns."""
    numbers = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(lines):
            who, to = numbers.sample(_PEOPLE, 2)
            message = {
                "speaker": who,
                "text": f"{to}: the {numbers.choice(_WORDS)}?",
                "channel": f"room {number % rooms}",
                "id": f"m{number}",
            }
            file.write(json.dumps(message) + "\n")
    return path


def rows(folder: Path) -> list[dict[str, Any]]:
    """All rows of a folder of JSON lines, in the order of files and lines."""
    parts = [part.read_text("utf-8") for part in sorted(folder.glob("part-*.jsonl"))]
    found = [json.loads(line) for part in parts for line in part.split("\n") if line]
    return sorted(found, key=lambda row: (row["file"], row["line"]))


def content(folder: Path) -> dict[str, str]:
    """Every file below a folder, with a hash of what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
