"""Gitter: the messages of a room in the form of its API, as archives have them."""

from __future__ import annotations

from typing import Any

from towhom.chat import Kind
from towhom.readers.json_export import name_in, part, text_at
from towhom.readers.posts import Post, Posts, identifier, iso_text, object_of, objects


class Gitter(Posts):
    """A list of messages, or JSON lines."""

    name = "gitter"
    title = "Gitter room (JSON of its API)"
    paths = ("item", "", "messages.item")
    signs = (("sent", "text", "fromUser"), ("sent", "text", "fromUser.username"))

    def post(self, value: Any) -> Post:
        """Turn a message into a post; names are `username`s, as these are what follows an @."""
        value = object_of(value)
        text, user = text_at(value, "text"), value.get("fromUser")
        status = value.get("status") is True
        return Post(
            text=text,
            person=identifier(part(user, "id")),
            speaker=name_in(user, "username", "displayName"),
            time=iso_text(value.get("sent"), "sent"),
            id=identifier(value.get("id")),
            reply_to=identifier(value.get("parentId")),
            kind=Kind.ACTION if status else Kind.MESSAGE,
            room=name_in(value, "room", "roomUri"),
            mentions=[
                (f"@{name}", None, name)
                for mention in objects(value.get("mentions"))
                if (name := name_in(mention, "screenName")) and not mention.get("group")
            ],
        )
