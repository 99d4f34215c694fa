"""JSON lines: one message an object, the format that towhom writes.

`speaker` and `text` are required. `addressee`, `time` (ISO 8601), `id`, `reply_to`, `kind`, `channel` (or
`room`), `name` (what people call the speaker, if `speaker` is an identifier), `mentions` (a list of those
whom the platform marks) and `bot` may be there; other keys are ignored. People and messages may be whole
numbers. A document is a channel's day; without channels and times, the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from towhom.chat import Message
from towhom.readers.base import Folder, Reader, Record, Report, Source
from towhom.wire import message_from

_OF_OTHERS = {"timestamp", "reply-to", "conversation_id", "date", "created_at"}
"""Keys of lines that have a speaker and a text, and are not ours: they are read as a table."""


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
