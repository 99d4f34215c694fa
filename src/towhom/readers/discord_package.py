"""Discord's data package: all messages of the account's owner, channel by channel."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from towhom.chat import Kind
from towhom.readers.base import Folder, Source, decode
from towhom.readers.json_export import head_values, json_items, name_in
from towhom.readers.posts import Post, Posts, identifier, iso_text, object_of

_OWNER = "me"
_HEADER = [b"ID", b"Timestamp", b"Contents"]


class DiscordPackage(Posts):
    """`messages/` with a folder for each channel. The owner of the account is the only speaker."""

    name = "discord-package"
    title = "Discord data package (folder or zip; or messages.json or messages.csv of a channel)"
    paths = ("item",)
    signs = (("ID", "Timestamp", "Contents"),)

    @classmethod
    def where(cls, source: Source) -> str | None:
        """The path of messages in JSON, or "csv" for CSV."""
        first = source.head_lines[0].split(b",") if source.head_lines else []
        return "csv" if first[:3] == _HEADER else super().where(source)

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """Yield the message files of channels."""
        for file in folder.files:
            if PurePosixPath(file.name).name in ("messages.json", "messages.csv"):
                if cls.where(file) is not None:
                    yield file
                file.forget_head()

    def values(self, source: Source | Folder) -> Iterator[tuple[int, str, Any]]:
        """Yield messages with the name of the owner."""
        owner = _owner(source) if isinstance(source, Folder) else _OWNER
        for number, file, value in super().values(source):
            yield number, file, {**value, "owner": owner} if isinstance(value, dict) else value

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield messages with the name of their channel."""
        room = _room(file, source) if isinstance(source, Folder) else None
        in_csv = (self.path if file is source else self.where(file)) == "csv"
        for number, value in _rows(file) if in_csv else super().file_values(file, source):
            yield number, {**value, "room": room} if isinstance(value, dict) else value

    def post(self, value: Any) -> Post:
        """Turn a message into a post; times are in UTC even if they have no zone."""
        value = object_of(value)
        text = value.get("Contents")
        time = iso_text(value.get("Timestamp"), "Timestamp")
        return Post(
            text=text if isinstance(text, str) else "",
            speaker=name_in(value, "owner") or _OWNER,
            time=time if len(time) > 19 and time[19:] != ".000000" else f"{time[:19]}+00:00",
            id=identifier(value.get("ID")),
            kind=Kind.MESSAGE,
            room=name_in(value, "room"),
        )


def _rows(file: Source) -> Iterator[tuple[int, Any]]:
    lines = (decode(line) + "\n" for _, line in file.lines())
    rows = csv.reader(lines)
    header: list[str] = []
    number = -1
    while True:
        number += 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, str(error)
            continue
        if not header:
            header = row
        elif row:
            yield number, dict(zip(header, row, strict=False))


def _owner(folder: Folder) -> str:
    for file in folder.files:
        path = PurePosixPath(file.name)
        if path.name == "user.json" and path.parent.name.lower() == "account":
            found = head_values(file)
            file.forget_head()
            return name_in(found, "global_name", "username") or _OWNER
    return _OWNER


def _room(file: Source, folder: Folder) -> str | None:
    """The name of a channel from the `channel.json` beside its messages, or else the name of its folder."""
    info, own = folder.beside(file, "channel.json"), PurePosixPath(file.name).parent.name or None
    names = [*json_items(info, "guild.name"), *json_items(info, "name")] if info else []
    return " > ".join(name for name in names if isinstance(name, str) and name) or own
