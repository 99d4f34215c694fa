"""Exports that are pages: HTML that people look at, XML that programs keep.

Each kind of page is an entry in `PAGES`: which element is a message, and what of it is what.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Self
from urllib.parse import unquote

from towhom.chat import Kind
from towhom.readers.base import MAX_MESSAGE, Folder, Source
from towhom.readers.posts import Post, Posts, iso, iso_milliseconds
from towhom.readers.tags import Tag, tags_and_texts
from towhom.readers.times import is_day_first, parse_time, short_dates

_OWNER = "Me"
_FROM = "137"
"""The mark of a sender, in the standard for messages with pictures."""
_DEEPEST = 500
_MOST_AROUND = 10
_FILE = re.compile(r"messages?_?(?P<number>[0-9]*)\.html?")
_DIGITS = re.compile(r"[0-9]{1,30}")
_NAMED = re.compile(r"(?<![\w@])@(\w{2,40})")
_DIRECTIONS = str.maketrans("", "", "\u200e\u200f\u202a\u202b\u202c\ufeff")

Fields = Mapping[str, str]
"""What a message of a page says: field -> text."""


@dataclass(frozen=True)
class Page:
    """A kind of page.

    Args:
        sign: What its beginning has and no other page's.
        items: Which elements are messages: a name, or a class with a dot before it.
        fields: Where something stands -> what it is. `.x` is an element of a class, `.y .x` one inside
            another, `@z` behind it an attribute. What has an empty name is left out of what is around it.
        post: What the fields of a message are; None for what is no message.
    """

    sign: re.Pattern[bytes]
    items: tuple[str, ...]
    fields: Mapping[str, str]
    post: Callable[[Fields], Post | None]

    @cached_property
    def places(self) -> dict[str, list[tuple[str, str, str]]]:
        """The last part of a place -> what it is in, its attribute, and the field."""
        found: dict[str, list[tuple[str, str, str]]] = {}
        for place, name in self.fields.items():
            whole, _, attribute = place.partition("@")
            outer, _, label = whole.rpartition(" ")
            found.setdefault(label, []).append((outer, attribute, name))
        return found


class Pages(Posts):
    """A page, or several that one export has cut a chat into."""

    name = "html"
    title = (
        "pages: HTML of Telegram, DiscordChatExporter, Facebook, Instagram, Element, iMessage; "
        "XML of SMS Backup, Adium, Trillian"
    )

    def __init__(self, room: str | None = None, kind: str = "telegram", *, day_first: bool = True) -> None:
        super().__init__(room, "")
        self.kind = kind
        self.day_first = day_first

    @classmethod
    def where(cls, source: Source) -> str | None:
        """The kind of page that a file is."""
        head = source.head_text
        if head.lstrip()[:1] != b"<":
            return None
        return next((kind for kind, page in PAGES.items() if page.sign.search(head)), None)

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """The pages of chats that are cut into several: `messages.html`, `messages2.html`, in order."""
        found = []
        for file in folder.files:
            path = PurePosixPath(file.name)
            name = _FILE.fullmatch(path.name)
            if name is not None:
                if cls.where(file) in _CUT:
                    found.append((str(path.parent), int(name["number"] or 0), file))
                file.forget_head()
        yield from (file for _, _, file in sorted(found, key=lambda each: each[:2]))

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """The kind of page, and the order of day and month in its dates."""
        file = source if isinstance(source, Source) else next(cls.files(source), None)
        kind = cls.where(file) if file is not None else None
        if file is None or kind is None:
            return cls()
        lines = re.split(r"[\n<>\"]", file.head_text.decode("utf-8", errors="replace"))
        file.forget_head()
        return cls(kind=kind, day_first=is_day_first(short_dates(lines)))

    def values(self, source: Source | Folder) -> Iterator[tuple[int, str, Any]]:
        """The messages of all pages. Who goes on speaking is not named again, on the next page either."""
        folder, around = None, dict[str, str]()
        for file in [source] if isinstance(source, Source) else self.files(source):
            kind = self.kind if file is source else self.where(file) or self.kind
            file.forget_head()
            if PurePosixPath(file.name).parent != folder:
                folder, around = PurePosixPath(file.name).parent, {}
            for number, fields in enumerate(_messages(file, PAGES[kind], around)):
                yield number, file.name, (kind, fields)

    def post(self, value: Any) -> Post | None:
        """What the page's kind makes of it; its time is read here."""
        kind, fields = value
        post = PAGES[kind].post(fields)
        if post is None:
            return None
        time = post.get("time")
        if time is not None:
            found = parse_time(time.translate(_DIRECTIONS), day_first=self.day_first)
            if found is None:
                raise ValueError(f"the time is {time[:40]!r}, not a date and time")
            post["time"] = iso(found)
        return post


