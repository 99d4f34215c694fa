"""Tables of messages: CSV, TSV, Parquet, and JSON with keys of its own; columns are found, or named.

Columns are found by their names or, where these say nothing, by what stands in them.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, ClassVar, Self

from towhom.chat import Kind
from towhom.errors import LogError
from towhom.extras import require
from towhom.readers.base import PARQUET, Folder, Source, decode
from towhom.readers.induction import are_said, is_name, take_turns
from towhom.readers.json_export import head_shape, items_below, since_epoch
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
        *("source name", "global name", "commenter", "created by", "posted by"),
        *("sender id", "author id", "user id", "from id"),
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
            "timestamp ms",
            "timestamp usec",
            "create time",
            "create at",
            "date sent",
        ),
    ),
    "day": ("date", "day", "datum", "fecha"),
    "id": ("id", "message id", "msg id", "uuid", "utterance id"),
    "reply_to": (
        "reply to",
        "in reply to",
        "reply to id",
        "parent id",
        "parent message id",
        "reply to message id",
        "reply to.reply to msg id",
        "root id",
        "message reference.message id",
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
_IDENTIFIERS = {"created by", "posted by", "sender id", "author id", "user id", "from id"}
"""Names of columns that say who speaks, where no other says it better."""
_CLOCKS = {"time", "clock", "hour", "zeit", "uhrzeit", "hora", "heure", "ora"}
"""Names of columns that have the time of the day, where another has the day."""
_CONTAINERS = {
    *("messages", "message", "data", "items", "comments", "posts", "events", "results", "records", "rows"),
    *("entries", "conversation", "conversations", "chats", "chat", "history", "value", "values", "list", "log"),
    *("logs", "transcript", "segments", "utterances", "dialogue", "turns", "thread", "threads", "export"),
    *("response", "payload", "result", "content", "rooms", "channels", "edges", "node", "item", "replies"),
}
"""Keys that name what they hold; any other before a list of messages may be the name of a room."""
_ROOMS = ("channel name", "room name", "channel", "room", "title", "topic", "name", "display name", "id")
_FEWEST = 3
"""Rows by whose values columns are found, at least."""
_LONGEST_NAME = 60
_DELIMITERS = ("\t", ",", ";", "|")
_SHOWN = 12
_ROWS = 1000
"""Of a file of Parquet that are in memory at once."""


class Table(Posts):
    """A message a row. Which columns are what is found by their names, or said: `speaker=from,text=body`."""

    name = "table"
    title = "table of messages (CSV, TSV, Parquet, JSON with keys of its own; --columns names the columns)"
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
        """The columns, if their names did not tell them."""
        if not self.by_values:
            return None
        columns = ",".join(f"{field}={column}" for field, column in self.columns.items())
        return f"which columns are what is told from what stands in them: {columns}. If that is wrong: --columns"

    @classmethod
    def explain(cls, source: Source) -> str | None:
        """What a JSON file holds that is not plainly messages."""
        found = _record_paths(source)
        if not found:
            return None
        path, keys, count = max(found, key=lambda each: (each[2], len(each[1])))
        shown = ", ".join(key[:40] for key in list(keys)[:_SHOWN]) or "none"
        where = f"under {path!r}" if path else "in its lines"
        return f"it is JSON; {where} there are objects ({count} in its beginning) with the keys {shown}"

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
        shapes = list(cls._shapes(source))
        for path, delimiter, names in shapes:
            missing = [
                column for column in given.values() if column not in names and not _number(column, names)
            ]
            if names and not missing:
                # A table whose columns are called by number has no names, unless others are found there.
                has_header = not all(_number(column, names) for column in given.values())
                columns = {**(_columns(names, weak=True) or {}), **given} if has_header else given
                return cls(
                    {field: column for field, column in columns.items() if column},
                    path=path,
                    delimiter=delimiter,
                    day_first=_day_first(source),
                )
        raise _unknown(source, next((names for _, _, names in shapes if names), []), given)

    @classmethod
    def _shapes(cls, source: Source) -> Iterator[tuple[str, str | None, list[str]]]:
        """Where rows may be, what is between their cells, and the names of their columns."""
        if source.head.startswith(PARQUET):
            yield "parquet", None, _parquet_columns(source)
            return
        for path, samples, _ in _record_paths(source):
            yield path, None, list(samples)
        for delimiter in (",", *_DELIMITERS):
            yield "csv", delimiter, _first_row(source, delimiter)

    @classmethod
    def _found(cls, source: Source) -> Self | None:
        for delimiter in _DELIMITERS:
            columns = _columns(_first_row(source, delimiter))
            if columns is not None:
                return cls(columns, path="csv", delimiter=delimiter, day_first=_day_first(source))
        found = []
        for path, samples, count in _record_paths(source):
            columns = _columns_of(samples, count)
            if columns is not None:
                found.append((count, path, columns))
        if found:  # of lists in lists, the one that has the most
            _, path, columns = max(found, key=lambda each: each[0])
            return cls(columns, path=path)
        return cls._by_values(source)

    @classmethod
    def _by_values(cls, source: Source) -> Self | None:
        """Columns whose names say nothing, by what stands in them."""
        day_first = _day_first(source)
        for delimiter in _DELIMITERS:
            rows = _head_rows(source, delimiter)
            columns = _columns_by_values(rows[1:], day_first) if len({len(row) for row in rows}) == 1 else None
            if columns is not None:
                first = rows[0]
                header = [] if _is_row(first, columns, rows, day_first) else first
                named = {field: header[place] if header else str(place + 1) for field, place in columns.items()}
                return cls(named, path="csv", delimiter=delimiter, day_first=day_first, by_values=True)
        for path, samples, count in _record_paths(source):
            names = [name for name, values in samples.items() if len(values) >= count * 0.8 and "item" not in name]
            if not names or count < _FEWEST:
                continue
            size = min(len(samples[name]) for name in names)
            rows = [[str(samples[name][place]) for name in names] for place in range(size)]
            columns = _columns_by_values(rows, day_first)
            if columns is not None:
                named = {field: names[place] for field, place in columns.items()}
                return cls(named, path=path, day_first=day_first, by_values=True)
        return None

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Rows, as the values of their columns."""
        if self.path == "csv":
            return self._rows(file)
        if self.path == "parquet":
            return _batches(file, list(self.columns.values()))
        if "*" in self.path or self.path.count("item") > 1:
            return self._nested(file)
        return super().file_values(file, source)

    def _nested(self, file: Source) -> Iterator[tuple[int, Any]]:
        """Objects of lists in lists, or under any key, with the room that they are in."""
        number = -1
        for around, value in items_below(file, self.path):
            number += 1
            if isinstance(value, dict) and _cell(value, self.columns["text"]) is None:
                if _cell(value, self.columns["speaker"]) is None:
                    continue  # another list beside those of messages
            room = _room_around(around)
            yield number, {**value, _ROOM: room} if isinstance(value, dict) and room else value

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
            time=self._time_of(found.get("day"), found.get("time")),
            id=_text(found.get("id")),
            reply_to=_text(found.get("reply_to")),
            kind=kind if kind in set(Kind) else Kind.MESSAGE,
            room=_text(found.get("channel")) or _text(value.get(_ROOM)),
            mentions=[("", None, addressee)] if addressee else [],
        )

    def _time_of(self, day: Any, time: Any) -> str | None:
        """When a row is of, by one cell or two."""
        if isinstance(day, str) and isinstance(time, str):
            both = self._time(f"{day} {time}")
            if both is not None:
                return both
        return self._time(time) or self._time(day)

    def _time(self, value: Any) -> str | None:
        """A cell as a time; a table whose times say nothing has none, and is in its order."""
        if isinstance(value, datetime):
            return value.isoformat()
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day).isoformat()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(value)
        if isinstance(value, str) and value.isdecimal() and value.isascii() and 9 <= len(value) <= 16:
            return _since_1970(int(value))
        time = parse_time(value, day_first=self.day_first) if isinstance(value, str) else None
        return time.isoformat() if time else None


