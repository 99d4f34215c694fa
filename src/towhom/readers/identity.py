"""Give every line of a log the id, room, day and file that identify it in all outputs."""

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
"""Fewest ids remembered to keep ids unique; at most twice as many are held in memory."""
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
"""The number that exporters give each file of a room split into several."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Located:
    """A line of a log with its id, room and file.

    Args:
        message: The line.
        id: The platform's id, or one made of file and line. It is unique within a room and within a file: if
            messages of two rooms have the same id, the later one gets its room as a prefix; if a format
            numbers messages by room and there are several room files, all ids have that prefix.
        room: The channel, or the file's name without its date.
        file: The file.
        reply_to: The id of the message that it answers, if the platform marks it and it was read; its own id
            if the platform marks it as the start of a thread.
        changes: The id of the message that it edits or deletes, if any.
    """

    message: Message
    id: str
    room: str
    file: str
    reply_to: str | None = None
    changes: str | None = None

    @property
    def day(self) -> date | None:
        """The day of the line, if the log has one."""
        time = self.message.time
        return None if time is None or time.year == 1 else time.date()

    @property
    def line(self) -> int:
        """Number of the line in its file, from 0."""
        return self.message.line or 0


def record_of(located: Located) -> dict[str, Any]:
    """The columns that all tables begin with: a line's id, room, time, file, kind, speaker and addressee."""
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
    """Yield every line of some exports, in bounded memory; rooms of different exports stay separate.

    Logs of an export whose names differ only by a date, such as a client's daily logs, are one room.

    Args:
        exports: The name of each export, and its logs.
        report: Counts lines read and lines left out, with the reasons.
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
    """Names of exports: the last part of each path, or the whole path where that is ambiguous."""
    names = [(str(path), PurePosixPath(str(path)).name or str(path)) for path in paths]
    short = Counter(name for _, name in names)
    return [name if short[name] == 1 else path for path, name in names]


def in_export(room: str, export: str) -> str:
    """Name of a room that an earlier export also has."""
    return f"{room} ({export})"


def in_other(file: str, number: int) -> str:
    """Name, for ids, of a file that an earlier export also has; exports are numbered from 0."""
    return f"{number + 1}/{file}"


class Namer:
    """Gives the lines of logs their ids and rooms, one log after the other.

    Args:
        several: Whether there are several groups of files, so that ids numbered by room may clash.
    """

    def __init__(self, *, several: bool) -> None:
        self._names = _Names()
        self._groups: dict[str, Hashable] = {}
        self._several = several
        self.counted = False
        """Whether ids numbered by room have been seen."""

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
            group: Key of the group of files that the log belongs to.
            report: Counts lines read.
            room_of: Returns the name under which a room is shown.
            file_of: Returns the name of a file as used in ids.
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
    """Give ids and rooms to messages that come from no file; messages without an id are numbered."""
    names = _Names()
    for number, message in enumerate(messages):
        line = number if message.line is None else message.line
        yield names.name(replace(message, line=line), message.channel or "", "", "messages", None, False)


class _Names:
    """The ids assigned recently."""

    def __init__(self) -> None:
        self._new: dict[tuple[Hashable, str], str] = {}
        self._old: dict[tuple[Hashable, str], str] = {}

    def name(
        self, message: Message, room: str, file: str, inner: str, group: Hashable, scoped: bool
    ) -> Located:
        """Assign an id to a line.

        Args:
            message: The line.
            room: The room of the line.
            file: The name of its file.
            inner: The path of its file in the export.
            group: Key of the group of files in which the room was first found.
            scoped: Whether the room is put in front of the platform's id.
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
        """The id assigned to the message that has this id on the platform, if it is remembered."""
        if id is None:
            return None
        key = _of_room(room), id
        return self._new.get(key) or self._old.get(key)

    def _free(self, id: str, room: str, group: Hashable, scoped: bool) -> str:
        """The id itself, or a variant of it that no message of the group has yet."""
        long = f"{room}/{id}"
        free, number = (long, 2) if scoped else (id, 1)
        while (group, free) in self._new or (group, free) in self._old:
            free = long if number == 1 else f"{long}~{number}"
            number += 1
        self._new[group, free] = free
        if len(self._new) >= 2 * _REMEMBERED:  # a message takes at most two entries
            self._old, self._new = self._new, {}
        return free


def _of_room(room: str) -> Hashable:
    """A key for a room that differs from the key of any group of files."""
    return "room", room


def _room(log: Log) -> str:
    """The room of lines without a channel."""
    return room_of_file(*place_of(log))


def place_of(log: Log) -> tuple[str, str | None]:
    """A log's path inside the folder or archive given, and the name of that folder or archive, if any."""
    return _inner(log, log.source.name), log.folder


def room_of_file(path: str, folder: str | None) -> str:
    """The room of a file: its path without the date, or its folder if nothing else is left."""
    return _without_date(path) or folder or _stem(PurePosixPath(path).name)


def _without_date(path: str) -> str:
    """A path without its file extension and without dates.

    >>> [_without_date(path) for path in ("#tea-2024-05-31.log", "2024/05/31/#tea.txt", "tea/20240531_03.gz")]
    ['#tea', '#tea', 'tea']
    """
    parts = PurePosixPath(_PART.sub("", _stem(path))).parts
    dated = any(re.fullmatch(_YEAR, part) for part in parts)
    kept = (part for part in parts if not (dated and _PART_OF_DATE.fullmatch(part)))
    bare = ((part, _DATE.sub("", part).strip(" -_.")) for part in kept)
    # A number that is left after removing a date is an hour, or the number of a part of the day.
    return "/".join(rest for part, rest in bare if rest and (rest == part or not rest.isdecimal()))


def _stem(path: str) -> str:
    return _ENDINGS.sub("", path) or path


def _inner(log: Log, file: str) -> str:
    """A file's path inside the folder or archive given; only its name if the file itself was given."""
    root = log.source.name if isinstance(log.source, Folder) else log.folder
    return Path(file).name if root is None else file.removeprefix(f"{root}/")


def _shown(log: Log, file: str) -> str:
    return file if log.folder is not None or isinstance(log.source, Folder) else Path(file).name


def grouped(items: Iterable[Item], place: Callable[[Item], tuple[str, str | None]]) -> dict[str, list[Item]]:
    """Group files by room, sorted by the dates in their names if all of a room's files have one.

    Args:
        items: The files.
        place: Returns a file's path inside the folder or archive given, and the name of that, if any.
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
    """Year, month and day of the last date in a path; empty if there is none."""
    found = list(_DATE.finditer(path))
    if not found:
        return ()
    last = found[-1]
    return tuple(int(last[name] or last[f"{name}2"] or 0) for name in "ymd")
