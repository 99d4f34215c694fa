"""Matrix: JSON exports of a room from Element, and events from servers and archives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Self

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Record, Source
from towhom.readers.json_export import (
    JsonExport,
    Seen,
    Value,
    head_values,
    items_below,
    json_items,
    name_in,
    part,
    since_epoch,
    text_at,
)
from towhom.readers.links import Mention, said
from towhom.readers.posts import by_time, load_line

_SAID = {"m.text": Kind.MESSAGE, "m.emote": Kind.ACTION, "m.notice": Kind.NOTICE}
_EXPORT, _SOURCE = "messages.item", "source"
_PLACES = (_EXPORT, "chunk.item", "item", "", _SOURCE, "events.item")
"""Possible paths of events; an empty path stands for JSON lines."""
_DAY = 86_400_000
_SYNC = "rooms.join.*.timeline.events.item"
# Clients that do not list mentions link to the person in the formatted text.
_LINKED = re.compile(r'"https://matrix\.to/#/(@[^"/?]+)"')


class Matrix(JsonExport):
    """A room. Names are the display names found in the export, else the first part of the address."""

    name = "matrix"
    title = "Matrix room (JSON of Element's export; events of the API, of matrix-commander or of archives)"
    kept = (
        "event_id",
        "type",
        "sender",
        "state_key",
        "origin_server_ts",
        "content",
        "unsigned",
        "prev_content",
        "room_id",
        "room",
    )

    def __init__(self, channel: str | None = None, path: str = _EXPORT) -> None:
        super().__init__(channel)
        self.path = path

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for an object with a room's name and messages, or for events at any of the known paths."""
        head = head_values(source)
        return head.keys() >= {"room_name", "messages"} or _path(head) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Read the room's name, which comes before the messages, and find the path of the events."""
        head = head_values(source)
        room, path = name_in(head, "room_name"), _path(head)
        return cls(room, _EXPORT if room or path is None else path)

    def values(self, source: Source) -> Iterator[Any]:
        """Yield events, sorted by time unless the export is already in order."""
        if self.channel is not None and self.path == _EXPORT:
            return super().values(source)
        events: Iterator[Any]
        if self.path in ("", _SOURCE):
            events = (_event(load_line(line)) for _, line in source.lines() if line.strip())
        elif "*" in self.path:
            events = (
                {**value, "room": around.get("*")} if isinstance(value, dict) else value
                for around, value in items_below(source, self.path)
            )
        else:
            events = json_items(source, self.path)
        return by_time((self._kept(event) for event in events), _moment, self._room)

    def _kept(self, event: Any) -> Any:
        return {key: event[key] for key in self.kept if key in event} if isinstance(event, dict) else event

    def key(self, record: Record) -> str | None:
        """Room and day in UTC."""
        moment = _moment(record[1])
        return " ".join(filter(None, (self._room(record[1]), moment[:10]))) if moment else None

    def _room(self, value: Any) -> str | None:
        return self.channel or name_in(value, "room", "room_id")

    def link(self, value: Value, seen: Seen) -> None:
        """Add display names, and the author of the message that this one answers."""
        content, sender = value.get("content"), name_in(value, "sender")
        if value.get("type") == "m.room.member":
            before = name_in(
                part(value, "unsigned", "prev_content") or value.get("prev_content"), "displayname"
            )
            after = name_in(content, "displayname")
            value["renamed"] = (before, after) if before and after and before != after else None
            if part(content, "membership") == "join":
                seen.names.put(name_in(value, "state_key") or sender, after)
        value["speaker"] = _name(sender, seen)
        answered = answered_message(content)
        value["reply_to"] = answered
        value["replied"] = seen.authors.get(answered)
        seen.authors.put(name_in(value, "event_id"), value["speaker"])
        value["mentions"] = [
            (person, name)
            for person in mentioned_people(content)
            if (name := _name(person, seen)) is not None
        ]
        value.pop("unsigned", None)
        if isinstance(content, dict):
            wanted = ("body", "msgtype", "m.relates_to")
            value["content"] = {key: content[key] for key in wanted if key in content}

    def message(self, value: Value, line: int) -> Message:
        """Messages have the type `m.room.message`; their edits are not counted as messages."""
        kind, content = text_at(value, "type"), value.get("content")
        if value["speaker"] is None:
            raise ValueError('"sender" is missing or not a string')
        if not isinstance(content, dict):
            raise ValueError('"content" is missing or not an object')
        stamp = value.get("origin_server_ts")
        if not isinstance(stamp, int):
            raise ValueError('"origin_server_ts" is missing or not a whole number')
        time, event = since_epoch(microseconds=stamp * 1000), name_in(value, "event_id")
        if value.get("renamed"):
            old, new = value["renamed"]
            return Message(old, new, None, time, event, None, Kind.RENAME, self._room(value), line)
        edit = part(content, "m.relates_to", "rel_type") == "m.replace"
        # A deleted message has no content left.
        if kind != "m.room.message" or edit or not content:
            text = name_in(content, "body") or kind
            room = self._room(value)
            return Message(value["speaker"], text, None, time, event, None, Kind.SYSTEM, room, line)
        text = text_at(content, "body")
        return said(
            value["speaker"],
            without_quote(text) if value["reply_to"] else text,
            kind=_SAID.get(text_at(content, "msgtype"), Kind.SYSTEM),
            mentions=[Mention(form, name) for who, name in value["mentions"] for form in _forms(who, name)],
            replied=value["replied"],
            time=time,
            id=event,
            reply_to=value["reply_to"],
            channel=self._room(value),
            line=line,
        )


