"""Google Chat: `messages.json` of Google Takeout, for one conversation or in the whole folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from towhom.chat import Kind
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import json_items, name_in, part
from towhom.readers.posts import Post, Posts, identifier, iso_text, object_of, objects


class GoogleChat(Posts):
    """Conversations, one in each folder, with its name in `group_info.json` beside the messages."""

    name = "google-chat"
    title = "Google Chat (messages.json of Google Takeout, or its folder or zip)"
    paths = ("messages.item",)
    signs = (("creator", "created_date"), ("created_date", "message_id"))

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """Yield the `messages.json` of conversations."""
        for file in folder.files:
            if PurePosixPath(file.name).name == "messages.json":
                if cls.where(file) is not None:
                    yield file
                file.forget_head()

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield messages with the name of their conversation."""
        room = _room(file, source) if isinstance(source, Folder) else None
        for number, value in super().file_values(file, source):
            yield number, {**value, "room": room} if isinstance(value, dict) else value

    def post(self, value: Any) -> Post:
        """Turn a message into a post; it answers the first message of its topic, unless it quotes another."""
        value = object_of(value)
        creator, text = value.get("creator"), value.get("text")
        deleted = value.get("message_state") == "DELETED" or "deletion_metadata" in value
        kind = Kind.NOTICE if part(creator, "user_type") == "Bot" else Kind.MESSAGE
        own = identifier(value.get("message_id"))
        return Post(
            text=text if isinstance(text, str) else "",
            person=name_in(creator, "email"),
            speaker=name_in(creator, "name", "email"),
            time=iso_text(value.get("created_date"), "created_date"),
            id=own,
            reply_to=_answered(value, own),
            kind=Kind.SYSTEM if deleted else kind,
            room=name_in(value, "room"),
            mentions=list(_mentions(value)),
        )


def _answered(value: dict[str, Any], own: str | None) -> str | None:
    quoted = name_in(value.get("quoted_message_metadata"), "message_id")
    if quoted or own is None:
        return quoted
    space, _, rest = own.partition("/")
    topic, _, message = rest.partition("/")
    return f"{space}/{topic}/{topic}" if topic and message and topic != message else None


def _mentions(value: dict[str, Any]) -> Iterator[tuple[str, None, str]]:
    """Yield mentions in the text: parts marked by an annotation that begin with an @."""
    text = value.get("text")
    for annotation in objects(value.get("annotations")):
        start, length = annotation.get("start_index"), annotation.get("length")
        if isinstance(text, str) and isinstance(start, int) and isinstance(length, int) and start >= 0:
            shown = text[start : start + max(0, length)]
            if shown.startswith("@") and len(shown) > 1 and shown != "@all":
                yield shown, None, shown[1:]


def _room(file: Source, folder: Folder) -> str | None:
    """The name in the `group_info.json` beside a file, or else the name of its folder."""
    info, own = folder.beside(file, "group_info.json"), PurePosixPath(file.name).parent.name or None
    names = json_items(info, "name") if info else iter(())
    return next((name for name in names if isinstance(name, str) and name), own)