def _messages(source: Source, page: Page, around: dict[str, str]) -> Iterator[dict[str, str]]:
    """The fields of each message of a page.

    Args:
        source: The page.
        page: What kind it is of.
        around: What stands outside of messages and holds for those that follow, the last speaker among it.
    """
    walk = _Walk(source, page, around)
    for each in tags_and_texts(source):
        if isinstance(each, str):
            walk.text(each)
            continue
        if not each.ends:
            walk.start(each)
        if each.ends or each.alone:
            yield from walk.end(each.name)
    yield from walk.finish()


class _Walk:
    """The elements that are open, and the message that is being read."""

    def __init__(self, source: Source, page: Page, around: dict[str, str]) -> None:
        self._source, self._page, self._around = source, page, around
        self._open: list[tuple[str, tuple[str, ...], int, bool]] = []
        """Name, labels, how many texts it collects, and whether it is a message."""
        self._names = Counter[str]()
        self._labels = Counter[str]()
        self._collected: list[tuple[str, list[str]]] = []
        self._fields: dict[str, str] | None = None
        self._length = self._count = 0
        around.pop("header", None)

    def start(self, tag: Tag) -> None:
        """An element begins."""
        if len(self._open) >= _DEEPEST and not tag.alone:
            return
        classes = tag.attributes.get("class", "").split() if "class" in tag.rest else ()
        labels = (tag.name, *(f".{each}" for each in classes[:20]))
        is_item = self._fields is None and any(label in self._page.items for label in labels)
        if is_item:
            self._fields, self._length = {}, 0
            self._count += 1
        if tag.breaks or tag.name == "img":
            self.text("\n" if tag.breaks else tag.attributes.get("alt", "") if _is_emoji(classes) else "")
        collects = len(self._collected)
        for label in labels:
            for outer, attribute, field in self._page.places.get(label, ()):
                if outer and not self._labels[outer]:
                    continue
                if attribute:
                    self._put(field, tag.attributes.get(attribute, ""))
                elif not tag.alone:
                    self._collected.append((field, []))
                    break
        self._names[tag.name] += 1
        self._labels.update(labels)
        self._open.append((tag.name, labels, len(self._collected) - collects, is_item))

    def text(self, text: str) -> None:
        """A text, for all that collect it."""
        for field, pieces in reversed(self._collected):
            if not field:
                return
            pieces.append(text)
            self._grow(text)

    def end(self, name: str) -> Iterator[dict[str, str]]:
        """An element ends, and all that are open in it."""
        if not self._names[name]:
            return
        while self._open:
            opened, labels, collects, is_item = self._open.pop()
            self._names[opened] -= 1
            self._labels.subtract(labels)
            for _ in range(collects):
                field, pieces = self._collected.pop()
                self._put(field, "".join(pieces))
            if is_item:
                yield from self.finish()
            if opened == name:
                return

    def finish(self) -> Iterator[dict[str, str]]:
        """The message that is being read, with what holds for it from before."""
        if self._fields is None:
            return
        fields, self._fields = self._fields, None
        if "speaker" in fields:
            self._around["speaker"] = fields["speaker"]
        yield {**self._around, **fields}

    def _put(self, field: str, text: str) -> None:
        lines = (line.strip() for line in text.replace("\xa0", " ").split("\n"))
        text = "\n".join(line for line in lines if line)
        if not field or not text:
            return
        if self._fields is not None:
            if field.endswith("+"):  # all that there are, a line each
                text = f"{self._fields[field]}\n{text}" if field in self._fields else text
                self._fields[field] = text
            self._fields.setdefault(field, text)
            self._grow(text)
        elif field == "header":  # what stands above all messages, line by line
            before = self._around.get("header", "")
            if before.count("\n") < _MOST_AROUND:
                self._around["header"] = f"{before}\n{text[:1000]}".strip()
        else:
            self._around[field] = text[:1000]

    def _grow(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_MESSAGE:
            if self._fields is not None:
                raise self._source.too_long("message", line=self._count)
            self._length = 0
            for _, pieces in self._collected:
                pieces.clear()


def _is_emoji(classes: Any) -> bool:
    return any("emoji" in each for each in classes)


def _number(text: str | None) -> str | None:
    found = _DIGITS.search(text or "")
    return found[0] if found else None


def _telegram(fields: Fields) -> Post | None:
    own, service = fields.get("id", ""), "service" in fields.get("class", "")
    if service and own.startswith("message-"):  # the page itself says which day it is
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
    if "own_time" not in fields:  # who takes part
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
    if "~" in number:  # a group: who wrote it is marked among all addresses
        people = zip(fields.get("types+", "").split("\n"), fields.get("addresses+", "").split("\n"), strict=False)
        sender = next((address for kind, address in people if kind == _FROM), other)
    return Post(
        text=fields.get("text", ""),
        speaker=_OWNER if sent else sender or None,
        time=iso_milliseconds(fields.get("own_time"), "date"),
        room=other or None,
    )


_CUT = ("telegram", "meta")
"""Kinds whose exports cut a chat into several pages."""

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
"""Kind of page -> what it is like. The first whose sign is found."""
