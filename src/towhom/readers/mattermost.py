"""Mattermost: JSON lines of `mmctl export` (bulk export), as a file or in the zip archive it comes in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from towhom.chat import Kind
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import name_in, part, text_at
from towhom.readers.posts import Post, Posts, identifier, iso_milliseconds, load_line, object_of, objects

_POSTS = ("post", "direct_post")
_OTHERS = {"version", "info", "role", "scheme", "team", "channel", "user", "bot", "emoji", "direct_channel"}
_MENTION = re.compile(r"(?<![\w@])@([a-z][a-z0-9._-]{0,63})")
_EVERYBODY = {"all", "channel", "here"}


class Mattermost(Posts):
    """All channels and direct conversations of a server. Answers are inside the post that they answer."""

    name = "mattermost"
    title = "Mattermost bulk export (JSON lines of mmctl export)"
    paths = ("",)

    @classmethod
    def where(cls, source: Source) -> str | None:
        """Recognize JSON lines whose type is also the key of their content."""
        for value in map(_object, source.head_lines[:50]):
            kind = value.get("type")
            if isinstance(kind, str) and kind in (*_POSTS, *_OTHERS) and kind in value:
                return "" if kind != "version" or "info" in value or value.get("version") == 1 else None
        return None

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield posts, each followed by its answers, which get the id of the post."""
        for number, line in super().file_values(file, source):
            post = part(line, line["type"]) if isinstance(line, dict) and line.get("type") in _POSTS else None
            if not isinstance(post, dict):
                if not isinstance(line, dict) or line.get("type") in _POSTS:
                    yield number, line
                continue
            yield number, {**post, "replies": None}
            for reply in objects(post.get("replies")):
                place = {key: post.get(key) for key in ("team", "channel", "channel_members")}
                yield number, {**reply, **place, "answers": _id(post)}

    def post(self, value: Any) -> Post:
        """Turn a value into a post; a `type` marks lines that are not messages, `props` bots and hooks."""
        value = object_of(value)
        text, user = text_at(value, "message"), name_in(value, "user")
        props = value.get("props")
        bot = any(str(part(props, key)).lower() == "true" for key in ("from_webhook", "from_bot"))
        kind = Kind.NOTICE if bot else Kind.MESSAGE
        if value.get("type") == "me":
            kind, text = Kind.ACTION, text.strip("*")
        elif value.get("type"):
            kind = Kind.SYSTEM
        return Post(
            text=text,
            speaker=(name_in(props, "override_username") if bot else None) or user,
            time=iso_milliseconds(value.get("create_at"), "create_at"),
            id=_id(value),
            reply_to=name_in(value, "answers"),
            kind=Kind.SYSTEM if part(props, "deleteBy") else kind,
            room=_room(value),
            mentions=[
                (f"@{name}", None, name)
                for name in (found.rstrip(".-_") for found in _MENTION.findall(text))
                if name not in _EVERYBODY
            ],
        )


def _id(post: dict[str, Any]) -> str | None:
    """An id made of a post's time and author, since the export has no ids."""
    time, user = identifier(post.get("create_at")), name_in(post, "user")
    return f"{time} {user}" if time and user else None


def _room(value: dict[str, Any]) -> str | None:
    members = value.get("channel_members")
    if isinstance(members, list):
        return ", ".join(sorted(name for name in members if isinstance(name, str))) or None
    return name_in(value, "channel")


def _object(line: bytes) -> dict[str, Any]:
    value = load_line(line)
    return value if isinstance(value, dict) else {}
