"""Microsoft Teams and Skype: messages from Microsoft Graph, and exports of a personal account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from towhom.chat import Kind
from towhom.documents import parse_json
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import head_values, items_below, name_in, part
from towhom.readers.markup import plain_text
from towhom.readers.posts import Post, Posts, identifier, iso_text, object_of, objects

_ACCOUNT = "conversations.item.MessageList.item"
_ROOM = tuple(f"conversations.item.{key}" for key in ("threadProperties.topic", "displayName", "id"))
_ANSWERED = re.compile(
    r"""<(?:blockquote|quote|legacyquote)\b[^<>]{0,400}?\b(?:itemid|messageid)=["'](\d{1,30})["']"""
)
_SAID = {"text", "richtext", "richtext/html"}


class Teams(Posts):
    """A channel or chat from Graph, with answers inside or beside; or all conversations of an account."""

    name = "teams"
    title = "Microsoft Teams (JSON of Microsoft Graph) or Skype (messages.json of the export)"
    paths = ("value.item", "messages.item", "item", "")
    signs = (
        ("createdDateTime", "body.content"),
        ("originalarrivaltime", "messagetype", "content"),
    )

    @classmethod
    def where(cls, source: Source) -> str | None:
        """The path of a list of messages, or of such lists in conversations."""
        account = {"conversations", "conversations.item.MessageList"} <= head_values(source).keys()
        return _ACCOUNT if account else super().where(source)

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield messages with the name of their conversation, each followed by the answers inside it."""
        if self.path != _ACCOUNT:
            for number, value in super().file_values(file, source):
                yield number, value
                for reply in objects(part(value, "replies")):
                    yield number, {"replyToId": part(value, "id"), **reply}
            return
        for number, (around, value) in enumerate(items_below(file, _ACCOUNT)):
            room = name_in(around, *_ROOM)
            yield number, {**value, "room": room} if isinstance(value, dict) else value

    def post(self, value: Any) -> Post:
        """Turn a message into a post; Graph and accounts use different keys for the same things."""
        value = object_of(value)
        return _of_graph(value) if "createdDateTime" in value else _of_account(value)


def _of_graph(value: dict[str, Any]) -> Post:
    body = part(value, "body", "content")
    if not isinstance(body, str):
        raise ValueError('"body" is missing or has no content')
    plain = part(value, "body", "contentType") == "text"
    text, marked = (body, []) if plain else plain_text(body)
    people = {
        identifier(mention.get("id")): mention
        for mention in objects(value.get("mentions"))
    }  # fmt: skip
    kind = Kind.MESSAGE
    if value.get("messageType") not in (None, "message") or value.get("deletedDateTime"):
        kind = Kind.SYSTEM
    elif part(value, "from", "application") and not part(value, "from", "user"):
        kind = Kind.NOTICE
    author = (
        part(value, "from", "user") or part(value, "from", "application") or part(value, "from", "device")
    )
    mentions = []
    for shown, number in marked:
        person = part(people.get(number), "mentioned", "user")
        mentions.append((shown, identifier(part(person, "id")), name_in(person, "displayName") or shown))
    return Post(
        text=text,
        person=identifier(part(author, "id")),
        speaker=name_in(author, "displayName"),
        time=iso_text(value.get("createdDateTime"), "createdDateTime"),
        id=identifier(value.get("id")),
        reply_to=identifier(value.get("replyToId")) or _referred(value) or _answered(body),
        kind=kind,
        room=name_in(value, "channelName", "chatName")
        or name_in(value.get("channelIdentity"), "channelId")
        or name_in(value, "chatId"),
        mentions=mentions,
    )


def _of_account(value: dict[str, Any]) -> Post:
    content, kind = value.get("content"), value.get("messagetype")
    if not isinstance(content, str):
        raise ValueError('"content" is missing or not a string')
    deleted = part(value, "properties", "isdeleted") or part(value, "properties", "deletetime")
    said = isinstance(kind, str) and kind.lower() in _SAID and not deleted
    person = identifier(value.get("from"))
    if person is not None:
        person = person.rpartition("/")[2].partition(":")[2] or person
    text, marked = plain_text(content)
    return Post(
        text=text,
        person=person,
        speaker=name_in(value, "displayName", "imdisplayname"),
        time=iso_text(value.get("originalarrivaltime", value.get("composetime")), "originalarrivaltime"),
        id=identifier(value.get("id")),
        reply_to=_answered(content),
        kind=Kind.MESSAGE if said else Kind.SYSTEM,
        room=name_in(value, "room", "conversationid"),
        mentions=[(shown, (who or "").partition(":")[2] or who, shown) for shown, who in marked],
    )


def _answered(content: str) -> str | None:
    """The id of the message that a text quotes in order to answer it, or None."""
    found = _ANSWERED.search(content)
    return found[1] if found else None


def _referred(value: dict[str, Any]) -> str | None:
    """The id of the message answered in a chat, from the JSON of an attachment, or None."""
    for attachment in objects(value.get("attachments")):
        content = attachment.get("content")
        if attachment.get("contentType") == "messageReference" and isinstance(content, str):
            try:
                return identifier(part(parse_json(content), "messageId"))
            except ValueError:
                return None
    return None
