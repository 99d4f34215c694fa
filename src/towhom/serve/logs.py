"""Logs that come as a text, in any format that can be read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO

from towhom.chat import Message
from towhom.errors import LogError, TowhomError
from towhom.readers import READERS, Log, Report, reader_class
from towhom.readers.base import Source

_NAMELESS = "log"
_SHOWN = 20


class UnreadableLogError(TowhomError):
    """A text that is no log, or too long a one; the message quotes nothing of it."""


class LogText:
    """A log that is read line by line.

    Args:
        text: The log.
        name: Of the file that it was in.
        most: How many lines are read at most.

    Raises:
        UnreadableLogError: It is in no format that is known.
    """

    def __init__(self, text: str, name: str | None, most: int) -> None:
        source = _Text(text, name)
        try:
            source.check()
            reader = next((each for each in map(reader_class, READERS) if each.sniff(source)), None)
        except LogError as error:
            raise UnreadableLogError("The log is empty, or not a text.") from error
        if reader is None:
            known = ", ".join(READERS)
            raise UnreadableLogError(f"The log is in none of the formats that are known: {known}.")
        self.format = reader.name
        self.problems: list[dict[str, Any]] = []
        """The first lines that could not be read, and why."""
        self._log, self._most = Log(source, reader.configure(source)), most

    def __iter__(self) -> Iterator[Message]:
        number = 0
        try:
            for message in self._log.messages(_Problems(found=self.problems)):
                if number == self._most:
                    raise UnreadableLogError(f"The log has more than {number} lines; send a part of it.")
                number += 1
                yield message
        except LogError as error:
            message_count = f"after {number} lines" if number else "at its beginning"
            raise UnreadableLogError(f"The log ends early or is damaged {message_count}.") from error


class _Text(Source):
    """A text as a file. It is taken as it stands: what looks packed is not unpacked."""

    def __init__(self, text: str, name: str | None) -> None:
        self._bytes = text.encode()
        # Some formats have the date in the file's name; folders mean nothing here.
        super().__init__(PurePath(name or _NAMELESS).name or _NAMELESS, lambda: io.BytesIO(self._bytes))

    def open(self) -> BinaryIO:
        return io.BufferedReader(io.BytesIO(self._bytes))


@dataclass
class _Problems(Report):
    """A report that keeps lines and reasons apart."""

    found: list[dict[str, Any]] = field(default_factory=list)

    def skip(self, reason: str, *, file: str, record: int) -> None:
        if len(self.found) < _SHOWN:
            self.found.append({"line": record + 1, "reason": reason})
