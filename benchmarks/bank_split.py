"""Splits chat logs by days: those that a bank is built from, and those from which it is asked.

    python benchmarks/bank_split.py DATA OUT

DATA has `ubuntu-irc/train`, `ubuntu-irc/dev`, `web-irc` and `rooms`. Of each channel, the first eight tenths
of the days go to OUT/train, from which banks are built; the next tenth to OUT/rank, from which the ranking
learns; and the next twentieth to OUT/dev, by which both are measured. The last twentieth is not used. Of
#ubuntu, the days come split into training and dev; the last ninth of the training days goes to OUT/rank.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

_PARTS = {"train": (0.0, 0.8), "rank": (0.8, 0.9), "dev": (0.9, 0.95)}
"""Shares of the days at which each part begins and ends."""
_UBUNTU = 8 / 9
"""The share of the training days of #ubuntu that goes to `train`."""


def main() -> None:
    """Write OUT/train, OUT/rank and OUT/dev."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    train, dev = (sorted((options.data / "ubuntu-irc" / part).glob("*.txt")) for part in ("train", "dev"))
    bound = int(len(train) * _UBUNTU)
    for part, paths in {"train": train[:bound], "rank": train[bound:], "dev": dev}.items():
        folder = options.out / part / "ubuntu"
        folder.mkdir(parents=True)
        for path in paths:
            shutil.copyfile(path, folder / path.name)
    for path in sorted([*options.data.glob("web-irc/*.xz"), *options.data.glob("rooms/*.xz")]):
        with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
            lines = list(file)
        split = _by_day_of_record if path.stem.endswith(".jsonl") else _by_heading
        for part, kept in split(lines):
            (options.out / part / path.stem).write_text("".join(kept), "utf-8")


def _by_heading(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Days of a log in which a line begins each day."""
    days = [place for place, line in enumerate(lines) if line.startswith("# ")]
    for part, (first, last) in _PARTS.items():
        yield part, list(lines[days[int(len(days) * first)] : days[int(len(days) * last)]])


def _by_day_of_record(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Days of JSON lines that have times and channels."""
    records = [json.loads(line) for line in lines]
    days: dict[str | None, set[str]] = {}
    for record in records:
        days.setdefault(record.get("channel"), set()).add(record["time"][:10])
    shares = {
        channel: {day: place / len(found) for place, day in enumerate(sorted(found))}
        for channel, found in days.items()
    }
    for part, (first, last) in _PARTS.items():
        yield (
            part,
            [
                line
                for line, record in zip(lines, records, strict=True)
                if first <= shares[record.get("channel")][record["time"][:10]] < last
            ],
        )


if __name__ == "__main__":
    main()
