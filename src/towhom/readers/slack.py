"""Slack: a workspace export, as a folder or the zip archive it comes in, or one of its day files."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath
from typing import Any, NamedTuple, Self

import ijson

from towhom.chat import Kind, Message
from towhom.readers.base import Folder, Record, Report, Source
from towhom.readers.json_export import (
    JsonExport,
    Seen,
    Value,
    head_values,
    json_items,
    name_in,
    part,
    read_json,
    since_epoch,
    text_at,
)
from towhom.readers.links import Mention, Recent, said
from towhom.readers.posts import by_time

_PEOPLE = ("users.json", "org_users.json")
_ROOMS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY_FILE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")
_SAID = {
    None: Kind.MESSAGE,
    "thread_broadcast": Kind.MESSAGE,
    "file_share": Kind.MESSAGE,
    "me_message": Kind.ACTION,
    "bot_message": Kind.NOTICE,
}
_CHANNEL_FILE = re.compile(r"[CDG][A-Z0-9]{6,20}\.json")
_TIME = re.compile(r"([0-9]{1,11})\.([0-9]{1,6})")
_MARKUP = re.compile(r"<([^<>]+)>")


class Day(NamedTuple):
    """A day file, with the channel and the day taken from its path."""

    file: str
    channel: str | None
    key: str | None

    @classmethod
    def of(cls, source: Source) -> Day:
        """The day of a file: its folder is named after the channel, and the file after the day."""
        path = PurePath(source.name)
        if not _DAY_FILE.fullmatch(path.name):
            return cls(source.name, None, None)
        channel = path.parent.name or None
        return cls(source.name, channel, " ".join(filter(None, (channel, path.stem))))


class Slack(JsonExport):
    """An export with a folder for each channel, a file for each day, and lists of people and channels.

    The people a message mentions are looked up during reading, so that no record needs the whole list.
    """

    name = "slack"
    title = (
        "Slack export (folder or zip with users.json, channels.json and a folder a channel; "
        "or one channel of slackdump, slack-archive or the API)"
    )
    kept = (
        *("ts", "thread_ts", "subtype", "text", "user", "username", "bot_id", "bot_profile"),
        *("user_profile", "parent_user_id", "day"),
    )

    def __init__(self, channel: str | None = None, path: str = "item") -> None:
        super().__init__(channel)
        self.path = path

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for lists of people or channels with message files, or for messages with a `ts` in a file."""
        if isinstance(source, Folder):
            return _root(source) is not None and any(_message_files(source))
        return _path(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find the path of the messages and the channel's name in a single file."""
        if isinstance(source, Folder):
            return cls()
        return cls(name_in(head_values(source), "name", "channel_id"), _path(source) or "item")

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield the kept part of each message, file by file; numbers start over in each file."""
        seen = Seen(names=_names(source))
        for file in [source] if isinstance(source, Source) else _message_files(source):
            day = Day.of(file)
            path = self.path
            if day.key is None:  # not a day file of Slack's own export: a whole channel, in any order
                if isinstance(source, Folder):
                    path = _path(file) or path
                    file.forget_head()
                stem = PurePath(file.name).stem
                channel = seen.names.get(stem) if _CHANNEL_FILE.fullmatch(f"{stem}.json") else None
                day = Day(file.name, self.channel or channel, None)
            values: Iterator[Any] = _with_replies(json_items(file, path))
            for number, value in enumerate(values if day.key else by_time(values, _moment)):
                raw = value if isinstance(value, dict) else {}
                raw["day"] = day
                yield number, self.slim(raw, seen)

    def link(self, value: Value, seen: Seen) -> None:
        """Add the names of the people a message concerns: its speaker, who is answered, who is mentioned."""
        user = name_in(value, "user")
        profile, bot = value.pop("user_profile", None), value.pop("bot_profile", None)
        value["speaker"] = (
            seen.names.get(user)
            or name_in(profile, "display_name", "real_name", "name")
            or name_in(value, "username")
            or name_in(bot, "name")
            or user
            or name_in(value, "bot_id")
        )
        if value["speaker"] != user:
            seen.names.put(user, value["speaker"])
        channel, thread, ts = value["day"].channel, name_in(value, "thread_ts"), name_in(value, "ts")
        value["replied"] = None
        if thread is not None and thread != ts:
            parent = name_in(value, "parent_user_id")
            value["replied"] = seen.names.get(parent) or seen.authors.get((channel, thread)) or parent
        seen.authors.put((channel, ts), value["speaker"])
        text = value.get("text")
        marked = _MARKUP.findall(text) if isinstance(text, str) and "<" in text else []
        people = (token[1:].partition("|")[0] for token in marked)
        value["names"] = {person: name for person in people if (name := seen.names.get(person)) is not None}

    def key(self, record: Record) -> str | None:
        """Channel and day, as in the names of the export's folders and files."""
        day: Day = record[1]["day"]
        time = None if day.key else _moment(record[1])
        return " ".join(filter(None, (day.channel, time[:10]))) if time else day.key

    def place(self, value: Any, file: str) -> str:
        """The day file."""
        day: Day = value["day"]
        return day.file

    def message(self, value: Value, line: int) -> Message:
        """Lines with most `subtype`s are not messages; `thread_ts` is the message answered."""
        text, ts = text_at(value, "text"), text_at(value, "ts")
        found = _TIME.fullmatch(ts)
        if found is None:
            raise ValueError(f'"ts" is {ts[:40]!r}, not a time in seconds')
        subtype = value.get("subtype")
        kind = _SAID.get(subtype, Kind.SYSTEM) if isinstance(subtype, str | None) else Kind.SYSTEM
        if value.get("bot_id") and kind is Kind.MESSAGE:
            kind = Kind.NOTICE
        if value["speaker"] is None and kind is not Kind.SYSTEM:
            raise ValueError('"user" is missing or not a string')
        thread = name_in(value, "thread_ts")
        readable, mentions = _readable(text, value["names"])
        return said(
            value["speaker"] or "",
            readable,
            kind=kind,
            mentions=mentions,
            replied=value["replied"],
            time=since_epoch(seconds=int(found[1]), microseconds=int(found[2].ljust(6, "0"))),
            id=ts,
            reply_to=thread,
            channel=value["day"].channel,
            line=line,
        )


def _readable(text: str, names: dict[str, str]) -> tuple[str, list[Mention]]:
    """A text as people see it, and the people it mentions."""
    pieces, mentions = [], []
    for number, piece in enumerate(_MARKUP.split(text)):
        if number % 2 == 0:
            pieces.append(_unescaped(piece))
            continue
        target, _, label = piece.partition("|")
        if target[:1] == "@":
            name = names.get(target[1:]) or _unescaped(label).removeprefix("@") or target[1:]
            mentions.append(Mention(f"@{name}", name))
            pieces.append(f"@{name}")
        elif target[:1] == "#":
            pieces.append(f"#{_unescaped(label) or names.get(target[1:]) or target[1:]}")
        elif target[:1] == "!":  # <!here>, <!subteam^S1|@crew>, <!date^...|today>
            pieces.append(_unescaped(label) or f"@{target[1:].partition('^')[0]}")
        else:
            pieces.append(_unescaped(label or target))
    return "".join(pieces), [mention for mention in mentions if mention.name]


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _root(folder: Folder) -> str | None:
    """The folder of the export that holds the lists: the top folder, or one directly below it."""
    for file in folder.files:
        path = PurePosixPath(folder.inner(file))
        if path.name in (*_PEOPLE, *_ROOMS) and len(path.parts) <= 2:
            return str(path.parent)
    return None


def _message_files(folder: Folder) -> Iterator[Source]:
    """The day files in the folders of channels, or the channel files beside the lists."""
    root = _root(folder)
    for file in folder.files:
        path = PurePosixPath(folder.inner(file))
        is_day = str(path.parent.parent) == root and _DAY_FILE.fullmatch(path.name)
        if is_day or (str(path.parent) == root and _CHANNEL_FILE.fullmatch(path.name)):
            yield file


def _path(source: Source | Folder) -> str | None:
    """The path of the messages in a file: in a list, or below `messages`; None if there are none."""
    head = head_values(source)
    for path in ("item", "messages.item"):
        if head.get(f"{path}.type") == "message" and isinstance(head.get(f"{path}.ts"), str):
            return path
    return None


def _with_replies(values: Iterator[Any]) -> Iterator[Any]:
    """Yield messages, each followed by the answers that some programs write inside it."""
    for value in values:
        yield value
        for key in ("slackdump_thread_replies", "replies"):
            replies = part(value, key)
            yield from (
                {"thread_ts": part(value, "ts"), **reply}
                for reply in (replies if isinstance(replies, list) else ())
                if isinstance(reply, dict) and "text" in reply and reply.get("ts") != part(value, "ts")
            )


def _moment(value: Any) -> str | None:
    """The time of a message in ISO 8601, or None."""
    found = _TIME.fullmatch(part(value, "ts") or "") if isinstance(part(value, "ts"), str) else None
    if found is None:
        return None
    return since_epoch(seconds=int(found[1]), microseconds=int(found[2].ljust(6, "0"))).isoformat()


def _listed(file: Source) -> Iterator[Any]:
    """The entries of a file of people or channels: a list or, in slack-archive, an object."""
    as_list = file.head_text.lstrip()[:1] == b"["
    file.forget_head()
    if as_list:
        return json_items(file, "item")
    return read_json(file, lambda stream: (each for _, each in ijson.kvitems(stream, "")), "")


def _names(source: Source | Folder) -> Recent:
    """People and channels: identifier -> name. For a single file, only its messages give names."""
    if isinstance(source, Source):
        return Recent()
    names = Recent(size=sys.maxsize)  # unlimited: it grows with the workspace, not with its messages
    root = _root(source)
    for file in source.files:
        path = PurePosixPath(source.inner(file))
        if str(path.parent) == root and path.name in (*_PEOPLE, *_ROOMS):
            for value in _listed(file):
                profile = name_in(part(value, "profile"), "display_name", "real_name")
                names.put(name_in(value, "id"), profile or name_in(value, "real_name", "name"))
    return names
