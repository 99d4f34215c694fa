"""Discord: JSON files of DiscordChatExporter, one for each channel, and messages of the API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Self

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Record, Source
from towhom.readers.json_export import (
    JsonExport,
    Seen,
    Value,
    head_values,
    json_items,
    name_in,
    part,
    text_at,
    time_at,
)
from towhom.readers.links import LONGEST_NAME, Mention, said
from towhom.readers.posts import by_time, load_line

_SAID = {"Default", "Reply"}
_SAID_OF_API = (0, 19)
"""The API's numbers for the same types of messages."""
_OF_API = ("channel_id", "content", "timestamp", "author.username")
# A mention in the content if the exporter was told not to format it.
_RAW_MENTION = re.compile(r"<@!?(\d+)>")


class Discord(JsonExport):
    """A channel, a thread or a direct conversation."""

    name = "discord"
    title = "Discord channel (JSON of DiscordChatExporter, or messages as its API gives them)"
    kept = ("id", "type", "timestamp", "content", "author", "mentions", "reference")

    def __init__(self, channel: str | None = None, path: str | None = None) -> None:
        super().__init__(channel)
        self.path = path
        """Path of the messages if they come from the API; None for an export."""

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for an object with a guild, a channel and messages, or for messages with the API's keys."""
        head = head_values(source)
        return head.keys() >= {"guild", "channel", "messages"} or _path(head) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Read the channel's name, which comes before the messages."""
        head = head_values(source)
        return cls(name_in(head, "channel.name"), _path(head))

    def values(self, source: Source) -> Iterator[Any]:
        """Yield messages; those of the API, newest first, are sorted and converted to the export's keys."""
        if self.path is None:
            return super().values(source)
        found: Iterator[Any]
        if self.path == "":
            found = (load_line(line) for _, line in source.lines() if line.strip())
        else:
            found = json_items(source, self.path)
        return by_time(map(_of_api, found), _moment)

    def key(self, record: Record) -> str | None:
        """Channel and day."""
        time = part(record[1], "timestamp")
        return " ".join(filter(None, (self.channel, time[:10]))) if isinstance(time, str) else None

    def link(self, value: Value, seen: Seen) -> None:
        """Add the author of the message that this one answers. Only the names of people are kept."""
        value["mentions"] = [
            (person, name)
            for mention in _list(value.get("mentions"))
            if (name := _name(mention)) and len(name) <= LONGEST_NAME and (person := name_in(mention, "id"))
        ]
        author = value.get("author")
        value["author"] = _name(author)
        value["bot"] = part(author, "isBot") is True
        # A forwarded message refers to its original in the same way, and answers nobody.
        forwarded = part(value, "reference", "type") == "Forward"
        value["reference"] = None if forwarded else name_in(value.get("reference"), "messageId")
        value["replied"] = seen.authors.get(value["reference"])
        seen.authors.put(name_in(value, "id"), value["author"])

    def message(self, value: Value, line: int) -> Message:
        """The speaker is under `author`; mentions are `@name` in the content."""
        text, time = text_at(value, "content"), time_at(value, "timestamp")
        if value["author"] is None:
            raise ValueError('"author" is missing or has no name')
        names = dict(value["mentions"])
        if "<@" in text:
            text = _RAW_MENTION.sub(lambda found: f"@{names.get(found[1], found[1])}", text)
        if text_at(value, "type") not in _SAID:
            kind = Kind.SYSTEM
        else:
            kind = Kind.NOTICE if value["bot"] else Kind.MESSAGE
        return said(
            value["author"],
            text,
            kind=kind,
            mentions=[Mention(f"@{name}", name) for name in names.values()],
            replied=value["replied"],
            time=time,
            id=name_in(value, "id"),
            reply_to=value["reference"],
            channel=self.channel,
            line=line,
        )


def _path(head: dict[str, Any]) -> str | None:
    """The path of the API's messages, empty for JSON lines; None if there are none."""
    for path in ("item", "messages.item", ""):
        before = f"{path}." if path else ""
        if all(f"{before}{key}" in head for key in _OF_API):
            return path
    return None


def _of_api(value: Any) -> Any:
    """Convert a message of the API to the keys of an export."""
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    said = kind in _SAID_OF_API and not isinstance(kind, bool)
    return {
        "id": value.get("id"),
        "type": "Default" if said else str(kind),
        "timestamp": value.get("timestamp"),
        "content": value.get("content"),
        "author": _person_of_api(value.get("author")),
        "mentions": [_person_of_api(each) for each in _list(value.get("mentions"))],
        "reference": {"messageId": part(value, "message_reference", "message_id")},
    }


def _person_of_api(person: Any) -> Any:
    return {
        "id": part(person, "id"),
        "nickname": name_in(person, "global_name"),
        "name": name_in(person, "username"),
        "isBot": part(person, "bot") is True,
    }


def _moment(value: Any) -> str | None:
    """The time of a message in ISO 8601, or None."""
    time = part(value, "timestamp")
    try:
        return datetime.fromisoformat(time).isoformat() if isinstance(time, str) else None
    except ValueError:
        return None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _name(person: object) -> str | None:
    return name_in(person, "nickname", "name")
