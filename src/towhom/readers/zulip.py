"""Zulip: exports of an organization, messages of the API, and files of public archives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from towhom.chat import Kind
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import json_items, name_in, part, since_epoch
from towhom.readers.markup import plain_text
from towhom.readers.posts import Post, Posts, identifier, iso, object_of

_MENTION = re.compile(r"@(?P<silent>_?)\*\*(?P<name>[^*|\n]{1,200})(?:\|(?P<id>\d{1,12}))?\*\*")
_SAID = re.compile(
    r"@_\*\*[^*\n]{1,200}\*\* \[said\]\([^()\s]{0,500}?/near/(?P<id>\d{1,20})[^()\s]{0,100}\):\s*"
)
_FENCE = re.compile(r"(?P<fence>`{3,12})quote\n")
_SAID_LINK = re.compile(r"<a href=\"[^\"]{0,500}?/near/(\d{1,20})[^\"]{0,100}\"[^<>]{0,100}>said</a>")
_SAID_LINE = re.compile(r"[^\n]{1,200} said:\n?")
_EVERYBODY = {"all", "everyone", "channel", "stream", "topic"}


class Zulip(Posts):
    """Messages of streams. Each topic of a stream is a room, since that is where people on Zulip talk."""

    name = "zulip"
    title = "Zulip (export of an organization, JSON of its API, or of a public archive)"
    paths = ("zerver_message.item", "messages.item", "item", "")
    signs = (
        ("sender", "recipient", "subject", "content"),
        ("sender_full_name", "content", "timestamp"),
    )

    def __init__(
        self, room: str | None = None, path: str | None = None, rooms: dict[str, str] | None = None
    ) -> None:
        super().__init__(room, path)
        self._rooms = rooms or {}

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """Yield the numbered message files beside `realm.json`, or the topics beside `stream_index.json`."""
        inner = {PurePosixPath(folder.inner(file)).name for file in folder.files}
        for file in folder.files if {"realm.json", "stream_index.json"} & inner else ():
            name = PurePosixPath(file.name).name
            if name.endswith(".json") and name not in ("realm.json", "stream_index.json"):
                if cls.where(file) is not None:
                    yield file
                file.forget_head()

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield messages; those of an archive get stream and topic from the names of folder and file."""
        path = PurePosixPath(file.name)
        archived = isinstance(source, Folder) and not path.name.startswith("messages-")
        for number, value in super().file_values(file, source):
            if isinstance(value, dict):
                value["room"] = self._room(value)
                if value["room"] is None and archived:
                    value["room"] = f"{path.parent.name} > {path.stem}"
            yield number, value

    def names(self, source: Source | Folder) -> Iterator[tuple[str, str]]:
        """Identifiers and names of the people of an organization."""
        for value in _listed(source, "zerver_userprofile.item"):
            person, name = identifier(part(value, "id")), name_in(value, "full_name", "email")
            if person and name:
                yield person, name

    def values(self, source: Source | Folder) -> Iterator[tuple[int, str, Any]]:
        """Yield messages, with the streams that the export lists."""
        streams = {
            identifier(part(value, "id")): name_in(value, "name")
            for value in _listed(source, "zerver_stream.item")
        }
        rooms = {}
        for value in _listed(source, "zerver_recipient.item"):
            stream = streams.get(identifier(part(value, "type_id")))
            if part(value, "type") == 2 and stream:
                rooms[identifier(part(value, "id")) or ""] = stream
        return type(self)(self.room, self.path, rooms)._all_values(source)

    def _all_values(self, source: Source | Folder) -> Iterator[tuple[int, str, Any]]:
        return super().values(source)

    def _room(self, value: dict[str, Any]) -> str | None:
        recipient = identifier(value.get("recipient"))
        stream = name_in(value, "display_recipient") or self._rooms.get(recipient or "")
        topic = name_in(value, "subject", "topic")
        if stream:
            return f"{stream} > {topic}" if topic else stream
        return f"{recipient} > {topic}" if recipient and topic else recipient

    def post(self, value: Any) -> Post:
        """Turn a message into a post; the text is Markdown in exports and HTML in archives."""
        value = object_of(value)
        content, sent = value.get("content"), value.get("timestamp", value.get("date_sent"))
        if not isinstance(content, str):
            raise ValueError('"content" is missing or not a string')
        if not isinstance(sent, int | float) or not abs(sent) < 1e12:
            raise ValueError('"timestamp" is missing or not a number')
        html = value.get("content_type") == "text/html" or content.lstrip()[:1] == "<"
        text, mentions, answered = _of_html(content) if html else _of_markdown(content)
        bot = value.get("is_bot") is True or "-bot@" in str(value.get("sender_email"))
        kind = Kind.NOTICE if bot else Kind.MESSAGE
        if text.startswith("/me "):
            kind, text = Kind.ACTION, text.removeprefix("/me ")
        return Post(
            text=text,
            person=identifier(value.get("sender_id")) or identifier(value.get("sender")),
            speaker=name_in(value, "sender_full_name"),
            time=iso(since_epoch(microseconds=round(sent * 1_000_000))),
            id=identifier(value.get("id")),
            reply_to=answered,
            kind=kind,
            room=name_in(value, "room"),
            mentions=mentions,
        )


def _listed(source: Source | Folder, path: str) -> Iterator[Any]:
    for file in source.files if isinstance(source, Folder) else ():
        if PurePosixPath(file.name).name == "realm.json":
            yield from json_items(file, path)


_Text = tuple[str, list[tuple[str, str | None, str | None]], str | None]


def _of_markdown(content: str) -> _Text:
    """The text without quotations, the people it mentions (not silently), and the message it answers."""
    answered = None
    quoted = _SAID.match(content)
    if quoted is not None:
        answered, content = quoted["id"], content[quoted.end() :]
        fence = _FENCE.match(content)
        if fence is not None:
            end = content.find(f"\n{fence['fence']}", fence.end())
            content = content[end + 1 + len(fence["fence"]) :] if end >= 0 else ""
    mentions = [
        (f"@{found['name']}", found["id"], found["name"])
        for found in _MENTION.finditer(content)
        if not found["silent"] and found["name"] not in _EVERYBODY
    ]
    return _MENTION.sub(lambda found: f"@{found['name']}", content).strip(), [*mentions], answered


def _of_html(content: str) -> _Text:
    found = _SAID_LINK.search(content)
    marked = plain_text(content)
    text = marked.text
    if found is not None:
        intro = _SAID_LINE.match(text)
        text = text[intro.end() :] if intro else text
    return (
        text,
        [
            (shown, who, shown.removeprefix("@"))
            for shown, who in marked.mentions
            if shown.startswith("@") and shown[1:] not in _EVERYBODY and who != "*"
        ],
        found[1] if found else None,
    )
