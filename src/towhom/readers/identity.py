"""Every line of a log with what names it in all outputs: its id, its room, its day, its file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Report

if TYPE_CHECKING:
    from towhom.readers import Log

_REMEMBERED = 250_000
"""Ids that are remembered at least, so that no two messages have the same; memory is twice that at most."""
_CHANGES = frozenset({Kind.EDIT, Kind.DELETE})
_YEAR, _MONTH, _DAY = r"(?:19|20)[0-9]{2}", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12][0-9]|3[01])"
_DATE = re.compile(
    rf"(?<![0-9])(?:(?P<y>{_YEAR})(?P<s>[-_.]?)(?P<m>{_MONTH})(?:(?P=s)(?P<d>{_DAY}))?"
    rf"|(?P<d2>{_DAY})(?P<s2>[-_.])(?P<m2>{_MONTH})(?P=s2)(?P<y2>{_YEAR}))(?![0-9])"
)
_ENDINGS = re.compile(
    r"(?:\.(?:gz|xz|bz2|zip|txt|log|json|jsonl|ndjson|csv|tsv|parquet|weechatlog|xml|html?|md|vtt|srt))+$",
    re.I,
)
_PART_OF_DATE = re.compile(rf"{_YEAR}|[0-3]?[0-9]")
_PART = re.compile(r"[ _-]*[\[(]part[ _-]?[0-9]+[\])]", re.I)
"""How exporters number the files of a long room."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Located:
    """A line of a log, and what names it.

    Args:
        message: The line.
        id: The platform's id, or one made of file and line. No two messages of a room have the same, nor two
            of a file: where the platform gives an id to messages of two rooms, the later one has its room in
            front; and where a format counts messages by room, all have, if there are several files of rooms.
        room: The channel, or what the file is called without its date.
        file: The file.
        reply_to: The id of the message that it answers, if the platform says so and that was read; its own,
            if the platform says that it starts a thread.
        changes: The id of the message that it changes or takes back, if it does.
    """

    message: Message
    id: str
    room: str
    file: str
    reply_to: str | None = None
    changes: str | None = None

    @property
    def day(self) -> date | None:
        """Its day, if the log says it."""
        time = self.message.time
        return None if time is None or time.year == 1 else time.date()

    @property
    def line(self) -> int:
        """Where it stands in its file, from 0."""
        return self.message.line or 0


def record_of(located: Located) -> dict[str, Any]:
    """What names a line, and what it says; what all tables begin with."""
    message, day = located.message, located.day
    return {
        "id": located.id,
        "room": located.room,
        "day": None if day is None else day.isoformat(),
        "time": None if message.time is None else message.time.isoformat(),
        "file": located.file,
        "line": located.line,
        "kind": message.kind.value,
        "speaker": message.speaker,
        "name": message.name or message.speaker,
        "addressee": message.addressee,
    }


def named(exports: Iterable[tuple[str, list[Log]]], report: Report) -> Iterator[Located]:
    """Every line of some exports, in bounded memory; rooms are kept apart.

    Logs of an export whose names differ by a date, as clients write them day by day, are one room.

    Args:
        exports: Their names, and the logs in each.
        report: Counts what was read, what was left out and why.
    """
    rooms: dict[str, int] = {}
    files: dict[str, int] = {}
    together = [(name, grouped(logs, place_of)) for name, logs in exports]
    namer = Namer(several=sum(len(groups) for _, groups in together) > 1)
    for number, (export, groups) in enumerate(together):

        def room_of(name: str, export: str = export, number: int = number) -> str:
            return name if rooms.setdefault(name, number) == number else in_export(name, export)

        def file_of(name: str, number: int = number) -> str:
            return name if files.setdefault(name, number) == number else in_other(name, number)

        for group, logs in groups.items():
            for log in logs:
                yield from namer.lines(log, (number, group), report, room_of, file_of)


def export_names(paths: Iterable[str | Path]) -> list[str]:
    """What exports are called: by the last part of their paths, or by all if that is not enough."""
    names = [(str(path), PurePosixPath(str(path)).name or str(path)) for path in paths]
    short = Counter(name for _, name in names)
    return [name if short[name] == 1 else path for path, name in names]


def in_export(room: str, export: str) -> str:
    """What a room is called that another export has as well."""
    return f"{room} ({export})"


def in_other(file: str, number: int) -> str:
    """What a file is called in ids that another export has as well; exports are counted from 0."""
    return f"{number + 1}/{file}"


class Namer:
    """Gives the lines of logs their names, one log after the other.

    Args:
        several: Whether there are several rooms of files, so that ids that count messages by room may meet.
    """

    def __init__(self, *, several: bool) -> None:
        self._names = _Names()
        self._groups: dict[str, Hashable] = {}
        self._several = several
        self.counted = False
        """Whether ids were met that count messages by room."""

    def lines(
        self,
        log: Log,
        group: Hashable,
        report: Report,
        room_of: Callable[[str], str],
        file_of: Callable[[str], str],
    ) -> Iterator[Located]:
        """The lines of a log.

        Args:
            log: The log.
            group: The files that it belongs to.
            report: Counts what was read.
            room_of: What a room is called.
            file_of: What a file is called in ids.
        """
        own, counted = _room(log), log.reader.counts_by_room
        scoped = counted and self._several
        for file, messages in log.files(report):
            shown, inner = _shown(log, file), file_of(_inner(log, file))
            for message in messages:
                room = room_of(message.channel or own)
                self.counted |= counted and message.id is not None
                first = self._groups.setdefault(room, group)
                yield self._names.name(message, room, shown, inner, first, scoped)