def _path(head: dict[str, Any]) -> str | None:
    """The path of the events in a file, or None."""
    for path in _PLACES:
        before = f"{path}." if path else ""
        if all(f"{before}{key}" in head for key in ("sender", "origin_server_ts", "type")):
            return path
    return _SYNC if any(path.endswith(".timeline.events.item.origin_server_ts") for path in head) else None


def _event(value: Any) -> Any:
    """The event of a line; matrix-commander wraps it in other information."""
    source = part(value, _SOURCE)
    if not isinstance(source, dict):
        return value
    return {**source, "room": name_in(value, "room_display_name")}


def _moment(value: Any) -> str | None:
    """The time of an event in ISO 8601, or None."""
    stamp = part(value, "origin_server_ts")
    if not isinstance(stamp, int) or isinstance(stamp, bool) or not 0 <= stamp < 100_000 * _DAY:
        return None
    return since_epoch(microseconds=stamp * 1000).isoformat()


def _name(person: str | None, seen: Seen) -> str | None:
    if person is None:
        return None
    return seen.names.get(person) or person.removeprefix("@").partition(":")[0] or person


def answered_message(content: Any) -> str | None:
    """The id of the message answered; in a thread, its first message, unless another is chosen."""
    relation = part(content, "m.relates_to")
    if part(relation, "rel_type") == "m.thread" and part(relation, "is_falling_back") is True:
        return name_in(relation, "event_id")
    return name_in(part(relation, "m.in_reply_to"), "event_id")


def mentioned_people(content: Any) -> list[str]:
    """The people whom a message marks as mentioned."""
    people = part(content, "m.mentions", "user_ids")
    if isinstance(people, list):
        return [person for person in people if isinstance(person, str)]
    formatted = part(content, "formatted_body")
    return _LINKED.findall(_unquoted(formatted)) if isinstance(formatted, str) else []


def _unquoted(formatted: str) -> str:
    """A formatted text without its quotation of the message that it answers."""
    pieces = []
    start = 0
    while (quote := formatted.find("<mx-reply>", start)) >= 0:
        end = formatted.find("</mx-reply>", quote)
        if end < 0:
            break
        pieces.append(formatted[start:quote])
        start = end + len("</mx-reply>")
    return "".join([*pieces, formatted[start:]])


def _forms(person: str, name: str) -> tuple[str, ...]:
    """The ways in which a body can show a mention of a person."""
    return (name, f"@{name}", person, person.partition(":")[0])


def without_quote(body: str) -> str:
    """The body of a reply without the quoted lines that older clients put in front of it."""
    if not body.startswith(("> <", "> * <")):
        return body
    lines = body.split("\n")
    start = next((place for place, line in enumerate(lines) if not line.startswith(">")), len(lines))
    if start < len(lines) and not lines[start].strip():
        start += 1
    return "\n".join(lines[start:])
