"""Exports of platforms: what all of them say of a message, put in order of rooms and times, and linked.

A reader of one platform only says what a value of its export is: a post. The rest is done here, once.
"""

from __future__ import annotations

import json
import tempfile
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import IO, Any, ClassVar, NotRequired, Self, TypedDict

from towhom.chat import Kind, Message, seconds_since_1970
from towhom.documents import parse_json
from towhom.readers.base import Folder, Reader, Record, Report, Source
from towhom.readers.json_export import Seen, head_values, json_items, since_epoch
from towhom.readers.links import LONGEST_NAME, Mention, said
from towhom.readers.times import parse_time


class Post(TypedDict):
    """What a platform says of a message, as JSON can hold it."""

    text: str
    person: NotRequired[str | None]
    """The platform's identifier of who writes."""
    speaker: NotRequired[str | None]
    """Their name, if the message has it."""
    time: NotRequired[str | None]
    """In ISO 8601."""
    id: NotRequired[str | None]
    reply_to: NotRequired[str | None]
    kind: NotRequired[str]
    room: NotRequired[str | None]
    mentions: NotRequired[Sequence[tuple[str, str | None, str | None]]]
    """How the text shows somebody, their identifier, their name; as far as they are known."""
    file: NotRequired[str]
    """The file of the export that it stood in."""
    problem: NotRequired[str]
    """Why it is none."""
    replied: NotRequired[str | None]
    """Who wrote the message that this one answers."""
    value: NotRequired[Any]
    """What the export says, as long as it waits for its place."""


