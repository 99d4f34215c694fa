"""The message data a report needs, stored as columns: numbers and short texts, not objects."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol

import numpy as np

from towhom.chat import Kind, Message
from towhom.hearing.utterance import SPOKEN
from towhom.hearing.words import asks
from towhom.readers.filters import Filter
from towhom.readers.identity import Located
from towhom.threads.questions import by_program

Numbers = np.ndarray[Any, np.dtype[Any]]

_TEXT = 400
"""Most characters of a message that a report keeps."""
_EPOCH = datetime(1970, 1, 1)


class Entry(Protocol):
    """A line of a log with a model's answer, as far as a report needs it; `Answered` is one."""

    @property
    def located(self) -> Located:
        """The line with its id, room and file."""

    @property
    def name(self) -> str:
        """The speaker's display name."""

    @property
    def text(self) -> str:
        """The text of the message, without a name in front."""

    @property
    def replies_to(self) -> str:
        """The id of the message that it answers; its own if it starts a conversation."""

    @property
    def thread(self) -> str:
        """The id of the message that started its conversation."""


class Columns:
    """The messages of some rooms; messages, people and rooms are numbered in order of appearance."""

    def __init__(self) -> None:
        self.rooms: list[str] = []
        self.people: list[str] = []
        """Display name of each person."""
        self.also: dict[str, int | None] = {}
        """Every name seen -> the person's number; None for people who are only named and never speak."""
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.files: list[str] = []
        self._time, self._room, self._speaker = array("d"), array("i"), array("i")
        self._link, self._thread, self._file, self._line = array("i"), array("i"), array("i"), array("i")
        self._asks, self._bot, self._shown = array("b"), array("b"), array("b")
        self.time: Numbers
        """Seconds since 1970 by the clock of the log, or of the zone requested; NaN if unknown."""
        self.room: Numbers
        self.speaker: Numbers
        self.link: Numbers
        """Number of the message that it answers; its own if it starts a conversation."""
        self.thread: Numbers
        """Number of the message that started its conversation."""
        self.file: Numbers
        self.line: Numbers
        self.asks: Numbers
        """Whether the message asks something."""
        self.bot: Numbers
        """Whether a program wrote the message."""
        self.shown: Numbers
        """Whether the report covers the message."""

    def __len__(self) -> int:
        return len(self.ids)

    def finish(self) -> None:
        """Turn the columns into NumPy arrays once all messages have been added."""
        for name in (
            "time", "room", "speaker", "link", "thread", "file", "line", "asks", "bot", "shown",
        ):  # fmt: skip
            column: array[Any] = getattr(self, f"_{name}")
            kind = np.bool_ if column.typecode == "b" else np.float64 if column.typecode == "d" else np.int32
            setattr(self, name, np.array(column, dtype=kind))
            delattr(self, f"_{name}")


def gather(answers: Iterable[Entry], *, shown: Filter | None = None, zone: tzinfo | None = None) -> Columns:
    """Collect the columns of messages from a model's answers.

    Args:
        answers: A model's answer for every line.
        shown: Selects the messages that the report covers; others still count as answers.
        zone: Zone in which times that have a zone are shown.
    """
    gathering = Gathering(shown=shown, zone=zone)
    for answered in answers:
        gathering.add(answered)
    return gathering.finished()


class Gathering:
    """Collects columns like `gather`, for callers that do other work between messages."""

    def __init__(self, *, shown: Filter | None = None, zone: tzinfo | None = None) -> None:
        self._shown, self._zone = shown, zone
        self._columns = Columns()
        self._numbers = _Numbers(self._columns)

    def add(self, answered: Entry) -> None:
        """Add the next line."""
        message = answered.located.message
        if message.kind is Kind.RENAME:
            self._numbers.rename(message)
        elif message.kind is Kind.DELETE or message.kind is Kind.EDIT:
            self._numbers.change(message, answered.located.changes)
        elif message.kind in SPOKEN:
            keeps = self._shown is None or self._shown.keeps(answered.located, answered.name)
            self._numbers.add(answered, _seconds(message.time, self._zone), keeps)

    def finished(self) -> Columns:
        """Return the columns; nothing can be added afterwards."""
        self._columns.finish()
        return self._columns


class _Numbers:
    """Numbers messages, people, rooms and files."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._ids: dict[str, int] = {}
        self._people: dict[str, int] = {}
        self._rooms: dict[str, int] = {}
        self._files: dict[str, int] = {}

    def add(self, answered: Entry, time: float, shown: bool) -> None:
        """Add a message."""
        to, located, message = self._columns, answered.located, answered.located.message
        number = len(to.ids)
        self._ids[located.id] = number
        to.ids.append(located.id)
        text = answered.text
        to.texts.append(text if len(text) <= _TEXT else text[:_TEXT].rstrip() + "…")
        to._time.append(time)
        to._room.append(_number(located.room, self._rooms, to.rooms))
        to._file.append(_number(located.file, self._files, to.files))
        to._line.append(located.line)
        to._speaker.append(self._person(message.speaker, answered.name))
        for name in (message.addressee, *message.mentions):
            if name is not None:
                to.also.setdefault(name, None)
        to._link.append(self._ids.get(answered.replies_to, number))
        to._thread.append(self._ids.get(answered.thread, number))
        to._asks.append(asks(message.text))
        to._bot.append(by_program(message))
        to._shown.append(shown)

    def rename(self, message: Message) -> None:
        """Record a new name for a person, who keeps their number."""
        person = self._people.get(message.speaker)
        if person is not None and message.text not in self._people:
            self._people[message.text] = person
        for name in (message.speaker, message.text):
            self._columns.also.setdefault(name, self._people.get(name))

    def change(self, message: Message, id: str | None) -> None:
        """Record that a message was edited or deleted."""
        number = self._ids.get(id) if id is not None else None
        if number is not None:
            self._columns.texts[number] = message.text[:_TEXT]
            self._columns._asks[number] = asks(message.text)
            if message.kind is Kind.DELETE:
                self._columns._shown[number] = 0

    def _person(self, speaker: str, name: str) -> int:
        number = _number(speaker, self._people, self._columns.people)
        self._columns.people[number] = name
        self._columns.also[speaker] = self._columns.also[name] = number
        return number


def _number(name: str, numbers: dict[str, int], names: list[str]) -> int:
    if name not in numbers:
        numbers[name] = len(names)
        names.append(name)
    return numbers[name]


def _seconds(time: datetime | None, zone: tzinfo | None) -> float:
    """Seconds since 1970 of a time, by the clock that people see; NaN if unknown."""
    if time is None or time.year == 1:
        return float("nan")
    if time.tzinfo is not None:
        time = time.astimezone(zone or time.tzinfo).replace(tzinfo=None)
    return (time - _EPOCH).total_seconds()


def clock(seconds: float) -> datetime | None:
    """The time of a value of the time column; None if unknown."""
    return None if np.isnan(seconds) else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