_ROOM = "\0room"
"""The key under which rows have the room that is told around them."""


def _since_1970(value: float) -> str | None:
    """A time in seconds, milliseconds or microseconds, whichever is in our days."""
    size = abs(value)
    if not size < 1e17:
        return None
    factor = 1_000_000 if size < 1e11 else 1000 if size < 1e14 else 1
    return since_epoch(microseconds=round(value * factor)).isoformat()


def _record_paths(source: Source) -> list[tuple[str, dict[str, list[Any]], int]]:
    """Where a JSON file has objects like one another: the path, what they say, and how many there are."""
    head = head_shape(source)
    lines = head.objects[""] > 1
    siblings = Counter(path.rpartition(".")[0] for path in head.objects)
    found: dict[str, tuple[dict[str, list[Any]], int]] = {}
    for path, count in head.objects.most_common(_MOST_PATHS):
        parts = path.split(".") if path else []
        if len(parts) > _DEEPEST or lines != (not parts):  # in JSON lines, each is an object
            continue
        # A key that no one would give a list of messages is the name of a room, or of a message.
        pattern = ".".join(
            part if part == "item" or part.lower() in _CONTAINERS else "*" for part in parts[:-1]
        )
        last = parts[-1] if parts else ""
        if parts and last != "item":
            if "item" in parts and siblings[".".join(parts[:-1])] < 2:
                continue  # a part of an object of a list
            last = "*" if last.lower() not in _CONTAINERS else last
        pattern = f"{pattern}.{last}" if pattern else last
        before = f"{path}." if path else ""
        samples = {
            key[len(before) :]: values
            for key, values in head.values.items()
            if key.startswith(before) and len(key) > len(before)
        }
        if not samples:
            continue
        old, number = found.get(pattern, ({}, 0))
        for key, values in samples.items():
            old.setdefault(key, []).extend(values[:_MOST_SAMPLES])
        found[pattern] = old, number + count
    return [
        (path, samples, count) for path, (samples, count) in found.items() if "item" in path or count > 1
    ]


