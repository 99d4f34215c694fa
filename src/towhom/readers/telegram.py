"""Telegram: JSON exports of Telegram Desktop, of one chat or a whole account."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Self

import ijson

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Record, Source
from towhom.readers.json_export import (
    JsonExport,
    Seen,
    Value,
    head_values,
    name_in,
    part,
    read_json,
    since_epoch,
    time_at,
)
from towhom.readers.links import Mention, said

_CHATS = ("chats.list.item", "left_chats.list.item")
_DATES = ("date", "date_unixtime")
_FARTHEST, _QUARTER = timedelta(hours=14), timedelta(minutes=15)
"""Greatest offset of a zone from UTC, and the step between offsets."""
_ACCOUNT = {"personal_information", "contacts", "frequent_contacts", "chats", "left_chats"}


class Telegram(JsonExport):
    """`result.json`. Times are local to the exporting computer, with its zone if both times are written."""

    name = "telegram"
    title = "Telegram Desktop export (result.json, one chat or all)"
    counts_by_room = True
    kept = (
        *("id", "type", "date", "date_unixtime", "from", "from_id", "actor", "actor_id", "action", "text"),
        *("reply_to_message_id", "reply_to_peer_id", "chat"),
    )

    def __init__(self, channel: str | None = None, *, account: bool = False) -> None:
        super().__init__(channel)
        self.account = account

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for a chat with Telegram's messages, or an account with the keys that precede its chats."""
        head = head_values(source)
        account = "about" in head and not _ACCOUNT.isdisjoint(head)
        return _one_chat(head) or account or "chats.list" in head or "left_chats.list" in head

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find out whether the export is one chat or an account, and the chat's name."""
        head = head_values(source)
        return cls(_chat_name(head), account=bool(head) and "messages" not in head)

    def values(self, source: Source) -> Iterator[Any]:
        """Yield the messages; those of an account with the name of their chat."""
        if self.account:
            return read_json(source, _messages_of_chats, _MESSAGES[0])
        return super().values(source)

    def key(self, record: Record) -> str | None:
        """Chat and day."""
        time = part(record[1], "date")
        if not isinstance(time, str):
            moment = _moment(part(record[1], "date_unixtime"))
            if moment is None:
                return None
            time = str(moment)
        return " ".join(filter(None, (part(record[1], "chat") or self.channel, time[:10])))

    def link(self, value: Value, seen: Seen) -> None:
        """Add names, which come with the messages people write; message ids are unique only within a chat."""
        person = _person(value.get("from_id"))
        value["speaker"] = name_in(value, "from") or person
        seen.names.put(person, name_in(value, "from"))
        chat, answered = part(value, "chat"), _id(value.get("reply_to_message_id"))
        value["reply_to_message_id"] = answered
        elsewhere = value.get("reply_to_peer_id") is not None
        value["replied"] = None if elsewhere or answered is None else seen.authors.get((chat, answered))
        value["id"] = _id(value.get("id"))
        seen.authors.put((chat, value["id"]), value["speaker"])
        value["text"], value["mentions"] = _text(value.get("text"), seen)

    def message(self, value: Value, line: int) -> Message:
        """`service` messages and those that the exporter could not save become `SYSTEM` lines."""
        channel = part(value, "chat") or self.channel
        if value.get("type") != "message":
            if not isinstance(value.get("type"), str):
                raise ValueError('"type" is missing or not a string')
            actor = name_in(value, "actor") or _person(value.get("actor_id")) or ""
            time = _time(value) if "date" in value or "date_unixtime" in value else None
            text = name_in(value, "action") or value["text"] or value["type"]
            return Message(actor, text, None, time, value["id"], None, Kind.SYSTEM, channel, line)
        if value["speaker"] is None:
            raise ValueError('"from" and "from_id" are missing')
        if value["text"] is None:
            raise ValueError('"text" is missing or neither a string nor a list')
        return said(
            value["speaker"],
            value["text"],
            kind=Kind.MESSAGE,
            mentions=[Mention(*mention) for mention in value["mentions"]],
            replied=value["replied"],
            time=_time(value),
            id=value["id"],
            reply_to=value["reply_to_message_id"],
            channel=channel,
            line=line,
        )


def _one_chat(head: dict[str, Any]) -> bool:
    if "messages" not in head:
        return False
    typed = "id" in head and isinstance(head.get("type"), str)
    first = {"messages.item.type", "messages.item.from", "messages.item.text"} <= head.keys()
    return typed or (first and bool({f"messages.item.{key}" for key in _DATES} & head.keys()))


def _time(value: Value) -> datetime:
    """The time of a message by the exporter's clock, in the zone that follows from the time in UTC.

    Raises:
        ValueError: The time is malformed or missing.
    """
    moment = _moment(value.get("date_unixtime"))
    if "date" not in value and moment is not None:
        return moment
    time = time_at(value, "date")
    if moment is None or time.tzinfo is not None:
        return time
    ahead = time.replace(tzinfo=UTC) - moment
    if abs(ahead) > _FARTHEST or ahead % _QUARTER:  # not the offset of any zone
        return time
    return time.replace(tzinfo=timezone(ahead))


def _moment(value: Any) -> datetime | None:
    """A time in seconds since 1970, which Telegram writes as text; None if it is not one."""
    text = str(value) if isinstance(value, str | int) else ""
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        return None
    try:
        return since_epoch(seconds=int(text))
    except ValueError:
        return None


def _chat_name(chat: Any) -> str | None:
    """A chat's name, or its type and number if it has no name."""
    kind, number = part(chat, "type"), _id(part(chat, "id"))
    return name_in(chat, "name") or (f"{kind} {number}" if isinstance(kind, str) and number else None)


def _messages_of_chats(stream: Any) -> Iterator[Any]:
    """Yield the messages of all chats of an account, each with the name of its chat, which comes first."""
    chat: dict[str, Any] = {}
    builder = None
    for path, event, value in ijson.parse(stream, use_float=True):
        if builder is not None:
            builder.event(event, value)
            if event == "end_map" and path in _MESSAGES:
                yield {**builder.value, "chat": _chat_name(chat)}
                builder = None
        elif path in _MESSAGES:
            if event == "start_map":
                builder = ijson.ObjectBuilder()
                builder.event(event, value)
            elif event not in ("end_map", "end_array"):
                yield value
        elif path in _CHATS and event == "start_map":
            chat = {}
        elif event in ("string", "number"):
            before, _, key = path.rpartition(".")
            if before in _CHATS:
                chat[key] = value


_MESSAGES = tuple(f"{path}.messages.item" for path in _CHATS)


def _id(value: Any) -> str | None:
    number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if number or (isinstance(value, str) and value) else None


def _person(value: Any) -> str | None:
    """A person's identifier, such as `user17`; older exports and mentions have only the number."""
    person = _id(value)
    return f"user{person}" if person is not None and person.isdecimal() else person


def _text(value: Any, seen: Seen) -> tuple[str | None, list[tuple[str, str]]]:
    """A text and its mentions, each as shown and with the person's name."""
    if isinstance(value, str):
        return value, []
    if not isinstance(value, list):
        return None, []
    shown, mentions = [], []
    for piece in value:
        text = piece if isinstance(piece, str) else part(piece, "text")
        if not isinstance(text, str):
            continue
        shown.append(text)
        kind = part(piece, "type")
        if kind == "mention":
            mentions.append((text, text.removeprefix("@")))
        elif kind == "mention_name":
            mentions.append((text, seen.names.get(_person(part(piece, "user_id"))) or text))
    return "".join(shown), mentions
