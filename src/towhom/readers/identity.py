"""Every line of a log with what names it in all outputs: its id, its room, its day, its file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, slots=True)
class Located:
    """A line of a log, and what names it.

    Args:
        message: The line.
        id: The platform's id, or one made of file and line. No two messages of a reading have the same: where
            two rooms of a platform do, the later one has its room in front.
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
    names = _Names()
    rooms: dict[str, int] = {}
    files: dict[str, int] = {}
    for number, (export, logs) in enumerate(exports):
        for log in _in_order(logs):
            for file, messages in log.files(report):
                shown, inner = _shown(log, file), _inner(log, file)
                if files.setdefault(inner, number) != number:
                    inner = f"{number + 1}/{inner}"
                for message in messages:
                    room = message.channel or _room(log)
                    if rooms.setdefault(room, number) != number:
                        room = f"{room} ({export})"
                    yield names.name(message, room, shown, inner)


def locate_messages(messages: Iterable[Message]) -> Iterator[Located]:
    """Messages that come from no file, with what names them: those without an id are numbered."""
    names = _Names()
    for number, message in enumerate(messages):
        line = number if message.line is None else message.line
        yield names.name(replace(message, line=line), message.channel or "", "", "messages")


class _Names:
    """The ids that were given lately."""

    def __init__(self) -> None:
        self._new: dict[str | tuple[str, str], str] = {}
        self._old: dict[str | tuple[str, str], str] = {}

    def name(self, message: Message, room: str, file: str, inner: str) -> Located:
        """A line with its id; `inner` is the path of its file in the export."""
        made = f"{inner}:{(message.line or 0) + 1}"
        if message.kind in _CHANGES:
            return Located(message, made, room, file, None, self._given(room, message.id))
        reply_to = self._given(room, message.reply_to)
        if message.id is None:
            return Located(message, made, room, file, reply_to)
        id = self._free(message.id, room)
        self._new[room, message.id] = id
        return Located(message, id, room, file, id if message.reply_to == message.id else reply_to)

    def _given(self, room: str, id: str | None) -> str | None:
        """The id that a message of the platform's id was given."""
        if id is None:
            return None
        return self._new.get((room, id)) or self._old.get((room, id))

    def _free(self, id: str, room: str) -> str:
        """The id, or one like it that no message has yet."""
        free, number = id, 1
        while free in self._new or free in self._old:
            free = f"{room}/{id}" if number == 1 else f"{room}/{id}~{number}"
            number += 1
        self._new[free] = free
        if len(self._new) >= 2 * _REMEMBERED:  # a message takes two places at most
            self._old, self._new = self._new, {}
        return free


def _room(log: Log) -> str:
    """What a log's file is called, without its date.

    Its folder, if the name is but a date.
    """
    return _without_date(_inner(log, log.source.name)) or log.folder or _stem(Path(log.source.name).name)


def _without_date(path: str) -> str:
    """A path without its ending and all that is a date.

    >>> [_without_date(path) for path in ("#tea-2024-05-31.log", "2024/05/31/#tea.txt", "tea/20240531_03.gz")]
    ['#tea', '#tea', 'tea']
    """
    parts = PurePosixPath(_stem(path)).parts
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


def _in_order(logs: list[Log]) -> list[Log]:
    """Logs of a room together, by the dates of their files if all have one."""
    rooms: dict[str, list[tuple[tuple[int, ...], Log]]] = {}
    for log in logs:
        rooms.setdefault(_room(log), []).append((_date(_inner(log, log.source.name)), log))
    ordered = []
    for dated in rooms.values():
        if all(day for day, _ in dated):
            dated.sort(key=lambda pair: pair[0])
        ordered += [log for _, log in dated]
    return ordered


def _date(path: str) -> tuple[int, ...]:
    """Year, month and day of the last date in a path; nothing if there is none."""
    found = list(_DATE.finditer(path))
    if not found:
        return ()
    last = found[-1]
    return tuple(int(last[name] or last[f"{name}2"] or 0) for name in "ymd")
