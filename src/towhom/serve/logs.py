"""Answers about an uploaded log, as lines of JSON: its rooms, and who every message is for."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from towhom.chat import CHANGES, Kind, Message
from towhom.errors import LogError, TowhomError
from towhom.hearing.utterance import SPOKEN
from towhom.live import Model, Session
from towhom.live.channel import CHUNK
from towhom.live.reading import answers
from towhom.readers import Log, Report, find_logs, locate, readers
from towhom.readers.identity import grouped, place_of, room_of_file
from towhom.report import measure
from towhom.report.columns import Gathering
from towhom.report.page import report_page
from towhom.serve.answers import observation

_PACE = 0.5
"""Seconds between progress lines."""
_STEP = 200
"""Messages that are read before other jobs have a turn."""
_LARGE = 1 << 20
"""Characters that are processed at a time."""
_LIVE = 32
"""Rooms in memory; the sessions of the others are in files."""
_ROOMS = 20_000
_SHOWN = 20
"""Maximum number of problems and assumptions that are listed."""

_HINT = " If that is wrong: --pattern"
"""The end of an assumption, which only makes sense on the command line."""

Lines = list[str]


class UnreadableLogError(TowhomError):
    """A file that is not a log, or is too long; the message quotes nothing of it."""


@dataclass
class LogRoom:
    """A room of a log.

    Args:
        number: Number of the room, from 0, in order of appearance.
        name: The platform's name for the room, or the file's name.
        format: Format of the file that the room was first found in.
        options: The options of that format, given or detected: a pattern, columns.
    """

    number: int
    name: str
    format: str
    options: str = ""
    messages: int = 0
    """Number of spoken messages."""
    lines: int = 0
    """Number of lines, including joins, edits and so on."""
    answered: int = 0
    """The number of its next line."""

    def record(self) -> dict[str, Any]:
        """The record of the room, as it is sent to the client."""
        shown = ("name", "format", "options", "messages", "lines")
        return {"room": self.number, **{name: getattr(self, name) for name in shown}}


class LogAnswers:
    """Reads a log twice: first to find its rooms, then to say who each message is for.

    Iterating yields lists of JSON lines; a list may be empty, so that other jobs have a turn.

    Args:
        model: The model.
        path: The file: a log, an archive of logs, an export. Sessions are stored beside it.
        most: Maximum number of lines.
        format: Format of the log; detected if None.

    Raises:
        UnreadableLogError: The format is unknown. Also raised while iterating, if the log ends early.
    """

    def __init__(self, model: Model, path: Path, most: int, format: str | None = None) -> None:
        self._path, self._most = path, most
        self._rooms: dict[str, LogRoom] = {}
        self._sessions = _Sessions(model, path.parent)
        self._links: dict[int, _Links] = {}
        self._report = Report()
        if format is not None and format.partition(":")[0] not in readers():
            # Never `module:Class`, which would be imported: clients must not choose what code runs.
            raise UnreadableLogError(f"There is no format of this name. Known are {', '.join(readers())}.")
        try:
            self._logs = find_logs(path, format=format, report=self._report)
        except LogError as error:
            raise UnreadableLogError(_unknown(path) if format is None else _told(error)) from error
        groups = grouped(self._logs, place_of)
        self._logs = [log for logs in groups.values() for log in logs]

    def __iter__(self) -> Iterator[Lines]:
        yield from self._look_through()
        total = sum(room.lines for room in self._rooms.values())
        rooms = [room.record() for room in self._rooms.values()]
        yield [_line("rooms", rooms=rooms, lines=total, **self._left_out())]
        yield from self._answer(total)
        yield [_line("complete", lines=total)]

    def _look_through(self) -> Iterator[Lines]:
        """Find the rooms, and count their lines."""
        told = monotonic()
        for total, (room, message) in enumerate(self._read(self._report), start=1):
            room.lines += 1
            room.messages += message.kind in SPOKEN
            if total > self._most:
                raise UnreadableLogError(f"The log has more than {self._most} lines; send a part of it.")
            if total % _STEP == 0:
                late = monotonic() - told > _PACE
                told = monotonic() if late else told
                yield [_line("progress", read=total, done=0, of=None, seconds_left=None)] if late else []
        if not any(room.messages for room in self._rooms.values()):
            raise UnreadableLogError("No message was found in it; check that it is a chat log.")

    def _answer(self, total: int) -> Iterator[Lines]:
        done, start = 0, monotonic()
        told = start
        for chunk in _chunks(self._read(Report())):
            answers = list(self._observe(chunk))
            done += len(chunk)
            if monotonic() - told > _PACE:
                told = monotonic()
                left = round((told - start) * (total - done) / done, 1)
                answers.append(_line("progress", read=total, done=done, of=total, seconds_left=left))
            yield answers

    def _observe(self, chunk: list[tuple[LogRoom, Message]]) -> Iterator[str]:
        """The answers about some lines, in their order; each room has its own session."""
        by_room: dict[int, list[Message]] = {}
        for room, message in chunk:
            by_room.setdefault(room.number, []).append(replace(message, line=room.answered))
            room.answered += 1
        found = {
            number: iter(self._sessions.get(number).observe_all(messages))
            for number, messages in by_room.items()
        }
        for room, message in chunk:
            answer = observation(next(found[room.number]))
            self._links.setdefault(room.number, _Links()).settle(message, answer)
            yield _line("message", room=room.number, line=message.line, **answer)
        for room, _ in chunk:
            if room.answered == room.lines:
                self._sessions.drop(room.number)
                self._links.pop(room.number, None)

    def _read(self, report: Report) -> Iterator[tuple[LogRoom, Message]]:
        """Every line with its room, except lines that only state the day."""
        count = 0
        try:
            for log in self._logs:
                name = self._name(log)
                for message in log.messages(report):
                    if message.kind is not Kind.DAY:
                        count += 1
                        yield self._room(message.channel or name, log), message
        except LogError as error:
            where = f"after {count} lines" if count else "at its beginning"
            sentence = f"The log is damaged, encrypted or ends early {where}; export or pack it again."
            raise UnreadableLogError(sentence) from error

    def _room(self, name: str, log: Log) -> LogRoom:
        room = self._rooms.get(name)
        if room is None:
            if len(self._rooms) == _ROOMS:
                raise UnreadableLogError(f"The log has more than {_ROOMS} rooms; send a part of it.")
            room = self._rooms[name] = LogRoom(len(self._rooms), name, log.reader.name, log.reader.options)
        return room

    def _name(self, log: Log) -> str:
        """The room of messages that name none; files whose names differ only in the day are one room."""
        return self._path.name if len(self._logs) == 1 else room_of_file(*place_of(log))

    def _left_out(self) -> dict[str, Any]:
        """What could not be read; paths are relative to the archive."""
        report, folder = self._report, f"{self._path.parent}/"
        texts = [each.replace(folder, "") for each in (*report.problems, *report.skipped_files)]
        left_out = {"lines": report.malformed, "files": len(report.skipped_files)}
        assumed = [each.replace(folder, "").removesuffix(_HINT) for each in report.assumptions[:_SHOWN]]
        return {"left_out": left_out, "problems": texts[:_SHOWN], "assumed": assumed}


class _Links:
    """The reply links of a room, by message number: the platform's own, where it has them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._threads: dict[int, int] = {}

    def settle(self, message: Message, answer: dict[str, Any]) -> None:
        """Replace the model's link by the platform's, however far back it points."""
        own, starts = answer["number"], message.id is not None and message.reply_to == message.id
        to = own if starts else self._numbers.get(message.reply_to or "")
        if to is not None:
            answer |= {"replies_to": [to], "thread_probability": 1.0}
        else:
            to = answer["replies_to"][0]
        answer["thread"] = self._threads[own] = own if to == own else self._threads.get(to, own)
        if message.id is not None and message.kind not in CHANGES:
            self._numbers[message.id] = own


