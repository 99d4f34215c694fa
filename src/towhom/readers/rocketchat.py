"""Rocket.Chat: a room exported as a file, responses of the API, or messages from the database."""

from __future__ import annotations

import re
from typing import Any

from towhom.chat import Kind
from towhom.readers.json_export import name_in, part, text_at
from towhom.readers.posts import Post, Posts, identifier, iso_milliseconds, iso_text, object_of, objects

_QUOTE = re.compile(r"\[ ?\]\([^()\s]{0,500}?[?&]msg=([A-Za-z0-9]{1,64})[^()\s]{0,500}\)\s*")


class RocketChat(Posts):
    """A list of messages, under `messages` or alone, or JSON lines."""

    name = "rocketchat"
    title = "Rocket.Chat room (JSON of Export messages, of the API, or of the database)"
    signs = (("msg", "ts", "u"), ("msg", "ts", "username"), ("msg", "ts", "rid"))

    def post(self, value: Any) -> Post:
        """Turn a value into a post; a `t` marks lines that are not messages, `tmid` the first of a thread."""
        value = object_of(value)
        text, reply = text_at(value, "msg"), identifier(value.get("tmid"))
        quoted = _QUOTE.match(text)
        if quoted is not None:
            text, reply = text[quoted.end() :], quoted[1]
        user = value.get("u")
        bot = isinstance(value.get("bot"), dict) or part(user, "type") == "bot"
        kind = Kind.NOTICE if bot else Kind.MESSAGE
        return Post(
            text=text,
            person=identifier(part(user, "_id")),
            speaker=name_in(user, "username", "name") or name_in(value, "username", "alias"),
            time=_time(value.get("ts")),
            id=identifier(value.get("_id")),
            reply_to=reply,
            kind=Kind.SYSTEM if value.get("t") or value.get("type") else kind,
            room=name_in(value, "roomName", "room", "rid"),
            mentions=[
                (f"@{name}", None, name)
                for mention in objects(value.get("mentions"))
                if (name := name_in(mention, "username")) and name not in ("all", "here")
            ],
        )


def _time(value: Any) -> str:
    """Convert a time as written by the API or the database to ISO 8601."""
    if isinstance(value, dict):
        value = value.get("$date")
    if isinstance(value, dict):
        value = value.get("$numberLong")
    number = identifier(value)
    if number is not None and number.isdecimal():
        return iso_milliseconds(number, "ts")
    return iso_text(value, "ts")
