"""JSON lines: one message an object, the format that towhom writes.

`speaker` and `text` are required. `addressee`, `time` (ISO 8601), `id`, `reply_to`, `kind`, `channel` (or
`room`), `name` (what people call the speaker, if `speaker` is an identifier), `mentions` (a list of those
whom the platform marks) and `bot` may be there; other keys are ignored. People and messages may be whole
numbers. A document is a channel's day; without channels and times, the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Reader, Record, Report, Source

_IDENTIFIERS = ("speaker", "addressee", "id", "reply_to")
_WRITTEN = ("addressee", "id", "reply_to", "channel", "name")
_OF_OTHERS = {"timestamp", "reply-to", "conversation_id", "date", "created_at"}
"""Keys of lines that have a speaker and a text, and are not ours: they are read as a table."""
_KINDS = {kind.value: kind for kind in Kind}


class JsonLines(Reader):
    """Our own format, and the easiest one to bring any other chat into."""

    name = "jsonl"
    title = 'JSON lines, {"speaker": ..., "text": ...} a line (the format that towhom writes)'
    counts_by_room = True

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """The first line is an object with a speaker and a text, and calls nothing as others do."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        first = _load(source.head_lines[0])
        if not isinstance(first, dict) or "speaker" not in first or "text" not in first:
            return False
        return "time" in first or not _OF_OTHERS & first.keys()

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Objects; a line that is no JSON as it stands."""
        if isinstance(source, Source):
            for number, line in source.lines():
                if line.strip():
                    yield number, _load(line)

    def key(self, record: Record) -> str | None:
        """Channel and day."""
        value = record[1]
        if not isinstance(value, dict):
            return None
        channel, time = value.get("channel", value.get("room")), value.get("time")
        parts = (channel, time[:10] if isinstance(time, str) else None)
        return " ".join(part for part in parts if isinstance(part, str) and part) or None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """One message an object."""
        for number, value in records:
            try:
                message = message_from(value, line=number)
            except ValueError as error:
                report.skip(str(error), file=file, record=number)
                continue
            report.kinds[message.kind] += 1
            yield message


def _load(line: bytes) -> Any:
    """The JSON value of a line, or the line itself if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def message_from(value: Any, *, line: int | None = None) -> Message:
    """The message that a JSON object describes.

    Raises:
        ValueError: It describes none; the text says why.
    """
    if not isinstance(value, dict):
        raise ValueError("not a JSON object" if not isinstance(value, bytes) else "not JSON")
    found = {key: _identifier(value[key], key) for key in _IDENTIFIERS if value.get(key) is not None}
    kind = _KINDS.get(value.get("kind") or "message") if isinstance(value.get("kind"), str | None) else None
    if kind is None:
        raise ValueError(f'"kind" is {value["kind"]!r}; known are {", ".join(_KINDS)}')
    text = value.get("text", "" if kind is Kind.DELETE else None)
    if "speaker" not in found or not isinstance(text, str):
        raise ValueError(f'"{"text" if "speaker" in found else "speaker"}" is missing or not a string')
    for key in ("time", "channel", "room", "name"):
        if not isinstance(value.get(key), str | None):
            raise ValueError(f'"{key}" is not a string')
    mentions = value.get("mentions") or []
    if not isinstance(mentions, list):
        raise ValueError('"mentions" is not a list')
    if not isinstance(value.get("bot"), bool | None):
        raise ValueError('"bot" is neither true nor false')
    time = value.get("time")
    try:
        moment = None if time is None else datetime.fromisoformat(time)
    except ValueError:
        raise ValueError(f'"time" is {time!r}, not a date and time like 2024-05-31T14:00:00') from None
    return Message(
        found["speaker"], text, found.get("addressee"), moment, found.get("id"), found.get("reply_to"), kind,
        value.get("channel", value.get("room")), line, value.get("name"),
        tuple(_identifier(each, "mentions") for each in mentions), bool(value.get("bot")),
    )  # fmt: skip


def _identifier(value: object, key: str) -> str:
    """A text; platforms number people and messages, too."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    raise ValueError(f'"{key}" is {value!r}, neither a string nor a whole number')


def to_json(message: Message) -> str:
    """A message as one line of JSON; what is not known is left out.

    >>> to_json(Message("ada", "done", addressee="grace"))
    '{"speaker": "ada", "text": "done", "addressee": "grace"}'
    """
    value: dict[str, Any] = {"speaker": message.speaker, "text": message.text}
    for key in _WRITTEN:
        field = getattr(message, key)
        if field is not None:
            value[key] = field
    if message.time is not None:
        value["time"] = message.time.isoformat()
    if message.kind is not Kind.MESSAGE:
        value["kind"] = message.kind.value
    if message.mentions:
        value["mentions"] = list(message.mentions)
    if message.bot:
        value["bot"] = True
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can say and UTF-8 cannot
        return json.dumps(value)
    return line