class LogReport:
    """The report of a log, as lines of JSON: first the progress, then a page.

    Args:
        model: The model.
        path: The file: a log, an archive of logs, an export.
        most: Maximum number of lines.
        format: Format of the log; detected if None.
    """

    def __init__(self, model: Model, path: Path, most: int, format: str | None = None) -> None:
        self._model, self._path, self._most, self._format = model, path, most, format

    def __iter__(self) -> Iterator[Lines]:
        gathering, told, done = Gathering(), monotonic(), 0
        try:
            for answered in answers(self._model, locate(self._path, format=self._format)):
                gathering.add(answered)
                done += 1
                if done > self._most:
                    raise UnreadableLogError(f"The log has more than {self._most} lines; send a part of it.")
                if done % _STEP == 0:
                    late = monotonic() - told > _PACE
                    told = monotonic() if late else told
                    yield (
                        [_line("progress", read=done, done=done, of=None, seconds_left=None)] if late else []
                    )
        except LogError as error:
            reason = _told(error) if self._format is not None or done else _unknown(self._path)
            raise UnreadableLogError(reason) from error
        columns = gathering.finished()
        if not len(columns):
            raise UnreadableLogError("No message was found in it; see whether it is a chat log.")
        yield []
        page = report_page(measure(columns, self._path.stem))
        for start in range(0, len(page), _LARGE):
            yield [_line("report", page=page[start : start + _LARGE])]
        yield [_line("complete", lines=done)]


@dataclass
class _Sessions:
    """The sessions of rooms: those used most recently are in memory, the others in files.

    Args:
        model: The model.
        folder: Folder for those files.
    """

    model: Model
    folder: Path
    live: OrderedDict[int, Session] = field(default_factory=OrderedDict)

    def get(self, room: int) -> Session:
        """The session of a room; restored from its file if it is not in memory."""
        session = self.live.get(room)
        if session is None:
            if len(self.live) == _LIVE:
                other, left = self.live.popitem(last=False)
                self._file(other).write_text(json.dumps(left.state()), "utf-8")
            state = self._file(room)
            session = self.model.session(json.loads(state.read_text("utf-8")) if state.exists() else None)
            self.live[room] = session
        self.live.move_to_end(room)
        return session

    def drop(self, room: int) -> None:
        """Drop the session of a finished room; in most exports, rooms come one after the other."""
        self.live.pop(room, None)

    def _file(self, room: int) -> Path:
        return self.folder / f"{room}.session"


def _told(error: LogError) -> str:
    """A sentence that says why the log cannot be read in the format that was given."""
    return f"The log cannot be read so: {error.reason.rstrip('.')}."


def _unknown(path: Path) -> str:
    with path.open("rb") as file:
        if not file.read(1 << 16).strip():
            return "The log is empty."
    known = ", ".join(readers())
    return f"The log is in none of the formats that are known, or damaged. Known are {known}."


def _chunks(lines: Iterable[tuple[LogRoom, Message]]) -> Iterator[list[tuple[LogRoom, Message]]]:
    """Splits lines into chunks, large enough for the model to be fast and small enough for memory."""
    chunk: list[tuple[LogRoom, Message]] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line[1].text)
        if len(chunk) == CHUNK or size > _LARGE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _line(type: str, **fields: Any) -> str:
    """A line of JSON; lone surrogates, which UTF-8 cannot encode, become question marks."""
    text = json.dumps({"type": type, **fields}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()
