"""Signal: messages from signal-cli, signal-export and sigtop, and the JSON lines of a backup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towhom.chat import Kind
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import name_in, part
from towhom.readers.posts import Post, Posts, identifier, iso_milliseconds, iso_text, object_of, objects

_OWNER = "Me"
_MARK = "\ufffc"
"""The placeholder for a mention in a text."""


class Signal(Posts):
    """Conversations of an account; an owner without a name gets the same name as in signal-export."""

    name = "signal"
    title = "Signal (JSON of signal-cli, signal-export, Signal Desktop's messages, or a backup in JSON lines)"
    paths = ("", "item", "messages.item")
    signs = (
        ("envelope.timestamp",),
        ("params.envelope.timestamp",),
        ("date", "sender", "body"),
        ("conversationId", "sent_at", "type"),
        ("backupTimeMs", "version"),
        ("chatItem.dateSent",),
    )

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield messages; those of a backup with the names of people and chats, which come before them."""
        people: dict[str, str] = {}
        chats: dict[str, str] = {}
        for number, value in super().file_values(file, source):
            if recipient := part(value, "recipient"):
                people[identifier(part(recipient, "id")) or ""] = _recipient(recipient)
            elif chat := part(value, "chat"):
                chats[identifier(part(chat, "id")) or ""] = identifier(part(chat, "recipientId")) or ""
            elif item := part(value, "chatItem"):
                author, room = identifier(part(item, "authorId")), identifier(part(item, "chatId")) or ""
                names = {"author": people.get(author or ""), "room": people.get(chats.get(room, ""))}
                yield number, {"chatItem": item, **names}
            else:
                yield number, value

    def post(self, value: Any) -> Post | None:
        """Turn a value into a post, depending on the keys it has."""
        value = object_of(value)
        value = part(value, "params") if isinstance(part(value, "params", "envelope"), dict) else value
        if isinstance(value.get("envelope"), dict):
            return _of_cli(value["envelope"])
        if "chatItem" in value:
            return _of_backup(value)
        if "conversationId" in value:
            return _of_desktop(value)
        if not {"date", "sender", "body"} <= value.keys():
            if {"backupTimeMs", "account"} & value.keys() or len(value) == 1:
                return None
            raise ValueError("not a message")
        body = value.get("body")
        return Post(
            text=body if isinstance(body, str) else "",
            speaker=name_in(value, "sender"),
            time=iso_text(value.get("date"), "date"),
        )


def _of_cli(envelope: dict[str, Any]) -> Post | None:
    """A message that signal-cli received, or that was sent from another device of the account."""
    sent = part(envelope, "syncMessage", "sentMessage")
    data = envelope.get("dataMessage") or part(envelope, "editMessage", "dataMessage") or sent
    if not isinstance(data, dict):
        return None  # receipts and typing notices
    text, mentions = _with_names(data.get("message"), data.get("mentions"))
    group = data.get("groupInfo") or data.get("groupV2")
    person = identifier(envelope.get("sourceUuid")) or identifier(envelope.get("source"))
    other = name_in(data, "destinationNumber", "destination") if data is sent else None
    return Post(
        text=text,
        person=person,
        speaker=name_in(envelope, "sourceName", "sourceNumber", "source"),
        time=iso_milliseconds(data.get("timestamp", envelope.get("timestamp")), "timestamp"),
        id=identifier(data.get("timestamp", envelope.get("timestamp"))),
        reply_to=identifier(part(data, "quote", "id")),
        kind=Kind.SYSTEM if data.get("reaction") or data.get("remoteDelete") or not text else Kind.MESSAGE,
        room=name_in(group, "groupName", "name", "groupId", "id") or other,
        mentions=mentions,
    )


def _of_desktop(value: dict[str, Any]) -> Post:
    """A row of Signal Desktop's table of messages."""
    kind, body = value.get("type"), value.get("body")
    text, mentions = _with_names(body, value.get("bodyRanges"))
    sent = kind == "outgoing"
    said = kind in ("incoming", "outgoing") and not value.get("deletedForEveryone")
    person = name_in(value, "sourceServiceId", "sourceUuid", "source")
    return Post(
        text=text,
        person=person,
        speaker=_OWNER if sent else name_in(value, "sourceName", "profileName", "sender"),
        time=iso_milliseconds(value.get("sent_at"), "sent_at"),
        id=identifier(value.get("sent_at")),
        reply_to=identifier(part(value, "quote", "id")),
        kind=Kind.MESSAGE if said else Kind.SYSTEM,
        room=name_in(value, "conversationName", "conversationId"),
        mentions=mentions,
    )


def _of_backup(value: dict[str, Any]) -> Post:
    item = object_of(value["chatItem"])
    said = part(item, "standardMessage")
    body = part(said, "text", "body")
    return Post(
        text=body if isinstance(body, str) else "",
        person=identifier(item.get("authorId")),
        speaker=name_in(value, "author"),
        time=iso_milliseconds(item.get("dateSent"), "dateSent"),
        id=identifier(item.get("dateSent")),
        reply_to=identifier(part(said, "quote", "targetSentTimestamp")),
        kind=Kind.MESSAGE if isinstance(said, dict) else Kind.SYSTEM,
        room=name_in(value, "room"),
    )


def _with_names(text: Any, ranges: Any) -> tuple[str, list[tuple[str, str | None, str]]]:
    """A text with names in place of its placeholders, and the people it mentions."""
    if not isinstance(text, str):
        return "", []
    people = [
        each for each in objects(ranges) if name_in(each, "mentionUuid", "mentionAci", "uuid", "number")
    ]
    people.sort(key=lambda each: each["start"] if isinstance(each.get("start"), int) else 0)
    pieces, mentions = text.split(_MARK), []
    shown = []
    for number, piece in enumerate(pieces[:-1]):
        person = people[number] if number < len(people) else {}
        who = name_in(person, "mentionUuid", "mentionAci", "uuid", "number")
        name = name_in(person, "name", "replacementText", "number") or (who or "")[:8]
        shown += [piece, f"@{name}"]
        if name:
            mentions.append((f"@{name}", who, name))
    return "".join([*shown, pieces[-1]]), mentions


def _recipient(value: Any) -> str:
    """The name of a person or a group in a backup."""
    contact, group = part(value, "contact"), part(value, "group", "snapshot", "title", "title")
    full = " ".join(
        filter(None, (name_in(contact, key) for key in ("profileGivenName", "profileFamilyName")))
    )
    if isinstance(group, str):
        return group
    return full or name_in(contact, "e164", "username") or (_OWNER if "self" in value else "")
