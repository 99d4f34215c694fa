"""Base class for exports of platforms: posts are sorted by room and time, and linked to those they answer.

The reader of a platform only turns the values of its export into posts. Everything else is done here.
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
    """A message as its platform describes it, in values that JSON can hold."""

    text: str
    person: NotRequired[str | None]
    """The platform's identifier of the speaker."""
    speaker: NotRequired[str | None]
    """The speaker's name, if the message has it."""
    time: NotRequired[str | None]
    """Time in ISO 8601."""
    id: NotRequired[str | None]
    reply_to: NotRequired[str | None]
    kind: NotRequired[str]
    room: NotRequired[str | None]
    mentions: NotRequired[Sequence[tuple[str, str | None, str | None]]]
    """For each mention: how the text shows the person, their identifier and name, as far as known."""
    file: NotRequired[str]
    """The file of the export that the message comes from."""
    problem: NotRequired[str]
    """Why the value is not a valid message."""
    replied: NotRequired[str | None]
    """Name of the author of the message that this one answers."""
    value: NotRequired[Any]
    """The original value, while it waits to be sorted by `by_time`."""


class Posts(Reader):
    """An export of posts. Its rooms are read one after the other, each in order of time."""

    ordered: ClassVar[bool] = False
    """Whether the export is already sorted: room by room, the oldest messages first."""

    paths: ClassVar[tuple[str, ...]] = ("messages.item", "item", "")
    """Possible paths of the messages in a JSON file; an empty path stands for JSON lines."""
    signs: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Sets of keys by which messages are recognized; all keys of one tuple are enough."""

    def __init__(self, room: str | None = None, path: str | None = None) -> None:
        self.room = room
        self.path = self.paths[0] if path is None else path

    @classmethod
    def sniff(cls, source: Source | Folder) -> bool:
        """Look for messages with the keys of this platform; in a folder, for a file with such messages."""
        if isinstance(source, Folder):
            return any(True for _ in cls.files(source))
        return cls.where(source) is not None

    @classmethod
    def configure(cls, source: Source | Folder) -> Self:
        """Find the path of the messages."""
        return cls(path=None if isinstance(source, Folder) else cls.where(source))

    @classmethod
    def where(cls, source: Source) -> str | None:
        """The path of the messages in a file, found by their keys; None if there are none."""
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
        """Yield the values of the export in their original order: number in the file, file name, value."""
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
        """Turn a value into a post; None if it is something else that belongs in the export.

        Raises:
            ValueError: The value is malformed; the text says why.
        """

    def names(self, source: Source | Folder) -> Iterator[tuple[str, str]]:
        """Identifiers and names of people, if the export lists them separately."""
        return iter(())

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield posts in order, each with the names of the people it concerns."""
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
        """Yield a message (or line of another kind) for each post."""
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
    """The JSON value of a line, or the line itself if it is not JSON."""
    try:
        return parse_json(line)
    except ValueError:
        return line


def iso(time: datetime) -> str:
    """A time in ISO 8601, as in posts."""
    return time.isoformat()


def iso_text(value: Any, what: str) -> str:
    """Convert a time in any of the forms of `towhom.readers.times` to ISO 8601, as in posts.

    Raises:
        ValueError: It is not a time.
    """
    time = parse_time(value) if isinstance(value, str) else None
    if time is None:
        raise ValueError(f'"{what}" is {str(value)[:40]!r}, not a date and time')
    return time.isoformat()


def iso_milliseconds(value: Any, what: str) -> str:
    """Convert a time in milliseconds since 1970 to ISO 8601, as in posts.

    Raises:
        ValueError: It is not a time.
    """
    number = identifier(value)
    if number is None or not number.lstrip("-").isdecimal() or len(number) > 16:
        raise ValueError(f'"{what}" is missing or not a time in milliseconds')
    return iso(since_epoch(microseconds=int(number) * 1000))


def identifier(value: Any) -> str | None:
    """An identifier as text: a text that is not empty, or a whole number; None for anything else."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """Return the value if it is an object.

    Raises:
        ValueError: It is not an object.
    """
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _link(post: Post, seen: Seen) -> None:
    """Add the names of the people a post concerns: its speaker, who is answered, who is mentioned."""
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
    """Sort posts by room, in order of first appearance, and by time; a post without a time stays in place.

    Posts are stored on disk meanwhile: memory holds only a few numbers for each.
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
    """Sort values room by room, the oldest first in each."""
    posts = ((0, Post(text="", time=time_of(each), room=room_of(each), value=each)) for each in values)
    return (post["value"] for _, post in in_order(posts))


def _sorted(rooms: Sequence[int], times: Sequence[float]) -> list[int]:
    """Indices of posts in order; if the export has the newest first, ties in time are reversed as well."""
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
