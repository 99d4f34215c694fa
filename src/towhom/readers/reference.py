"""Corpus files of Ouchi and Tsuboi (2016), which the paper uses: `*.cand-2.gz`, `*.cand-10.*`.

Tab-separated: time, sender, addressee or `-`, K candidates, label or `-`. A line with a label is a sample,
and its text is its true candidate; the text of any other line is its first candidate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Reader, Record, Report, Source

_TIME = re.compile(r"(?:(\d{4}-\d\d-\d\d)[T ]+)?\[?(\d{1,2}):(\d\d)(?::(\d\d))?\]?")
_LABEL = re.compile(r"-|\d{1,2}")


class ReferenceLine(NamedTuple):
    """A message and, if it is a sample, its candidates and the index of the true one."""

    message: Message
    candidates: tuple[str, ...]
    label: int | None


class Reference(Reader):
    """The published files, including candidates and labels."""

    name = "reference"
    title = "corpus files of Ouchi and Tsuboi (*.cand-2.gz, *.cand-10.*)"

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Check that nearly all of the first lines have these fields."""
        if isinstance(source, Folder) or not source.head_lines:
            return False
        lines = [line.decode("utf-8", errors="replace") for line in source.head_lines]
        lines = [line for line in lines if not line.startswith("# ")]
        good = sum(isinstance(_fields(line), list) for line in lines)
        return good > 0 and good >= 0.9 * len(lines)

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield lines."""
        return source.lines() if isinstance(source, Source) else iter(())

    def key(self, record: Record) -> str | None:
        """A new key at an empty line, which ends a document, or at a line that names a document."""
        number, line = record
        if line.startswith(b"# "):
            return str(line[2:].decode("utf-8", errors="replace").strip())
        return f"line {number + 1}" if not line.strip() else None

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield messages, without the false candidates."""
        return (line.message for line in self.parse_samples(records, report, file))

    def parse_samples(self, records: Iterable[Record], report: Report, file: str) -> Iterator[ReferenceLine]:
        """Yield messages with their candidates and labels."""
        for number, raw in records:
            text = report.decode(raw)
            if not text.strip() or text.startswith("# "):
                continue
            fields = _fields(text)
            if isinstance(fields, str):
                report.skip(fields, file=file, record=number)
                continue
            time, sender, addressee, *candidates, label = fields
            true = None if label == "-" or addressee == "-" else int(label)
            message = Message(
                _nick(sender),
                candidates[true or 0],
                None if addressee == "-" else _nick(addressee),
                _time(time),
                line=number,
            )
            report.kinds[Kind.MESSAGE] += 1
            yield ReferenceLine(message, tuple(candidates) if true is not None else (), true)


def _fields(line: str) -> list[str] | str:
    """The fields of a line, or a description of its error."""
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) < 6:
        return f"{len(fields)} fields; expected time, sender, addressee, two or more candidates, label"
    label = fields[-1].strip()
    if not _LABEL.fullmatch(label):
        return f"the label is {label[:20]!r}; expected a number or -"
    if label != "-" and int(label) >= len(fields) - 4:
        return f"the label is {label} with {len(fields) - 4} candidates"
    fields[-1] = label
    return fields


def _nick(field: str) -> str:
    return field[1:-1] if len(field) > 2 and field[0] == "<" and field[-1] == ">" else field


def _time(field: str) -> datetime | None:
    found = _TIME.search(field)
    if not found:
        return None
    day, hour, minute, second = found.groups()
    try:
        return datetime.fromisoformat(f"{day or '0001-01-01'}T{int(hour):02}:{minute}:{second or '00'}")
    except ValueError:
        return None