_MOST_PATHS, _DEEPEST, _MOST_SAMPLES = 50, 8, 50
_USUAL = 0.6
"""How many of the objects have a speaker and a text, at least: others beside them are something else."""


def _columns_of(samples: dict[str, list[Any]], count: int) -> dict[str, str] | None:
    """Field -> key of the objects of a list, by their names: first the keys, then those of what is in them."""
    said = [key for key, values in samples.items() if any(isinstance(value, str) for value in values)]
    own = [key for key in samples if "." not in key]
    inner = [key for key in samples if "." in key and ".item." not in f"{key}." ]
    texts = [key for key in said if key.endswith(".item") and key.count("item") == 1]
    texts += [key for key in said if key.count(".item.") == 1 and key.endswith(".text")]
    columns = _columns([*own, *inner], weak=True, inner=True, texts=texts) or {}
    if columns.get("text") not in said or "speaker" not in columns:
        return None
    most = min(count, _MOST_SAMPLES)
    if any(len(samples[columns[field]]) < _USUAL * most for field in ("speaker", "text")):
        return None
    strong = {_plain(columns[field]) for field in ("speaker", "text")}
    return columns if not strong & _WEAK or "time" in columns else None


def _columns_by_values(rows: Sequence[Sequence[str]], day_first: bool) -> dict[str, int] | None:
    """Field -> place of a column, by what rows have there; None if that is not plainly a chat."""
    if len(rows) < _FEWEST:
        return None
    reader = Table(day_first=day_first)
    columns: dict[str, int] = {}
    cells = list(zip(*rows, strict=True))
    for place, values in enumerate(cells):
        if "time" not in columns and all(reader._time(value) for value in values):
            columns["time"] = place
        elif "time" in columns and "day" not in columns:
            day = cells[columns["time"]]
            if all(":" in value and reader._time(f"{one} {value}") for one, value in zip(day, values, strict=True)):
                columns["day"], columns["time"] = columns["time"], place
    free = [place for place in range(len(cells)) if place not in columns.values()]
    words = {place: sum(len(value.split()) for value in cells[place]) for place in free}
    text = max(free, key=lambda place: (words[place], len("".join(cells[place]))), default=None)
    if text is None:
        return None
    timed = "time" in columns
    for place in free:
        names = cells[place]
        if place != text and all(len(name) <= _LONGEST_NAME and is_name(name) for name in names):
            if take_turns(names, timed=timed, whole=True) and are_said(cells[text], timed=timed, whole=timed):
                return {"speaker": place, "text": text, **columns}
    return None


