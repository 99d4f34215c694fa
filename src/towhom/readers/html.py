"""Chats exported as pages: HTML for people to read, or XML kept by programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Self

from towhom.readers.base import MAX_MESSAGE, Folder, Source
from towhom.readers.page_kinds import CUT, PAGES, Page
from towhom.readers.posts import Post, Posts, iso
from towhom.readers.tags import Tag, tags_and_texts
from towhom.readers.times import is_day_first, parse_time, short_dates

_DEEPEST = 500
_MOST_AROUND = 10
_FILE = re.compile(r"messages?_?(?P<number>[0-9]*)\.html?")
_DIRECTIONS = str.maketrans("", "", "\u200e\u200f\u202a\u202b\u202c\ufeff")


class Pages(Posts):
    """A page, or several pages of one chat in an export."""

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
        """The kind of page that a file is; None if it is none of them."""
        head = source.head_text
        if head.lstrip()[:1] != b"<":
            return None
        return next((kind for kind, page in PAGES.items() if page.sign.search(head)), None)

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """Yield the pages of chats split into several, in order: `messages.html`, `messages2.html`."""
        found = []
        for file in folder.files:
            path = PurePosixPath(file.name)
            name = _FILE.fullmatch(path.name)
            if name is not None:
                if cls.where(file) in CUT:
                    found.append((str(path.parent), int(name["number"] or 0), file))
                file.forget_head()
        yield from (file for _, _, file in sorted(found, key=lambda each: each[:2]))

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find out the kind of page, and the order of day and month in its dates."""
        file = source if isinstance(source, Source) else next(cls.files(source), None)
        kind = cls.where(file) if file is not None else None
        if file is None or kind is None:
            return cls()
        lines = re.split(r"[\n<>\"]", file.head_text.decode("utf-8", errors="replace"))
        file.forget_head()
        return cls(kind=kind, day_first=is_day_first(short_dates(lines)))

    def values(self, source: Source | Folder) -> Iterator[tuple[int, str, Any]]:
        """Yield the messages of all pages. A speaker who continues is not named again on the next page."""
        folder, around = None, dict[str, str]()
        for file in [source] if isinstance(source, Source) else self.files(source):
            kind = self.kind if file is source else self.where(file) or self.kind
            file.forget_head()
            if PurePosixPath(file.name).parent != folder:
                folder, around = PurePosixPath(file.name).parent, {}
            for number, fields in enumerate(_messages(file, PAGES[kind], around)):
                yield number, file.name, (kind, fields)

    def post(self, value: Any) -> Post | None:
        """Turn fields into a post as the kind of page requires; the time is parsed here."""
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
    """Yield the fields of each message of a page.

    Args:
        source: The page.
        page: The kind of page.
        around: Fields found outside messages that apply to those that follow, including the last speaker.
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
    """State of reading a page: the open elements and the current message."""

    def __init__(self, source: Source, page: Page, around: dict[str, str]) -> None:
        self._source, self._page, self._around = source, page, around
        self._open: list[tuple[str, tuple[str, ...], int, bool]] = []
        """For each open element: name, labels, number of fields it collects, and whether it is a message."""
        self._names = Counter[str]()
        self._labels = Counter[str]()
        self._collected: list[tuple[str, list[str]]] = []
        self._fields: dict[str, str] | None = None
        self._length = self._count = 0
        around.pop("header", None)

    def start(self, tag: Tag) -> None:
        """Begin an element."""
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
        left_out = any(not field for field, _ in self._collected)
        for label in labels:
            for outer, attribute, field in self._page.places.get(label, ()):
                if outer and not self._labels[outer]:
                    continue
                if attribute:
                    self._put(field, tag.attributes.get(attribute, ""))
                elif not tag.alone and not left_out:
                    self._collected.append((field, []))
                    break
        self._names[tag.name] += 1
        self._labels.update(labels)
        self._open.append((tag.name, labels, len(self._collected) - collects, is_item))

    def text(self, text: str) -> None:
        """Add a text to all fields being collected."""
        for field, pieces in reversed(self._collected):
            if not field:
                return
            pieces.append(text)
            self._grow(text)

    def end(self, name: str) -> Iterator[dict[str, str]]:
        """End an element and all elements still open in it."""
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
        """Yield the current message, if any, with the fields that apply to it from before."""
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
            if field.endswith("+"):  # collects all values, one per line
                text = f"{self._fields[field]}\n{text}" if field in self._fields else text
                self._fields[field] = text
            self._fields.setdefault(field, text)
            self._grow(text)
        elif field == "header":  # the text above all messages, line by line
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
