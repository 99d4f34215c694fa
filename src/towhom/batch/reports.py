"""Reassembles the rows of a run in the order in which one process would have read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from towhom.batch.inputs import Input, rooms_of
from towhom.batch.layout import Index, Layout
from towhom.batch.segments import FILE, Room, decoded
from towhom.readers.identity import Located


@dataclass(frozen=True, slots=True)
class Entry:
    """A line, and the parts of the model's answer that a report needs."""

    located: Located
    name: str
    text: str
    replies_to: str
    thread: str


def entries(inputs: Iterable[Input], layout: Layout, read: Mapping[str, Index]) -> Iterator[Entry]:
    """All lines of a run, in the order of its files; the parts of a bundle are loaded together.

    Args:
        inputs: The files.
        layout: The layout of the parts.
        read: The indexes, by bundle.
    """
    files = [each.name for room in rooms_of(inputs) for each in room]
    bundle_of = {file: name for name, index in read.items() for file in index.good}
    opened: dict[str, dict[str, list[tuple[int, str]]]] = {}
    for file in files:
        bundle = bundle_of.get(file)
        if bundle is None:
            continue
        if bundle not in opened:
            opened[bundle] = _lines(bundle, layout, read[bundle])
        # The lines of a file are needed only once, so they are removed here.
        for _, line in sorted(opened[bundle].pop(file, ())):
            yield _entry(json.loads(line))


def _lines(bundle: str, layout: Layout, index: Index) -> dict[str, list[tuple[int, str]]]:
    """The lines of a bundle by file, with their numbers."""
    found: dict[str, list[tuple[int, str]]] = {}
    for segment in range(len(index.segments)):
        for line in layout.part(bundle, segment).read().decode().split("\n"):
            if line:
                number = int(line.partition(":")[2].partition(",")[0])
                found.setdefault(index.inputs[number // FILE][0], []).append((number, line))
    return found


def _entry(row: dict[str, str]) -> Entry:
    line = decoded(row["line"].encode(), Room("", row["room"]))
    return Entry(line.located, row["name"], row["text"], row["replies_to"], row["thread"])
