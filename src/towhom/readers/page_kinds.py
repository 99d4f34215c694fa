"""Kinds of pages of exported chats: which elements are messages, and where their fields are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from towhom.chat import Kind
from towhom.readers.posts import Post, iso_milliseconds

_OWNER = "Me"
_FROM = "137"
"""The address type of the sender in the MMS standard."""
_DIGITS = re.compile(r"[0-9]{1,30}")
_NAMED = re.compile(r"(?<![\w@])@(\w{2,40})")

Fields = Mapping[str, str]
"""A message of a page: field -> text."""


@dataclass(frozen=True)
class Page:
    """A kind of page.

    Args:
        sign: Pattern found only in the beginning of this kind of page.
        items: Elements that are messages: a name, or a class with a dot before it.
        fields: Place -> field. `.x` is an element of a class, `.y .x` one inside another, and `@z` after it
            an attribute. A place with an empty field is left out of the elements around it.
        post: Turns the fields of a message into a post; returns None if it is not a message.
    """

    sign: re.Pattern[bytes]
    items: tuple[str, ...]
    fields: Mapping[str, str]
    post: Callable[[Fields], Post | None]

    @cached_property
    def places(self) -> dict[str, list[tuple[str, str, str]]]:
        """The last part of a place -> the element around it, its attribute, and the field."""
        found: dict[str, list[tuple[str, str, str]]] = {}
        for place, name in self.fields.items():
            whole, _, attribute = place.partition("@")
            outer, _, label = whole.rpartition(" ")
            found.setdefault(label, []).append((outer, attribute, name))
        return found


def _number(text: str | None) -> str | None:
    found = _DIGITS.search(text or "")
    return found[0] if found else None


def _telegram(fields: Fields) -> Post | None:
    own, service = fields.get("id", ""), "service" in fields.get("class", "")
    if service and own.startswith("message-"):  # a heading of the page with the day
        return None
    text = fields.get("event" if service else "text", "")
    return Post(
        text=text,
        speaker=None if service else fields.get("speaker"),
        time=None if service else fields.get("time"),
        id=_number(own),
        reply_to=_number(fields.get("reply")),
        kind=Kind.SYSTEM if service else Kind.MESSAGE,
        room=fields.get("header"),
        mentions=[(f"@{name}", None, name) for name in _NAMED.findall(text)],
    )


def _discord(fields: Fields) -> Post | None:
    if not {"text", "event", "time", "own_time"} & fields.keys():
        return None
    entries = fields.get("header", "").split("\n")
    room = entries[1] if len(entries) > 1 else entries[0]
    named = [each for each in fields.get("mention+", "").split("\n") if each[:1] == "@" and len(each) > 1]
    kind = Kind.NOTICE if "bot" in fields else Kind.MESSAGE
    return Post(
        text=fields.get("event") or fields.get("text", ""),
        speaker=fields.get("speaker"),
        time=fields.get("own_time") or fields.get("time"),
        id=_number(fields.get("id")),
        reply_to=_number(fields.get("reply")),
        kind=Kind.SYSTEM if "event" in fields else kind,
        room=room.rpartition(" / ")[2] or None,
        mentions=[(shown, None, shown[1:]) for shown in named],
    )


def _meta(fields: Fields) -> Post | None:
    if "own_time" not in fields:  # the list of participants
        return None
    return Post(
        text=fields.get("text", ""),
        speaker=fields.get("speaker"),
        time=fields["own_time"].replace("\n", " "),
        room=fields.get("header", "").partition("\n")[0] or None,
    )


def _element(fields: Fields) -> Post | None:
    clock, day = fields.get("own_time"), fields.get("day")
    system = "event" in fields
    return Post(
        text=fields.get("event") or fields.get("text", ""),
        speaker=fields.get("speaker"),
        time=f"{day} {clock}" if clock and day and clock[:1].isdecimal() else None,
        id=fields.get("id"),
        reply_to=fields.get("reply"),
        kind=Kind.SYSTEM if system else Kind.MESSAGE,
        room=fields.get("header", "").partition("\n")[0] or None,
    )


def _imessage(fields: Fields) -> Post | None:
    if "own_time" not in fields:
        return None
    return Post(
        text=fields.get("text", ""),
        speaker=fields.get("speaker"),
        time=fields["own_time"].partition(" (")[0],
        id=fields.get("id"),
    )


def _adium(fields: Fields) -> Post | None:
    said = "sender" in fields and "event" not in fields
    return Post(
        text=fields.get("text") or fields.get("event", ""),
        person=fields.get("sender"),
        speaker=fields.get("alias") or fields.get("sender"),
        time=fields.get("own_time"),
        kind=Kind.MESSAGE if said else Kind.SYSTEM,
    )


def _trillian(fields: Fields) -> Post | None:
    if "own_time" not in fields:
        raise ValueError("it has no time")
    person, name = unquote(fields.get("from", "")), unquote(fields.get("name", ""))
    incoming = "incoming" in fields.get("kind", "")
    return Post(
        text=unquote(fields.get("text", "")),
        person=person or None,
        speaker=name or person or None,
        time=iso_milliseconds(f"{fields['own_time']}000", "time"),
        room=person if incoming else unquote(fields.get("to", "")) or None,
    )


def _sms(fields: Fields) -> Post | None:
    other, number = fields.get("name", ""), fields.get("address", "")
    if other in ("", "(Unknown)", "null"):
        other = number
    sent = fields.get("kind") == "2"
    sender = other
    if "~" in number:  # a group: one of the addresses is marked as the sender
        people = zip(
            fields.get("types+", "").split("\n"), fields.get("addresses+", "").split("\n"), strict=False
        )
        sender = next((address for kind, address in people if kind == _FROM), other)
    return Post(
        text=fields.get("text", ""),
        speaker=_OWNER if sent else sender or None,
        time=iso_milliseconds(fields.get("own_time"), "date"),
        room=other or None,
    )


CUT = ("telegram", "meta")
"""Kinds whose exports split a chat into several pages."""

PAGES = {
    "telegram": Page(
        sign=re.compile(rb'class="message (?:default|service)'),
        items=(".message",),
        fields={
            ".page_header .text": "header",
            ".message@id": "id",
            ".message@class": "class",
            ".forwarded .from_name": "",
            ".from_name": "speaker",
            ".date@title": "time",
            ".reply_to a@href": "reply",
            ".text": "text",
            ".details": "event",
        },
        post=_telegram,
    ),
    "discord": Page(
        sign=re.compile(rb'class="?(?:chatlog__message|preamble__)'),
        items=(".chatlog__message-container", ".chatlog__message"),
        fields={
            ".preamble__entry": "header",
            ".info__guild-name": "header",
            ".info__channel-name": "header",
            ".chatlog__message-container@data-message-id": "id",
            ".chatlog__message@data-message-id": "id",
            ".chatlog__author": "speaker",
            ".chatlog__author-name": "speaker",
            ".chatlog__system-notification-author": "speaker",
            ".chatlog__author-tag": "bot",
            ".chatlog__bot-tag": "bot",
            ".chatlog__timestamp": "time",
            ".chatlog__system-notification-timestamp": "own_time",
            ".chatlog__short-timestamp@title": "own_time",
            ".chatlog__reply-link@onclick": "reply",
            ".chatlog__reference-link@onclick": "reply",
            ".chatlog__reply": "",
            ".chatlog__reference": "",
            ".chatlog__edited-timestamp": "",
            ".chatlog__content": "text",
            ".chatlog__markdown-mention": "mention+",
            ".mention": "mention+",
            ".chatlog__system-notification-content": "event",
        },
        post=_discord,
    ),
    "meta": Page(
        sign=re.compile(rb'class="[^"]{0,60}(?:_2lek|_2lem|_a6-h|_a6-o)\b[^"]{0,60}"'),
        items=(".uiBoxWhite", "._a6-g"),
        fields={
            "h1": "header",
            "._3b0d": "header",
            "._2lek": "speaker",
            "._a6-h": "speaker",
            "._2let ul": "",
            "._a6-p ul": "",
            "._2let": "text",
            "._a6-p": "text",
            "._2lem": "own_time",
            "._a6-o": "own_time",
            "._a72d": "own_time",
        },
        post=_meta,
    ),
    "element": Page(
        sign=re.compile(rb"mx_MatrixChat|mx_Export_EventWrapper|mx_EventTile"),
        items=(".mx_Export_EventWrapper",),
        fields={
            ".mx_NewRoomIntro h2": "header",
            ".mx_RoomHeader_nametext": "header",
            ".mx_LegacyRoomHeader_nametext": "header",
            ".mx_DateSeparator_dateHeading": "day",
            ".mx_DateSeparator h2": "day",
            ".mx_Export_EventWrapper@id": "id",
            ".mx_ReplyChain": "",
            ".mx_ReplyThread": "",
            ".mx_reply_anchor@scroll-to": "reply",
            ".mx_DisambiguatedProfile_displayName": "speaker",
            ".mx_SenderProfile_displayName": "speaker",
            ".mx_SenderProfile_name": "speaker",
            ".mx_MessageTimestamp": "own_time",
            ".mx_EventTile_body": "text",
            ".mx_TextualEvent": "event",
        },
        post=_element,
    ),
    "imessage": Page(
        sign=re.compile(rb'class="(?:sent|received) ?(?:iMessage|SMS|RCS)?"|class="message_part"'),
        items=(".sent", ".received"),
        fields={
            ".replies": "",
            ".tapbacks": "",
            ".timestamp": "own_time",
            ".sender": "speaker",
            ".bubble": "text",
        },
        post=_imessage,
    ),
    "adium": Page(
        sign=re.compile(rb"<chat\b[^<>]{0,300}(?:purl\.org/net/ulf|adium)"),
        items=("message", "status", "event"),
        fields={
            "message@sender": "sender",
            "message@alias": "alias",
            "message@time": "own_time",
            "message": "text",
            "status@type": "event",
            "status@time": "own_time",
            "event@type": "event",
            "event@time": "own_time",
        },
        post=_adium,
    ),
    "trillian": Page(
        sign=re.compile(rb"<(?:session|message) type=[^<>]{0,400}\bmedium="),
        items=("message",),
        fields={
            "message@type": "kind",
            "message@from": "from",
            "message@to": "to",
            "message@from_display": "name",
            "message@time": "own_time",
            "message@text": "text",
        },
        post=_trillian,
    ),
    "sms": Page(
        sign=re.compile(rb"<(?:smses|allsms)\b"),
        items=("sms", "mms"),
        fields={
            "sms@address": "address",
            "sms@contact_name": "name",
            "sms@date": "own_time",
            "sms@type": "kind",
            "sms@body": "text",
            "mms@address": "address",
            "mms@contact_name": "name",
            "mms@date": "own_time",
            "mms@msg_box": "kind",
            "part@text": "text",
            "addr@type": "types+",
            "addr@address": "addresses+",
        },
        post=_sms,
    ),
}
"""Kind of page -> its description. The first one whose sign is found is used."""
