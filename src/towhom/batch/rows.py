"""Rows: what is written about each message, in JSON lines or in Parquet."""

from __future__ import annotations

import io
import json
from typing import Any

from towhom.batch.segments import Line, Room
from towhom.batch.settings import Command, Output
from towhom.extras import require
from towhom.live import Observation
from towhom.threads import Placed

_ALTERNATIVES = 5
_DIGITS = 4

Row = dict[str, Any]


def identity(file: str, number: int) -> str:
    """What a message is called in all rows: no other message of any log has this name."""
    return f"{file}#{number}"


def thread_row(line: Line, room: Room, placed: Placed) -> Row:
    """A message with what it answers; its conversation comes later, since it may begin in another part."""
    return {
        **_message(line, room),
        "addressee": placed.message.addressee,
        "replies_to": [identity(room.file, number) for number in placed.replies_to],
        "thread": None,
        "probability": round(placed.probability, _DIGITS),
    }


def who_row(line: Line, room: Room, observation: Observation) -> Row:
    """A message with who it is for."""
    return {
        **_message(line, room),
        "text": observation.message.text,
        "name": observation.message.name or observation.message.speaker,
        "addressee": observation.addressee,
        "how": observation.how.value,
        "probability": round(observation.probability, _DIGITS),
        "audience": observation.audience.value,
        "reason": observation.reason,
        "addressees": [
            {"name": each.name, "id": each.id, "probability": round(each.probability, _DIGITS)}
            for each in observation.addressees[:_ALTERNATIVES]
        ],
    }


def _message(line: Line, room: Room) -> Row:
    message = line.message
    return {
        "id": identity(room.file, line.number),
        "file": room.file,
        "line": line.line,
        "channel": message.channel,
        "time": message.time.isoformat() if message.time else None,
        "kind": message.kind.value,
        "speaker": message.speaker,
        "name": message.name or message.speaker,
        "text": message.text,
    }


def encode(rows: list[Row], command: Command, output: Output) -> bytes:
    """Rows as the content of a file."""
    if output is Output.JSON:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return "".join(lines).encode("utf-8", "replace")  # half a surrogate pair becomes a question mark
    pa = require("pyarrow", extra="export", purpose="writing Parquet files")
    parquet = require("pyarrow.parquet", extra="export", purpose="writing Parquet files")
    columns = {
        field.name: pa.array([_encodable(row[field.name]) for row in rows], field.type)
        for field in _schema(pa, command)
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    return value


def _schema(pa: Any, command: Command) -> Any:
    text, real = pa.string(), pa.float64()
    fields = [("id", text), ("file", text), ("line", pa.int64())]
    fields += [(name, text) for name in ("channel", "time", "kind", "speaker", "name", "text", "addressee")]
    if command is Command.THREADS:
        fields += [("replies_to", pa.list_(text)), ("thread", text), ("probability", real)]
    else:
        somebody = pa.struct([("name", text), ("id", text), ("probability", real)])
        fields += [("how", text), ("probability", real), ("audience", text), ("reason", text)]
        fields += [("addressees", pa.list_(somebody))]
    return pa.schema(fields)
