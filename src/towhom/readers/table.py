"""Tables of messages: CSV, TSV, Parquet, and JSON with any keys; columns are found, or named by the user.

Columns are found by their names or, if the names are not telling, by their content.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from towhom.chat import Kind
from towhom.errors import LogError
from towhom.extras import require
from towhom.readers.base import PARQUET, Folder, Source, decode
from towhom.readers.columns import (
    FEWEST,
    FIELDS,
    columns_by_values,
    columns_named,
    columns_of,
    is_first_row,
    plain_name,
    record_paths,
    time_of_row,
)
from towhom.readers.induction import induce
from towhom.readers.json_export import KEY, items_below
from towhom.readers.markup import plain_text
from towhom.readers.posts import Post, Posts, identifier
from towhom.readers.times import is_day_first, short_dates

_ROOMS = ("channel name", "room name", "channel", "room", "title", "topic", "name", "display name", "id")
"""Keys around messages that have the name of their room, the most certain first."""
_DELIMITERS = ("\t", ",", ";", "|")
_DISCRIMINATOR = re.compile(r"(?<=[^\s#])#[0-9]{4}$")
"""The number that Discord used to append to names, which people leave out when they mention somebody."""
_MARKUP = re.compile(r"<(?:p|div|span|br)\b[^<>]*>", re.IGNORECASE)
"""The beginning of texts that are HTML."""
_WAYS = ("type", "direction", "message type", "status")
_OUT = ("outgoing", "out", "sent")
"""Values that mark messages by the person who exported the table."""
_SHOWN = 12
_ROWS = 1000
"""Rows of a Parquet file that are in memory at once."""


class Table(Posts):
    """A table with a message in each row. Columns are recognized, or given as `speaker=from,text=body`."""

    name = "table"
    title = "table of messages (CSV, TSV, Parquet, JSON with keys of its own; --columns names the columns)"
    counts_by_room = True
    paths: ClassVar[tuple[str, ...]] = ("", "item", "messages.item", "data.item", "rows.item")

    def __init__(
        self,
        columns: dict[str, str] | None = None,
        *,
        path: str | None = None,
        delimiter: str | None = None,
        day_first: bool = True,
        by_values: bool = False,
    ) -> None:
        super().__init__(None, path)
        self.columns = columns or {}
        self.delimiter = delimiter
        self.day_first = day_first
        self.by_values = by_values

    @property
    def assumption(self) -> str | None:
        """The columns, if they were found by their content."""
        if not self.by_values:
            return None
        columns = ",".join(f"{field}={column}" for field, column in self.columns.items())
        return f"columns were chosen by their content: {columns}. If that is wrong: --columns"

    @classmethod
    def explain(cls, source: Source) -> str | None:
        """Describe the objects in a JSON file that are not plainly messages."""
        found = record_paths(source)
        if not found:
            return None
        path, keys, count = max(found, key=lambda each: (each[2], len(each[1])))
        shown = ", ".join(key[:40] for key in list(keys)[:_SHOWN]) or "none"
        where = f"under {path!r}" if path else "in its lines"
        return f"it is JSON; {where} there are objects ({count} in its beginning) with the keys {shown}"

    @property
    def options(self) -> str:
        """The columns as options: `speaker=from,text=body`."""
        return ",".join(f"{field}={column}" for field, column in self.columns.items())

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for columns or keys that are a speaker and a text."""
        if isinstance(source, Folder):
            return False
        if source.head.startswith(PARQUET):
            return True
        return cls._found(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find the rows and their columns."""
        if isinstance(source, Folder):
            return cls()
        if source.head.startswith(PARQUET):
            names = _parquetcolumns_named(source)
            columns = columns_named(names, weak=True)
            if columns is None:
                raise _unknown(source, names)
            return cls(columns, path="parquet")
        return cls._found(source) or cls()

    @classmethod
    def from_options(cls, source: Source | Folder, options: str) -> Self:
        """Set columns by name, or by number from 1: `speaker=from,text=body`."""
        if isinstance(source, Folder):
            return cls()
        given = _given(options, source)
        shapes = list(cls._shapes(source))
        for path, delimiter, names in shapes:
            missing = [
                column for column in given.values() if column not in names and not _number(column, names)
            ]
            if names and not missing:
                # If all columns are given by number, the table has no row of names.
                has_header = not all(_number(column, names) for column in given.values())
                columns = {**(columns_named(names, weak=True) or {}), **given} if has_header else given
                columns.pop("name", None)  # the user has named the speaker's column
                return cls(
                    {field: column for field, column in columns.items() if column},
                    path=path,
                    delimiter=delimiter,
                    day_first=_day_first(source),
                )
        raise _unknown(source, next((names for _, _, names in shapes if names), []), given)

    @classmethod
    def _shapes(cls, source: Source) -> Iterator[tuple[str, str | None, list[str]]]:
        """Yield possible layouts: the path of the rows, the delimiter, and the names of the columns."""
        if source.head.startswith(PARQUET):
            yield "parquet", None, _parquetcolumns_named(source)
            return
        for path, samples, _ in record_paths(source):
            yield path, None, list(samples)
        for delimiter in (",", *_DELIMITERS):
            yield "csv", delimiter, _first_row(source, delimiter)

    @classmethod
    def _found(cls, source: Source) -> Self | None:
        for delimiter in _DELIMITERS:
            columns = columns_named(_first_row(source, delimiter))
            if columns is not None:
                return cls(columns, path="csv", delimiter=delimiter, day_first=_day_first(source))
        found = []
        for path, samples, count in record_paths(source):
            columns = columns_of(samples, count)
            if columns is not None:
                found.append((count, path, columns))
        if found:  # of nested lists, the one with the most objects
            _, path, columns = max(found, key=lambda each: each[0])
            return cls(columns, path=path)
        return cls._by_values(source)

    @classmethod
    def _by_values(cls, source: Source) -> Self | None:
        """Find columns by their content if their names are not telling."""
        day_first = _day_first(source)
        for delimiter in _DELIMITERS if induce(tuple(source.head_lines)) is None else ():
            rows = _head_rows(source, delimiter)
            columns = columns_by_values(rows[1:], day_first) if len({len(row) for row in rows}) == 1 else None
            if columns is not None:
                first = rows[0]
                header = [] if is_first_row(first, columns, day_first) else first
                named = {
                    field: header[place] if header else str(place + 1) for field, place in columns.items()
                }
                return cls(named, path="csv", delimiter=delimiter, day_first=day_first, by_values=True)
        for path, samples, count in record_paths(source):
            most = max(map(len, samples.values()))
            names = [
                name for name, values in samples.items() if len(values) >= most * 0.8 and "item" not in name
            ]
            if not names or count < FEWEST:
                continue
            size = min(len(samples[name]) for name in names)
            rows = [[str(samples[name][place]) for name in names] for place in range(size)]
            columns = columns_by_values(rows, day_first)
            if columns is not None:
                named = {field: names[place] for field, place in columns.items()}
                return cls(named, path=path, day_first=day_first, by_values=True)
        return None

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield numbered rows, as mappings from column to value."""
        if self.path == "csv":
            return self._rows(file)
        if self.path == "parquet":
            return _batches(file, list(self.columns.values()))
        if "*" in self.path or self.path.count("item") > 1:
            return self._nested(file)
        return super().file_values(file, source)

    def _nested(self, file: Source) -> Iterator[tuple[int, Any]]:
        """Yield objects of nested lists, or under any key, with their room."""
        number = -1
        for around, value in items_below(file, self.path):
            number += 1
            needed = (self.columns["speaker"], self.columns["text"])
            if isinstance(value, dict) and all(_cell(value, column) is None for column in needed):
                continue  # from a list of something else
            room = _room_around(around)
            added = {_ROOM: room, KEY: around.get(KEY)} if isinstance(value, dict) else {}
            yield number, {**value, **{key: each for key, each in added.items() if each}} if added else value

    def _rows(self, file: Source) -> Iterator[tuple[int, Any]]:
        lines = (decode(line) + "\n" for _, line in file.lines())
        rows = csv.reader((line.replace("\0", "") for line in lines), delimiter=self.delimiter or ",")
        header: Sequence[str] | None = None
        number = -1
        while True:
            start = rows.line_num
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield start, f"no row of a table: {error}"
                continue
            number += 1
            if header is None:
                header = [cell.strip().removeprefix("\ufeff") for cell in row]
                if all(_number(column, header) and column not in header for column in self.columns.values()):
                    header = [str(place) for place in range(1, len(row) + 1)]
                else:
                    continue
            if len(row) > len(header) and header[-1] == self.columns.get("text"):
                # The table's writer did not quote a text that contains the delimiter.
                last = len(header) - 1
                row = [*row[:last], (self.delimiter or ",").join(row[last:])]
            if any(cell.strip() for cell in row):
                yield start, dict(zip(header, row, strict=False))

    def post(self, value: Any) -> Post:
        """Turn a row into a post."""
        if not isinstance(value, dict):
            raise ValueError(value if isinstance(value, str) else "not a row of a table")
        found = {field: _cell(value, column) for field, column in self.columns.items()}
        text = found.get("text")
        if text is None:
            raise ValueError(f'there is nothing under "{self.columns.get("text", "text")}"')
        text = str(text)
        if _MARKUP.match(text):
            text = plain_text(text).text
        speaker = _text(found.get("name")) or _text(found.get("speaker"))
        if speaker is None and any(str(value[key]).lower() in _OUT for key in value if key.lower() in _WAYS):
            speaker = "me"
        kind = identifier(found.get("kind"))
        addressee = identifier(found.get("addressee"))
        return Post(
            text=text,
            speaker=_DISCRIMINATOR.sub("", speaker or "") or None,
            time=time_of_row(found.get("day"), found.get("time"), day_first=self.day_first),
            id=_text(found.get("id")) or _text(value.get(KEY)),
            reply_to=_text(found.get("reply_to")),
            kind=kind if kind in set(Kind) else Kind.MESSAGE,
            room=_text(found.get("channel")) or _text(value.get(_ROOM)),
            mentions=[("", None, addressee)] if addressee else [],
        )


_ROOM = "\0room"
"""The key under which a row has the room found around it."""


def _head_rows(source: Source, delimiter: str) -> list[list[str]]:
    lines = [line.decode("utf-8", errors="replace")[:10_000] for line in source.head_lines]
    if not lines or delimiter not in lines[0] or any("\0" in line for line in lines):
        return []
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _room_around(around: dict[str, Any]) -> str | None:
    """The room of messages from the values around them: the nearest name, or None."""
    best: tuple[int, int, str] | None = None
    for path, value in around.items():
        outer, _, key = path.rpartition(".")
        if plain_name(key) in _ROOMS and (name := _text(value)):
            rank = (-outer.count("."), _ROOMS.index(plain_name(key)), name)
            best = rank if best is None or rank < best else best
    return best[2] if best else _text(around.get("*"))


def _cell(row: dict[str, Any], column: str) -> Any:
    """The value of a column, which may be nested keys: `user.name`."""
    if column in row:
        return row[column]
    value: Any = row
    for place, key in enumerate(keys := column.split(".")):
        if isinstance(value, list) and key == "item":  # a text split into pieces
            rest = ".".join(keys[place + 1 :])
            pieces = (_cell(each, rest) if rest and isinstance(each, dict) else each for each in value)
            return "".join(piece for piece in pieces if isinstance(piece, str))
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and value.is_integer():  # an integer in a column of numbers with gaps
        return str(int(value))
    return identifier(value)


def _first_row(source: Source, delimiter: str) -> list[str]:
    if not source.head_lines or b"\0" in source.head_lines[0]:
        return []
    line = source.head_lines[0].decode("utf-8", errors="replace")
    if delimiter not in line or len(line) > 10_000:
        return []
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except (csv.Error, StopIteration):
        return []


def _number(column: str, names: Sequence[str]) -> bool:
    """Whether a column is given by number."""
    return column.isdecimal() and len(column) < 6 and 1 <= int(column) <= len(names)


def _day_first(source: Source) -> bool:
    return is_day_first(short_dates(line.decode("utf-8", errors="replace") for line in source.head_lines))


def _given(options: str, source: Source) -> dict[str, str]:
    """Parse the columns that the user gave.

    Raises:
        LogError: They cannot be parsed, or the speaker or the text is missing.
    """
    given = {}
    for each in options.split(","):
        field, equals, column = (part.strip() for part in each.partition("="))
        if field == "to":
            field = "addressee"
        if not equals or not column or field not in FIELDS:
            known = ", ".join(FIELDS)
            reason = f"columns are given as speaker=NAME,text=NAME, not {each.strip()!r}; known are {known}"
            raise LogError(reason, file=source.name)
        given[field] = column
    if not {"speaker", "text"} <= given.keys():
        raise LogError("columns must say which is the speaker and which the text", file=source.name)
    return given


def _unknown(source: Source, names: Sequence[str], given: dict[str, str] | None = None) -> LogError:
    shown = ", ".join(name[:40] for name in names[:_SHOWN]) or "none that can be told"
    missing = [column for column in (given or {}).values() if column not in names]
    what = f"there is no column {missing[0]!r}" if missing else "no column is plainly the speaker or the text"
    return LogError(
        f"{what}; its columns are: {shown}. Name them: --columns speaker=NAME,text=NAME", file=source.name
    )


def _parquetcolumns_named(source: Source) -> list[str]:
    with _parquet(source) as table:
        names: list[str] = table.schema_arrow.names
        return names


@contextmanager
def _parquet(source: Source) -> Iterator[Any]:
    """Open a Parquet file.

    Raises:
        LogError: The file is damaged.
    """
    parquet = require("pyarrow.parquet", extra="export", purpose="reading Parquet")
    with source.open() as stream:
        try:
            yield parquet.ParquetFile(stream)
        except (OSError, ValueError) as error:  # pyarrow's errors are subclasses of these
            raise source.damaged(error) from error


def _batches(file: Source, columns: list[str]) -> Iterator[tuple[int, Any]]:
    number = 0
    with _parquet(file) as table:
        wanted = [name for name in table.schema_arrow.names if name in columns]
        for batch in table.iter_batches(batch_size=_ROWS, columns=wanted):
            for row in batch.to_pylist():
                yield number, row
                number += 1
