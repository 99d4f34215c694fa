"""Tables of messages: CSV, TSV, Parquet, and JSON with keys of its own; columns are found, or named."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, ClassVar, Self

from towhom.chat import Kind
from towhom.errors import LogError
from towhom.extras import require
from towhom.readers.base import PARQUET, Folder, Source, decode
from towhom.readers.json_export import head_values, since_epoch
from towhom.readers.posts import Post, Posts, identifier
from towhom.readers.times import is_day_first, parse_time, short_dates

FIELDS = {
    "speaker": (
        *(
            "speaker",
            "sender",
            "author",
            "from",
            "username",
            "user",
            "nick",
            "nickname",
            "sender name",
            "from name",
        ),
        *(
            "user name",
            "author name",
            "speaker name",
            "display name",
            "real name",
            "participant",
            "member",
            "who",
        ),
        *("name", "person", "agent", "role", "actor", "character", "von", "autor", "auteur", "remitente"),
    ),
    "text": (
        *(
            "text",
            "message",
            "body",
            "content",
            "contents",
            "msg",
            "utterance",
            "message text",
            "message body",
        ),
        *("message content", "comment", "transcript", "dialogue", "sentence", "chat", "line", "turn", "said"),
        *("nachricht", "texte", "texto", "mensaje", "mensagem", "messaggio"),
    ),
    "time": (
        *(
            "time",
            "timestamp",
            "datetime",
            "date time",
            "date",
            "sent at",
            "sent",
            "created at",
            "created",
            "ts",
        ),
        *(
            "date sent",
            "time sent",
            "created date",
            "when",
            "posted at",
            "utc",
            "datum",
            "zeit",
            "fecha",
            "unixtime",
        ),
    ),
    "id": ("id", "message id", "msg id", "uuid", "utterance id"),
    "reply_to": (
        "reply to",
        "in reply to",
        "reply to id",
        "parent id",
        "parent message id",
        "reply to message id",
    ),
    "channel": (
        "channel",
        "room",
        "channel name",
        "conversation",
        "conversation id",
        "group",
        "thread",
        "chat name",
    ),
    "addressee": ("addressee", "recipient", "to"),
    "kind": ("kind",),
    "name": ("display name", "real name"),
}
"""What a column can be -> what it is called, the surest first."""

_WEAK = {"name", "who", "role", "line", "chat", "turn", "agent", "person", "member", "actor"}
"""Names of columns that tables of other things have, too: one of these alone is no sign of a chat."""
_DELIMITERS = ("\t", ",", ";", "|")
_SHOWN = 12
_ROWS = 1000
"""Of a file of Parquet that are in memory at once."""


class Table(Posts):
    """A message a row. Which columns are what is found by their names, or said: `speaker=from,text=body`."""

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
    ) -> None:
        super().__init__(None, path)
        self.columns = columns or {}
        self.delimiter = delimiter
        self.day_first = day_first

    @property
    def options(self) -> str:
        """The columns."""
        return ",".join(f"{field}={column}" for field, column in self.columns.items())

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """A first row, or keys, that name a speaker and a text."""
        if isinstance(source, Folder):
            return False
        if source.head.startswith(PARQUET):
            return True
        return cls._found(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Where the rows are, and which columns they have."""
        if isinstance(source, Folder):
            return cls()
        if source.head.startswith(PARQUET):
            names = _parquet_columns(source)
            columns = _columns(names, weak=True)
            if columns is None:
                raise _unknown(source, names)
            return cls(columns, path="parquet")
        return cls._found(source) or cls()

    @classmethod
    def from_options(cls, source: Source | Folder, options: str) -> Self:
        """`speaker=from,text=body`: names of columns, or their numbers from 1."""
        if isinstance(source, Folder):
            return cls()
        given = _given(options, source)
        for delimiter in (None, *_DELIMITERS):
            found, names = cls._shape(source, delimiter)
            missing = [
                column for column in given.values() if column not in names and not _number(column, names)
            ]
            if names and not missing:
                # A table whose columns are called by number has no names, unless others are found there.
                has_header = not all(_number(column, names) for column in given.values())
                columns = {**(_columns(names, weak=True) or {}), **given} if has_header else given
                return cls(
                    {field: column for field, column in columns.items() if column},
                    path=found,
                    delimiter=delimiter,
                    day_first=_day_first(source),
                )
        raise _unknown(source, cls._shape(source, None)[1] or cls._shape(source, ",")[1], given)

    @classmethod
    def _shape(cls, source: Source, delimiter: str | None) -> tuple[str, list[str]]:
        """Where the rows are, and the names of their columns, if they are in this form."""
        if delimiter is not None:
            return "csv", _first_row(source, delimiter)
        if source.head.startswith(PARQUET):
            return "parquet", _parquet_columns(source)
        head = head_values(source)
        for path in cls.paths:
            keys = [
                key[len(path) + 1 :] if path else key
                for key in head
                if key.startswith(f"{path}." if path else "")
            ]
            keys = [key for key in keys if key and not key.startswith("item")]
            if keys and (path or len(source.head_lines) > 1):
                return path, keys
        return "", []

    @classmethod
    def _found(cls, source: Source) -> Self | None:
        for delimiter in _DELIMITERS:
            columns = _columns(_first_row(source, delimiter))
            if columns is not None:
                return cls(columns, path="csv", delimiter=delimiter, day_first=_day_first(source))
        head = head_values(source)
        for path in cls.paths:
            keys = [
                key[len(path) + 1 :] if path else key
                for key in head
                if not path or key.startswith(f"{path}.")
            ]
            columns = _columns([key for key in keys if key and "." not in key])
            if columns is not None and isinstance(head.get(_at(path, columns["text"])), str):
                return cls(columns, path=path)
        return None

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Rows, as the values of their columns."""
        if self.path == "csv":
            return self._rows(file)
        if self.path == "parquet":
            return _batches(file, list(self.columns.values()))
        return super().file_values(file, source)

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
            if any(cell.strip() for cell in row):
                yield start, dict(zip(header, row, strict=False))

    def post(self, value: Any) -> Post:
        """The columns of a row."""
        if not isinstance(value, dict):
            raise ValueError(value if isinstance(value, str) else "not a row of a table")
        found = {field: _cell(value, column) for field, column in self.columns.items()}
        text = found.get("text")
        if text is None:
            raise ValueError(f'there is nothing under "{self.columns.get("text", "text")}"')
        kind = identifier(found.get("kind"))
        addressee = identifier(found.get("addressee"))
        return Post(
            text=str(text),
            speaker=_text(found.get("speaker")),
            time=self._time(found.get("time")),
            id=_text(found.get("id")),
            reply_to=_text(found.get("reply_to")),
            kind=kind if kind in set(Kind) else Kind.MESSAGE,
            room=_text(found.get("channel")),
            mentions=[("", None, addressee)] if addressee else [],
        )

    def _time(self, value: Any) -> str | None:
        """A cell as a time; a table whose times say nothing has none, and is in its order."""
        if isinstance(value, datetime):
            return value.isoformat()
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day).isoformat()
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not abs(value) < 1e14:
                return None
            return since_epoch(
                microseconds=round(value * (1000 if abs(value) >= 1e11 else 1_000_000))
            ).isoformat()
        time = parse_time(value, day_first=self.day_first) if isinstance(value, str) else None
        return time.isoformat() if time else None


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _cell(row: dict[str, Any], column: str) -> Any:
    """What is under a column, or under keys in keys: `user.name`."""
    if column in row:
        return row[column]
    value: Any = row
    for key in column.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and value.is_integer():  # a column of numbers with gaps
        return str(int(value))
    return identifier(value)


def _columns(names: Iterable[str], *, weak: bool = False) -> dict[str, str] | None:
    """Field -> column, by the names of the columns; None if there is no speaker or no text."""
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(" ".join(name.strip().lower().replace("_", " ").replace("-", " ").split()), name)
    joined = {name.replace(" ", ""): name for name in plain}
    columns: dict[str, str] = {}
    for field, known in FIELDS.items():
        for name in known:
            column = plain.get(name) or plain.get(joined.get(name.replace(" ", ""), ""))
            if column is not None and column not in columns.values():
                columns[field] = column
                break
    if "speaker" not in columns or "text" not in columns:
        return None
    both = {columns["speaker"].strip().lower(), columns["text"].strip().lower()}
    return columns if weak or not both & _WEAK or "time" in columns else None


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
    """Whether a column is called by its number."""
    return column.isdecimal() and len(column) < 6 and 1 <= int(column) <= len(names)


def _day_first(source: Source) -> bool:
    return is_day_first(short_dates(line.decode("utf-8", errors="replace") for line in source.head_lines))


def _given(options: str, source: Source) -> dict[str, str]:
    """What the user says of the columns.

    Raises:
        LogError: It cannot be read, or leaves out what is needed.
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


def _parquet_columns(source: Source) -> list[str]:
    with _parquet(source) as table:
        names: list[str] = table.schema_arrow.names
        return names


@contextmanager
def _parquet(source: Source) -> Iterator[Any]:
    """A file of Parquet.

    Raises:
        LogError: It is damaged.
    """
    parquet = require("pyarrow.parquet", extra="export", purpose="reading Parquet")
    with source.open() as stream:
        try:
            yield parquet.ParquetFile(stream)
        except (OSError, ValueError) as error:  # pyarrow's own errors are of these kinds
            raise source.damaged(error) from error


def _batches(file: Source, columns: list[str]) -> Iterator[tuple[int, Any]]:
    number = 0
    with _parquet(file) as table:
        wanted = [name for name in table.schema_arrow.names if name in columns]
        for batch in table.iter_batches(batch_size=_ROWS, columns=wanted):
            for row in batch.to_pylist():
                yield number, row
                number += 1
