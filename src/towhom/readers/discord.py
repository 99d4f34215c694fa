"""Discord: the JSON files that DiscordChatExporter writes, a channel each."""

from __future__ import annotations

import re
from typing import Self

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Record, Source
from towhom.readers.json_export import JsonExport, Seen, Value, head_values, name_in, part, text_at, time_at
from towhom.readers.links import LONGEST_NAME, Mention, said

_SAID = {"Default", "Reply"}
# How a mention stands in the content if the exporter was told not to format it.
_RAW_MENTION = re.compile(r"<@!?(\d+)>")


class Discord(JsonExport):
    """A channel, a thread or a direct conversation."""

    name = "discord"
    title = "Discord channel (JSON of DiscordChatExporter)"
    kept = ("id", "type", "timestamp", "content", "author", "mentions", "reference")

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """An object with a guild, a channel and messages."""
        return head_values(source).keys() >= {"guild", "channel", "messages"}

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """The channel's name stands before the messages."""
        return cls(name_in(head_values(source), "channel.name"))

    def key(self, record: Record) -> str | None:
        """Channel and day."""
        time = part(record[1], "timestamp")
        return " ".join(filter(None, (self.channel, time[:10]))) if isinstance(time, str) else None

    def link(self, value: Value, seen: Seen) -> None:
        """The author of the message that this one answers. Of the people, only the names are kept."""
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
        """Who wrote it is under `author`; whom it mentions stands as `@name` in the content."""
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


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _name(person: object) -> str | None:
    return name_in(person, "nickname", "name")
