"""Rows, which are written about each message, as JSON lines or Parquet."""

from __future__ import annotations

import io
import json
from typing import Any

from towhom.batch.segments import Line
from towhom.batch.settings import Command, Output
from towhom.extras import require
from towhom.live.reading import THREAD_FIELDS, WHO_FIELDS, Answered, thread_record, who_record

_NUMBERS = {"line": "int64", "probability": "float64"}

Row = dict[str, Any]


def row_of(answered: Answered, line: Line, command: Command) -> Row:
    """The row of a message: the record that the command writes in JSON, or the data that a report needs."""
    if command is Command.REPORT:
        return {
            "number": line.number,
            "room": answered.located.room,
            "line": line.encoded().decode(),
            "name": answered.name,
            "text": answered.text,
            "replies_to": answered.replies_to,
            "thread": answered.thread,
        }
    return thread_record(answered) if command is Command.THREADS else who_record(answered, likely=True)


def encode(rows: list[Row], command: Command, output: Output) -> bytes:
    """Encode rows as the content of a file."""
    if output is Output.JSON:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return "".join(lines).encode("utf-8", "replace")  # lone surrogates become question marks
    pa = require("pyarrow", extra="export", purpose="writing Parquet files")
    parquet = require("pyarrow.parquet", extra="export", purpose="writing Parquet files")
    columns = {
        field.name: _column(pa, [row[field.name] for row in rows], field.type)
        for field in _schema(pa, command)
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def _column(pa: Any, values: list[Any], type: Any) -> Any:
    try:
        return pa.array(values, type)
    except UnicodeEncodeError:  # lone surrogates become question marks
        return pa.array([_encodable(value) for value in values], type)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    return value


def _schema(pa: Any, command: Command) -> Any:
    names = THREAD_FIELDS if command is Command.THREADS else WHO_FIELDS
    fields = [(name, getattr(pa, _NUMBERS.get(name, "string"))()) for name in names]
    if command is Command.WHO:
        somebody = pa.struct([("name", pa.string()), ("id", pa.string()), ("probability", pa.float64())])
        fields.append(("addressees", pa.list_(somebody)))
    return pa.schema(fields)
