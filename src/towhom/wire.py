"""A message as JSON: reads it, and writes it in a short form on one line or with all fields.

A model's answers have two more JSON forms based on these: `towhom.serve.answers` has the one for HTTP, the
storage, the page and MCP; `towhom.live.reading` has the rows of tables and JSON lines.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from towhom.chat import Kind, Message

_IDENTIFIERS = ("speaker", "addressee", "id", "reply_to")
_WRITTEN = ("addressee", "id", "reply_to", "channel", "name")
_KINDS = {kind.value: kind for kind in Kind}


def message_from(value: Any, *, line: int | None = None) -> Message:
    """The message that a JSON object describes.

    Raises:
        ValueError: The value describes no message; the error says why.
    """
    if not isinstance(value, dict):
        raise ValueError("not a JSON object" if not isinstance(value, bytes) else "not JSON")
    found = {key: _identifier(value[key], key) for key in _IDENTIFIERS if value.get(key) is not None}
    kind = _KINDS.get(value.get("kind") or "message") if isinstance(value.get("kind"), str | None) else None
    if kind is None:
        raise ValueError(f'"kind" is {value["kind"]!r}; known are {", ".join(_KINDS)}')
    text = value.get("text", "" if kind is Kind.DELETE else None)
    if "speaker" not in found or not isinstance(text, str):
        raise ValueError(f'"{"text" if "speaker" in found else "speaker"}" is missing or not a string')
    for key in ("time", "channel", "room", "name"):
        if not isinstance(value.get(key), str | None):
            raise ValueError(f'"{key}" is not a string')
    mentions = value.get("mentions") or []
    if not isinstance(mentions, list):
        raise ValueError('"mentions" is not a list')
    if not isinstance(value.get("bot"), bool | None):
        raise ValueError('"bot" is neither true nor false')
    time = value.get("time")
    try:
        moment = None if time is None else datetime.fromisoformat(time)
    except ValueError:
        raise ValueError(f'"time" is {time!r}, not a date and time like 2024-05-31T14:00:00') from None
    return Message(
        found["speaker"], text, found.get("addressee"), moment, found.get("id"), found.get("reply_to"), kind,
        value.get("channel", value.get("room")), line, value.get("name"),
        tuple(_identifier(each, "mentions") for each in mentions), bool(value.get("bot")),
    )  # fmt: skip


def _identifier(value: object, key: str) -> str:
    """An identifier as a text; some platforms use whole numbers."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    raise ValueError(f'"{key}" is {value!r}, neither a string nor a whole number')


def to_json(message: Message) -> str:
    """A message as one line of JSON, for files and journals; fields without a value are left out.

    >>> to_json(Message("ada", "done", addressee="grace"))
    '{"speaker": "ada", "text": "done", "addressee": "grace"}'
    """
    value: dict[str, Any] = {"speaker": message.speaker, "text": message.text}
    for key in _WRITTEN:
        field = getattr(message, key)
        if field is not None:
            value[key] = field
    if message.time is not None:
        value["time"] = message.time.isoformat()
    if message.kind is not Kind.MESSAGE:
        value["kind"] = message.kind.value
    if message.mentions:
        value["mentions"] = list(message.mentions)
    if message.bot:
        value["bot"] = True
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only JSON escapes can represent
        return json.dumps(value)
    return line


def message_record(message: Message) -> dict[str, Any]:
    """A message with all fields, for HTTP, the storage and the page; `message_from` reads it."""
    return {
        "speaker": message.speaker,
        "text": message.text,
        "addressee": message.addressee,
        "time": None if message.time is None else message.time.isoformat(),
        "id": message.id,
        "reply_to": message.reply_to,
        "kind": message.kind.value,
        "name": message.name,
        "mentions": list(message.mentions),
        "bot": message.bot,
    }
