"""Parts chat logs by days: those that a bank is built of, and those from which it is asked.

    python benchmarks/bank_split.py DATA OUT

DATA has `ubuntu-irc/train`, `ubuntu-irc/dev`, `web-irc` and `rooms`. Of each channel, the first nine tenths
of the days go to OUT/train, half of the others to OUT/dev; the last twentieth stays out of both. #ubuntu
comes parted.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_TRAIN, _DEV = 0.9, 0.95


def main() -> None:
    """Write OUT/train and OUT/dev."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    for part in ("train", "dev"):
        folder = options.out / part / "ubuntu"
        folder.mkdir(parents=True)
        for path in sorted((options.data / "ubuntu-irc" / part).glob("*.txt")):
            shutil.copyfile(path, folder / path.name)
    for path in sorted([*options.data.glob("web-irc/*.xz"), *options.data.glob("rooms/*.xz")]):
        with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
            lines = list(file)
        parted = _by_day_of_record if path.stem.endswith(".jsonl") else _by_heading
        for part, kept in parted(lines):
            (options.out / part / path.stem).write_text("".join(kept), "utf-8")


def _by_heading(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Days of a log in which a line begins each day."""
    days = [place for place, line in enumerate(lines) if line.startswith("# ")]
    first, last = (days[int(len(days) * share)] for share in (_TRAIN, _DEV))
    yield "train", list(lines[:first])
    yield "dev", list(lines[first:last])


def _by_day_of_record(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Days of JSON lines that have times and channels."""
    records = [json.loads(line) for line in lines]
    days: dict[str | None, set[str]] = {}
    for record in records:
        days.setdefault(record.get("channel"), set()).add(record["time"][:10])
    bounds = {
        channel: [sorted(found)[int(len(found) * share)] for share in (_TRAIN, _DEV)]
        for channel, found in days.items()
    }
    parts: dict[str, Callable[[str, Sequence[str]], bool]] = {
        "train": lambda day, bound: day < bound[0],
        "dev": lambda day, bound: bound[0] <= day < bound[1],
    }
    for part, belongs in parts.items():
        yield (
            part,
            [
                line
                for line, record in zip(lines, records, strict=True)
                if belongs(record["time"][:10], bounds[record.get("channel")])
            ],
        )


if __name__ == "__main__":
    main()
