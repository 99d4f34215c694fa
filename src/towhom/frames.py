"""Messages as columns: frames for pandas, Polars and pyarrow, and Parquet files.

Both are made by pyarrow, which the extra `export` installs. It is imported only when a frame is made;
`import towhom` needs neither pyarrow nor NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO, Any

from towhom.chat import Message
from towhom.extras import require

FIELDS = (
    "id", "room", "day", "time", "file", "line", "kind", "speaker", "name", "addressee", "how", "probability",
    "audience", "reason", "replies_to", "link_probability", "thread", "changes", "text",
)  # fmt: skip
"""The columns of a frame: a message's id and place, its speaker, addressee and text, and its link."""

_ROWS = 10_000
"""Number of rows of a batch."""


class Frame:
    """Messages as columns, for any library that supports Arrow's PyCapsule interface.

    `polars.DataFrame(frame)`, `pyarrow.table(frame)`, `pandas.DataFrame.from_arrow(frame)`; in older versions
    of pandas, `pyarrow.table(frame).to_pandas()`.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return f"Frame({len(self):,} messages: {', '.join(self.columns)})"

    def __arrow_c_schema__(self) -> object:
        return self._table.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def frame(
    *logs: str | Path | Iterable[Message],
    model: str | Path | None = None,
    format: str | None = None,
    room: Iterable[str] = (),
    since: datetime | date | None = None,
    until: datetime | date | None = None,
    speaker: Iterable[str] = (),
) -> Frame:
    """The messages of logs as columns: who each is for, what it answers, and its conversation.

    `FIELDS` are the columns. Times are in UTC; one without a zone counts as UTC.

    Args:
        logs: Files, folders, zip archives; or messages.
        model: A model folder; None for the model that comes with towhom.
        format: A name from `towhom.readers.readers()`; None to recognize it from the file.
        room: Only these rooms. This and the following options choose what is in the frame; the model reads
            everything.
        since: Only from this day or time on.
        until: Only up to this day or time; a day counts to its end.
        speaker: Only messages by these people.

    Raises:
        LogError: A log cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    pyarrow = require("pyarrow", extra="export", purpose="a frame")
    from towhom.loading import load
    from towhom.readers.filters import Filter

    shown = Filter(_several(room), _moment(since), _moment(until), _several(speaker))
    schema = _schema(FIELDS)
    rows: list[Mapping[str, Any]] = []
    batches = []
    for row in _records(logs, load(model), format, shown):
        rows.append(row)
        if len(rows) >= _ROWS:
            batches.append(_batch(rows, schema))
            rows = []
    batches.append(_batch(rows, schema))
    return Frame(pyarrow.Table.from_batches(batches, schema))


@contextmanager
def write_parquet(file: IO[bytes], fields: Sequence[str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Write records to a Parquet file, with one batch in memory at a time.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    require("pyarrow", extra="export", purpose="writing Parquet files")
    from pyarrow import parquet

    schema = _schema(fields)
    rows: list[Mapping[str, Any]] = []
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:

        def write(record: Mapping[str, Any]) -> None:
            rows.append(record)
            if len(rows) >= _ROWS:
                writer.write_batch(_batch(rows, schema))
                rows.clear()

        yield write
        writer.write_batch(_batch(rows, schema))


def _records(
    logs: Sequence[str | Path | Iterable[Message]], model: Any, format: str | None, shown: Any
) -> Iterator[dict[str, Any]]:
    from towhom.hearing.utterance import SPOKEN
    from towhom.live.reading import answers, record
    from towhom.readers import locate, locate_messages

    paths = [log for log in logs if isinstance(log, str | Path)]
    others = [log for log in logs if not isinstance(log, str | Path)]
    sources = [locate(*paths, format=format)] if paths else []
    for lines in (*sources, *(locate_messages(messages) for messages in others)):
        for answered in answers(model, lines):
            if answered.message.kind in SPOKEN and shown.keeps(answered.located, answered.name):
                yield record(answered)


def _schema(fields: Sequence[str]) -> Any:
    import pyarrow as pa

    types = {
        "day": pa.date32(),
        "time": pa.timestamp("us", "UTC"),
        "line": pa.int64(),
        "probability": pa.float64(),
        "link_probability": pa.float64(),
        "bot": pa.bool_(),
        "mentions": pa.list_(pa.string()),
    }
    return pa.schema([(field, types.get(field, pa.string())) for field in fields])


def _batch(rows: Sequence[Mapping[str, Any]], schema: Any) -> Any:
    import pyarrow as pa

    arrays = [
        pa.array([_value(field.name, row.get(field.name)) for row in rows], field.type) for field in schema
    ]
    return pa.record_batch(arrays, schema=schema)


def _value(field: str, value: Any) -> Any:
    """A value for Arrow: days and times are parsed, and half a surrogate pair in a text is replaced."""
    if field == "day" and value is not None:
        return date.fromisoformat(value)
    if field == "time" and value is not None:
        time = datetime.fromisoformat(value)
        if time.year == 1:  # a clock without a day
            return None
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _several(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _moment(day: datetime | date | None) -> datetime | None:
    if day is None or isinstance(day, datetime):
        return day
    return datetime(day.year, day.month, day.day)