def _is_row(first: Sequence[str], columns: dict[str, int], rows: Sequence[Sequence[str]], day_first: bool) -> bool:
    """Whether the first row of a table is one of its messages, and not the names of its columns."""
    if "time" in columns:
        return Table(day_first=day_first)._time_of(
            first[columns["day"]] if "day" in columns else None, first[columns["time"]]
        ) is not None
    return any(row[columns["speaker"]] == first[columns["speaker"]] for row in rows[1:])


def _head_rows(source: Source, delimiter: str) -> list[list[str]]:
    lines = [line.decode("utf-8", errors="replace")[:10_000] for line in source.head_lines]
    if not lines or delimiter not in lines[0] or any("\0" in line for line in lines):
        return []
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _room_around(around: dict[str, Any]) -> str | None:
    """What is said of a room around its messages: the nearest name."""
    best: tuple[int, int, str] | None = None
    for path, value in around.items():
        outer, _, key = path.rpartition(".")
        if _plain(key) in _ROOMS and (name := _text(value)):
            rank = (-outer.count("."), _ROOMS.index(_plain(key)), name)
            best = rank if best is None or rank < best else best
    return best[2] if best else _text(around.get("*"))


def _cell(row: dict[str, Any], column: str) -> Any:
    """What is under a column, or under keys in keys: `user.name`."""
    if column in row:
        return row[column]
    value: Any = row
    for place, key in enumerate(keys := column.split(".")):
        if isinstance(value, list) and key == "item":  # a text in pieces
            rest = ".".join(keys[place + 1 :])
            pieces = (_cell(each, rest) if rest and isinstance(each, dict) else each for each in value)
            return "".join(piece for piece in pieces if isinstance(piece, str))
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _plain(name: str) -> str:
    """A name as it is compared: in small letters, with single spaces."""
    return " ".join(name.strip().lower().replace("_", " ").replace("-", " ").split())


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and value.is_integer():  # a column of numbers with gaps
        return str(int(value))
    return identifier(value)


def _columns(
    names: Iterable[str], *, weak: bool = False, inner: bool = False, texts: Iterable[str] = ()
) -> dict[str, str] | None:
    """Field -> column, by the names of the columns; None if there is no speaker or no text.

    Args:
        names: The columns.
        weak: Whether names that tables of other things have, too, are enough.
        inner: Whether a path of keys counts by its last one, where nothing else tells a speaker or a text.
        texts: Paths of texts in pieces.
    """
    plain: dict[str, str] = {}
    last: dict[str, str] = {}
    for name in names:
        if name.endswith("_"):  # what kind of object it is, as Telegram's libraries write it
            continue
        plain.setdefault(_plain(name), name)
        plain.setdefault(_plain(name.replace(".", " ")), name)
        last.setdefault(_plain(name.rpartition(".")[2]), name)
    joined = {name.replace(" ", ""): name for name in plain}
    columns: dict[str, str] = {}
    for field, known in FIELDS.items():
        sure = [name for name in known if name not in _IDENTIFIERS]
        stages = [plain.get(name) or plain.get(joined.get(name.replace(" ", ""), "")) for name in sure]
        if inner and field in ("speaker", "text", "time"):
            stages += [last.get(name) for name in sure]
        if field == "text":
            stages += [text for text in texts if set(map(_plain, text.split("."))) & set(known)]
        for name in known[len(sure) :]:
            stages += [plain.get(name), last.get(name) if inner else None]
        column = next((each for each in stages if each and each not in columns.values()), None)
        if column is not None:
            columns[field] = column
    if columns.get("time") and _plain(columns["time"]) not in _CLOCKS:
        columns.pop("day", None)
    if "speaker" not in columns or "text" not in columns:
        return None
    both = {_plain(columns["speaker"]), _plain(columns["text"])}
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