class Posts(Reader):
    """An export of posts. Its rooms are read one after the other, each in the order of its times."""

    ordered: ClassVar[bool] = False
    """Whether the export is in order already: rooms one after the other, in each the oldest first."""

    paths: ClassVar[tuple[str, ...]] = ("messages.item", "item", "")
    """Where the messages of a JSON file may be; nothing stands for JSON lines."""
    signs: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Keys that the first messages have together: those of one tuple are enough."""

    def __init__(self, room: str | None = None, path: str | None = None) -> None:
        self.room = room
        self.path = self.paths[0] if path is None else path

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Messages with the keys of this platform; in a folder, a file with such messages."""
        if isinstance(source, Folder):
            return any(True for _ in cls.files(source))
        return cls.where(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Where the messages are."""
        return cls(path=None if isinstance(source, Folder) else cls.where(source))

    @classmethod
    def where(cls, source: Source) -> str | None:
        """The path of the messages in a file, by the keys that they have."""
        head = head_values(source)
        for path in cls.paths:
            for keys in cls.signs:
                if all((f"{path}.{key}" if path else key) in head for key in keys):
                    return path
        return None

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """The files of a folder that hold messages, if the platform exports folders."""
        return iter(())

    def values(self, source: Source | Folder) -> Iterator[tuple[int, str, Any]]:
        """The values of the export as they stand there: number in its file, the file, the value."""
        for file in [source] if isinstance(source, Source) else self.files(source):
            for number, value in self.file_values(file, source):
                yield number, file.name, value

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """The values of one file of the export, numbered."""
        path = self.path if file is source else self.where(file)
        file.forget_head()
        if path == "":
            for number, line in file.lines():
                if line.strip():
                    yield number, load_line(line)
        elif path is not None:
            yield from enumerate(json_items(file, path))

    @abstractmethod
    def post(self, value: Any) -> Post | None:
        """The post that a value is; None if it is something else that the export rightly has.

        Raises:
            ValueError: It is none; the text says why.
        """

    def names(self, source: Source | Folder) -> Iterator[tuple[str, str]]:
        """Identifiers and names of people, if the export lists them apart."""
        return iter(())

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Posts in order, each with the names of those that it concerns."""
        posts = self._posts(source)
        seen = Seen()
        for person, name in self.names(source):
            seen.names.put(person, name)
        for number, post in posts if self.ordered else in_order(posts):
            _link(post, seen)
            yield number, post

    def _posts(self, source: Source | Folder) -> Iterator[tuple[int, Post]]:
        for number, file, value in self.values(source):
            try:
                post = self.post(value)
            except ValueError as error:
                post = Post(text="", problem=str(error))
            if post is not None:
                post["file"] = file
                yield number, post

    def key(self, record: Record) -> str | None:
        """Room and day."""
        post: Post = record[1]
        time = post.get("time")
        if time is None:
            return post.get("room") or self.room
        return " ".join(filter(None, (post.get("room") or self.room, time[:10])))

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """One message (or line of another kind) a post."""
        for number, post in records:
            try:
                message = self._message(post, number)
            except ValueError as error:
                report.skip(str(error), file=post.get("file") or file, record=number)
                continue
            report.kinds[message.kind] += 1
            yield message

    def _message(self, post: Post, line: int) -> Message:
        if "problem" in post:
            raise ValueError(post["problem"])
        kind = Kind(post.get("kind") or Kind.MESSAGE)
        speaker = post.get("speaker")
        if not speaker and kind is not Kind.SYSTEM:
            raise ValueError("nobody is named who wrote it")
        time = post.get("time")
        return said(
            speaker or "",
            post["text"],
            kind=kind,
            mentions=[Mention(shown, name) for shown, _, name in post.get("mentions") or () if name],
            replied=post.get("replied"),
            time=datetime.fromisoformat(time) if time else None,
            id=post.get("id"),
            reply_to=post.get("reply_to"),
            channel=post.get("room") or self.room,
            line=line,
        )


def load_line(line: bytes) -> Any:
    """The JSON value of a line, or the line itself if it is none."""
    try:
        return parse_json(line)
    except ValueError:
        return line


def iso(time: datetime) -> str:
    """A time as posts have it."""
    return time.isoformat()


def iso_text(value: Any, what: str) -> str:
    """A time that is written in any of the ways that `towhom.readers.times` knows, as posts have it.

    Raises:
        ValueError: It is none.
    """
    time = parse_time(value) if isinstance(value, str) else None
    if time is None:
        raise ValueError(f'"{what}" is {str(value)[:40]!r}, not a date and time')
    return time.isoformat()


def iso_milliseconds(value: Any, what: str) -> str:
    """A time in milliseconds since 1970, as posts have it.

    Raises:
        ValueError: It is none.
    """
    number = identifier(value)
    if number is None or not number.lstrip("-").isdecimal() or len(number) > 16:
        raise ValueError(f'"{what}" is missing or not a time in milliseconds')
    return iso(since_epoch(microseconds=int(number) * 1000))


def identifier(value: Any) -> str | None:
    """An identifier: a text that is not empty, or a whole number."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none, if it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """An object.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _link(post: Post, seen: Seen) -> None:
    """Add the names of the people whom a post concerns: who writes, who is answered, who is mentioned."""
    room, person = post.get("room"), post.get("person")
    speaker = post.get("speaker") or seen.names.get(person) or person
    post["speaker"] = speaker
    seen.names.put(person, speaker)
    answered, own = post.get("reply_to"), post.get("id")
    post["replied"] = seen.authors.get((room, answered)) if answered else None
    if own:
        seen.authors.put((room, own), speaker)
    if post.get("mentions"):
        named = [(shown, who, seen.names.get(who) or name) for shown, who, name in post["mentions"]]
        post["mentions"] = [each for each in named if len(each[2] or "") <= LONGEST_NAME]


def in_order(posts: Iterable[tuple[int, Post]]) -> Iterator[tuple[int, Post]]:
    """Posts by room, as the rooms first appear, and in each by time; those without one stay where they are.

    They wait on disk: in memory there are a few numbers of each.
    """
    rooms: dict[str | None, int] = {}
    of_room, starts, times = array("q"), array("q", [0]), array("d")
    last: dict[str | None, float] = {}
    with tempfile.TemporaryFile() as file:
        for number, post in posts:
            room = post.get("room")
            of_room.append(rooms.setdefault(room, len(rooms)))
            time = _seconds(post.get("time"))
            if time is None:
                time = last.get(room, float("-inf"))
            last[room] = time
            times.append(time)
            starts.append(starts[-1] + file.write(json.dumps([number, post]).encode()))
        for index in _sorted(of_room, times):
            yield _stored(file, starts[index], starts[index + 1])


def by_time(
    values: Iterable[Any],
    time_of: Callable[[Any], str | None],
    room_of: Callable[[Any], str | None] = lambda value: None,
) -> Iterator[Any]:
    """Values room by room, and in each the oldest first."""
    posts = ((0, Post(text="", time=time_of(each), room=room_of(each), value=each)) for each in values)
    return (post["value"] for _, post in in_order(posts))


def _sorted(rooms: Sequence[int], times: Sequence[float]) -> list[int]:
    """The places of posts in order; of those at the same time, too, where an export has the newest first."""
    order = list(range(len(times)))
    neighbours = [place for place in order[1:] if rooms[place] == rooms[place - 1]]
    back = sum(times[place] < times[place - 1] for place in neighbours)
    if back > sum(times[place] > times[place - 1] for place in neighbours):
        order.reverse()
    order.sort(key=times.__getitem__)
    order.sort(key=rooms.__getitem__)
    return order


def _stored(file: IO[bytes], start: int, end: int) -> tuple[int, Post]:
    file.seek(start)
    number, post = json.loads(file.read(end - start))
    return number, post


def _seconds(time: str | None) -> float | None:
    return seconds_since_1970(datetime.fromisoformat(time)) if time else None
