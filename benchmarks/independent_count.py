"""Counts documents, messages, addressed messages and samples by regular expressions on the raw text.

    python benchmarks/independent_count.py ../shared/data --json results/independent_count.json

It shares no code with the corpus build that it checks. It counts twice: with and without the marks that IRC
puts in front of an operator's name (`<@bz>`) as part of the name. People write `bz: ...` in both cases.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from towhom.records import circumstances, describe_data, write_record

LINE = re.compile(r"\[\d\d:\d\d\] <([^>]+)> (.*)")
ADDRESS = re.compile(r"\s*(\S+?)\s*[:,;]\s+\S")
CONTEXT = 15
Chat = list[tuple[str, str]]


def ubuntu(folder: Path) -> Iterator[Chat]:
    """The documents of #ubuntu: one per file."""
    for path in sorted(folder.glob("*.txt")):
        with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield [found.groups() for line in lines if (found := LINE.match(line))]  # type: ignore[misc]


def web(folder: Path) -> Iterator[Chat]:
    """The documents of a web log: a line `# YYYYMMDD` begins each one."""
    for path in sorted(folder.glob("*.txt.xz")):
        chat: Chat = []
        with lzma.open(path, "rt", encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                if line.startswith("# "):
                    yield chat
                    chat = []
                elif found := LINE.match(line):
                    chat.append((found[1], found[2]))
        yield chat


def count(chats: Iterator[Chat], *, marks: bool) -> dict[str, int]:
    """Counts by the protocol."""
    result = dict.fromkeys(("found", "documents", "messages", "addressed", "samples", "training_samples"), 0)
    for chat in chats:
        if not chat:
            continue
        result["found"] += 1
        named = [(name if marks else name.lstrip(" @+%&~!"), text) for name, text in chat]
        speakers = {name for name, _ in named}
        to = [
            found[1] if (found := ADDRESS.match(text)) and found[1] in speakers else None for _, text in named
        ]
        addressed = sum(name is not None for name in to)
        if addressed < 10:
            continue
        result["documents"] += 1
        result["messages"] += len(named)
        result["addressed"] += addressed
        spoken: set[str] = set()
        for place, (speaker, _) in enumerate(named):
            if to[place] in spoken and to[place] != speaker:
                result["samples"] += 1
                window = {name for name, _ in named[place - CONTEXT : place]} if place >= CONTEXT else set()
                result["training_samples"] += to[place] in window
            spoken.add(speaker)
    return result


def main() -> None:
    """Count everything, print and record it."""
    parser = argparse.ArgumentParser(description="An independent count.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sets = {"ubuntu-irc/train": ubuntu, "ubuntu-irc/dev": ubuntu, "web-irc": web}
    counts = {}
    for name, read in sets.items():
        for marks in (True, False):
            title = f"{name}, marks {'kept' if marks else 'cut'}"
            counts[title] = count(read(options.data / name), marks=marks)
            print(title, counts[title])
    if options.json:
        data = describe_data(options.data / name for name in sets)
        write_record(options.json, {**circumstances(), "data": data, "counts": counts})


if __name__ == "__main__":
    main()
