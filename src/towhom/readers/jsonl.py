"""JSON lines: an object for each message, the format that towhom writes.

`speaker` and `text` are required. `addressee`, `time` (ISO 8601), `id`, `reply_to`, `kind`, `channel` (or
`room`), `name` (the speaker's display name, if `speaker` is an identifier), `mentions` (a list of the people
whom the platform marks) and `bot` are optional; other keys are ignored. People and message ids may be whole
numbers. A document is a day of a channel, or the file if there are no channels and times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from towhom.chat import Message
from towhom.readers.base import Folder, Reader, Record, Report, Source
from towhom.wire import message_from

_OF_OTHERS = {"timestamp", "reply-to", "conversation_id", "date", "created_at"}
"""Keys that show that lines with a speaker and a text are in another format, which is read as a table."""


class JsonLines(Reader):
    """The format of towhom, and the easiest one into which to convert any other chat."""

    name = "jsonl"
    title = 'JSON lines, {"speaker": ..., "text": ...} a line (the format that towhom writes)'
    counts_by_room = True

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Check that the first line is an object with a speaker, a text, and no keys of other formats."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        first = _load(source.head_lines[0])
        if not isinstance(first, dict) or "speaker" not in first or "text" not in first:
            return False
        return "time" in first or not _OF_OTHERS & first.keys()

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield objects; a line that is not JSON is yielded unchanged."""
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
        """Yield a message for each object."""
        for number, value in records:
            try:
                message = message_from(value, line=number)
            except ValueError as error:
                report.skip(str(error), file=file, record=number)
                continue
            report.kinds[message.kind] += 1
            yield message


def _load(line: bytes) -> Any:
    """The JSON value of a line, or the line itself if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line
