"""Gathers the lines of logs by room, and cuts them into segments that can be processed independently."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from towhom.chat import Kind
from towhom.readers.identity import Located
from towhom.wire import message_from, to_json

_IN_MEMORY = 64 << 20
"""Bytes of lines that are gathered in memory; the rest is in a temporary file."""
_UNHEARD = frozenset({Kind.SYSTEM, Kind.DAY})
"""Kinds of lines that do not change what is known about a room."""
FILE = 1 << 32
"""Line numbers reserved for each file; no file has more lines."""
_HEARD, _OTHER = b"+", b"-"
"""The first byte of a line that changes what is known about a room, and of one that does not."""


class Room(NamedTuple):
    """A room of an export."""

    export: str
    name: str


@dataclass(frozen=True)
class Line:
    """A line of a log.

    Args:
        located: The message, with its ids.
        number: Position among the lines of its bundle: `number // FILE` is the index of its file.
    """

    located: Located
    number: int

    def encoded(self) -> bytes:
        """Encode the line as one line of JSON."""
        located = self.located
        id = None if located.id == located.message.id else located.id
        told = json.dumps([self.number, located.line, located.file, id, located.reply_to, located.changes])
        mark = _HEARD if self.heard else _OTHER
        return b"%b%b, %b]\n" % (mark, told[:-1].encode(), to_json(located.message).encode())

    @property
    def heard(self) -> bool:
        """Whether it changes what is known about its room."""
        return self.located.message.kind not in _UNHEARD


def decoded(line: bytes, room: Room) -> Line:
    """The line that `Line.encoded` has encoded."""
    number, place, file, id, reply_to, changes, value = json.loads(line[1:])
    message = message_from(value, line=place)
    return Line(Located(message, id or message.id or "", room.name, file, reply_to, changes), number)


@dataclass
class Run:
    """Consecutive lines of one room.

    Args:
        room: The room.
        before: Number of lines at the beginning that serve only as warm-up.
        lines: All lines, encoded.
        goes_on: Whether another segment has later lines of the room.
    """

    room: Room
    before: int = 0
    lines: list[bytes] = field(default_factory=list)
    goes_on: bool = False

    def __len__(self) -> int:
        return len(self.lines) - self.before


@dataclass
class Segment:
    """Runs that are processed together."""

    runs: list[Run]

    @property
    def cut(self) -> bool:
        """Whether a room, and so perhaps a thread, begins before the segment."""
        return any(run.before for run in self.runs)

    @property
    def size(self) -> int:
        """Number of lines, without warm-up."""
        return sum(map(len, self.runs))

    def encoded(self) -> bytes:
        """Encode the segment as bytes."""
        pieces = []
        for run in self.runs:
            header = [run.room.export, run.room.name, run.before, len(run.lines), run.goes_on]
            pieces.append(json.dumps(header).encode() + b"\n")
            pieces += run.lines
        return b"".join(pieces)

    @classmethod
    def of(cls, content: bytes) -> Segment:
        """The segment that `encoded` has encoded."""
        lines = iter(content.splitlines(keepends=True))
        runs = []
        for header in lines:
            export, name, before, count, goes_on = json.loads(header)
            runs.append(Run(Room(export, name), before, list(islice(lines, count)), goes_on))
        return cls(runs)


class Gathered:
    """Lines by room, in the order in which rooms begin. Memory is bounded; the rest is in a file."""

    def __init__(self) -> None:
        self._lines: dict[Room, list[bytes]] = {}
        self._counts: dict[Room, int] = {}
        self._spilled: dict[Room, list[tuple[int, int]]] = {}
        self._size = 0
        self._file: Any = None

    def add(self, room: Room, line: bytes) -> None:
        """Add a line."""
        self._lines.setdefault(room, []).append(line)
        self._counts[room] = self._counts.get(room, 0) + 1
        self._size += len(line)
        if self._size > _IN_MEMORY:
            self._spill()

    def rooms(self) -> Iterator[tuple[Room, int, Iterator[bytes]]]:
        """Each room, with the number of its lines, and its lines."""
        for room, count in self._counts.items():
            yield room, count, self._of(room)

    def take(self, other: Gathered) -> None:
        """Add all lines of another collection."""
        for room, _, lines in other.rooms():
            for line in lines:
                self.add(room, line)

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 `close` closes it
        for room, lines in self._lines.items():
            content = b"".join(lines)
            self._spilled.setdefault(room, []).append((self._file.tell(), len(content)))
            self._file.write(content)
        self._lines, self._size = {}, 0

    def _of(self, room: Room) -> Iterator[bytes]:
        for place, size in self._spilled.get(room, ()):
            self._file.seek(place)
            yield from self._file.read(size).splitlines(keepends=True)
        yield from self._lines.get(room, ())


def cut(gathered: Gathered, part: int, warm_up: int, *, whole: bool = False) -> Iterator[Segment]:
    """Segments of about `part` lines: short rooms together, a long room in pieces of equal size.

    A piece begins with the last `warm_up` messages before it. Rooms that are to stay whole are never cut.
    """
    waiting = Segment([])
    for room, count, lines in gathered.rooms():
        if count > part and not whole:
            yield from _pieces(room, count, lines, part, warm_up)
            continue
        if waiting.runs and waiting.size + count > part:
            yield waiting
            waiting = Segment([])
        waiting.runs.append(Run(room, lines=list(lines)))
    if waiting.runs:
        yield waiting


def _pieces(room: Room, count: int, lines: Iterator[bytes], part: int, warm_up: int) -> Iterator[Segment]:
    pieces = -(-count // part)
    before: deque[bytes] = deque(maxlen=warm_up)
    for number in range(pieces):
        own = list(islice(lines, (number + 1) * count // pieces - number * count // pieces))
        yield Segment([Run(room, len(before), [*before, *own], goes_on=number < pieces - 1)])
        before.extend(line for line in own if line.startswith(_HEARD))