def locate_messages(messages: Iterable[Message]) -> Iterator[Located]:
    """Messages that come from no file, with what names them: those without an id are numbered."""
    names = _Names()
    for number, message in enumerate(messages):
        line = number if message.line is None else message.line
        yield names.name(replace(message, line=line), message.channel or "", "", "messages", None, False)


class _Names:
    """The ids that were given lately."""

    def __init__(self) -> None:
        self._new: dict[tuple[Hashable, str], str] = {}
        self._old: dict[tuple[Hashable, str], str] = {}

    def name(
        self, message: Message, room: str, file: str, inner: str, group: Hashable, scoped: bool
    ) -> Located:
        """A line with its id.

        Args:
            message: The line.
            room: Where it is said.
            file: What its file is called.
            inner: The path of its file in the export.
            group: The files that the room was first found in.
            scoped: Whether its room stands in front of the platform's id.
        """
        made = f"{inner}:{(message.line or 0) + 1}"
        if message.kind in _CHANGES:
            return Located(message, made, room, file, None, self._given(room, message.id))
        reply_to = self._given(room, message.reply_to)
        if message.id is None:
            return Located(message, made, room, file, reply_to)
        id = self._free(message.id, room, group, scoped)
        self._new[_of_room(room), message.id] = id
        return Located(message, id, room, file, id if message.reply_to == message.id else reply_to)

    def _given(self, room: str, id: str | None) -> str | None:
        """The id that a message of the platform's id was given."""
        if id is None:
            return None
        key = _of_room(room), id
        return self._new.get(key) or self._old.get(key)

    def _free(self, id: str, room: str, group: Hashable, scoped: bool) -> str:
        """The id, or one like it that no message of the group has yet."""
        long = f"{room}/{id}"
        free, number = (long, 2) if scoped else (id, 1)
        while (group, free) in self._new or (group, free) in self._old:
            free = long if number == 1 else f"{long}~{number}"
            number += 1
        self._new[group, free] = free
        if len(self._new) >= 2 * _REMEMBERED:  # a message takes two places at most
            self._old, self._new = self._new, {}
        return free


def _of_room(room: str) -> Hashable:
    """No group of files is called so."""
    return "room", room


def _room(log: Log) -> str:
    """The room of lines that name none."""
    return room_of_file(*place_of(log))


def place_of(log: Log) -> tuple[str, str | None]:
    """A log's path in what was given, and what that is called if it has several."""
    return _inner(log, log.source.name), log.folder


def room_of_file(path: str, folder: str | None) -> str:
    """What a file is called, without its date.

    Its folder, if the name is but a date.
    """
    return _without_date(path) or folder or _stem(PurePosixPath(path).name)


def _without_date(path: str) -> str:
    """A path without its ending and all that is a date.

    >>> [_without_date(path) for path in ("#tea-2024-05-31.log", "2024/05/31/#tea.txt", "tea/20240531_03.gz")]
    ['#tea', '#tea', 'tea']
    """
    parts = PurePosixPath(_PART.sub("", _stem(path))).parts
    dated = any(re.fullmatch(_YEAR, part) for part in parts)
    kept = (part for part in parts if not (dated and _PART_OF_DATE.fullmatch(part)))
    bare = ((part, _DATE.sub("", part).strip(" -_.")) for part in kept)
    # What a date leaves that is but a number is an hour, or the part of a day.
    return "/".join(rest for part, rest in bare if rest and (rest == part or not rest.isdecimal()))


def _stem(path: str) -> str:
    return _ENDINGS.sub("", path) or path


def _inner(log: Log, file: str) -> str:
    """A file's path in the folder or archive that was given; the name of a file that was."""
    root = log.source.name if isinstance(log.source, Folder) else log.folder
    return Path(file).name if root is None else file.removeprefix(f"{root}/")


def _shown(log: Log, file: str) -> str:
    return file if log.folder is not None or isinstance(log.source, Folder) else Path(file).name


def grouped(items: Iterable[Item], place: Callable[[Item], tuple[str, str | None]]) -> dict[str, list[Item]]:
    """Files of a room together, by the dates in their names if all have one.

    Args:
        items: The files.
        place: The path of each in what was given, and what that is called if it has several.
    """
    rooms: dict[str, list[tuple[tuple[int, ...], Item]]] = {}
    for item in items:
        path, folder = place(item)
        rooms.setdefault(room_of_file(path, folder), []).append((_date(path), item))
    for dated in rooms.values():
        if all(day for day, _ in dated):
            dated.sort(key=lambda pair: pair[0])
    return {room: [item for _, item in dated] for room, dated in rooms.items()}


def _date(path: str) -> tuple[int, ...]:
    """Year, month and day of the last date in a path; nothing if there is none."""
    found = list(_DATE.finditer(path))
    if not found:
        return ()
    last = found[-1]
    return tuple(int(last[name] or last[f"{name}2"] or 0) for name in "ymd")
