"""Exports that are one JSON value with an array of messages in it: read as a stream, whatever their size."""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, BinaryIO, ClassVar, NamedTuple

import ijson

from towhom.chat import Message
from towhom.errors import LogError
from towhom.files import DAMAGED
from towhom.readers.base import MAX_MESSAGE, Folder, Reader, Record, Report, Source, utf8_stream
from towhom.readers.links import Recent

Value = dict[str, Any]
"""A message as the platform wrote it, or the part of it that a reader needs."""

MAX_DEPTH = 100
_HEAD_VALUES = 200
_ANY_KEY = r"((?:(?!\.item).)+)"
KEY = "\0key"
"""Under which `items_below` gives the key of an object."""
_MAX_AROUND = 100
"""How much of what an object says before its list of messages is kept."""
_NO_JSON = (ijson.JSONError, UnicodeDecodeError)
"""What the parser raises: the second for half of a surrogate pair that is written as bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKETS_NOR_QUOTES = bytes(set(range(256)) - set(b'[]{}"'))


@dataclass
class Seen:
    """What the messages so far have told, as far as it is remembered."""

    authors: Recent = field(default_factory=Recent)
    """Message -> the name of who wrote it."""
    names: Recent = field(default_factory=Recent)
    """The platform's identifier of a person -> their name."""


class JsonExport(Reader):
    """An export in one JSON file.

    `records` sees the messages in order, so it is there that names and the authors of answered messages are
    looked up, and only there; a record then has all that `message` needs, in whatever process.
    """

    kept: ClassVar[tuple[str, ...]]
    """The keys of a message that matter. The rest can be a hundred times as much: pictures, roles, layout."""

    def __init__(self, channel: str | None = None) -> None:
        self.channel = channel

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """What matters of each message; a value that is no object as it stands."""
        if isinstance(source, Source):
            seen = Seen()
            for number, value in enumerate(self.values(source)):
                yield number, self.slim(value, seen)

    def values(self, source: Source) -> Iterator[Any]:
        """The messages as they stand in the file."""
        return json_items(source, "messages.item")

    def slim(self, value: Any, seen: Seen) -> Any:
        """The part of a message that matters, linked."""
        if not isinstance(value, dict):
            return None
        slim = {key: value[key] for key in self.kept if key in value}
        self.link(slim, seen)
        return slim

    @abstractmethod
    def link(self, value: Value, seen: Seen) -> None:
        """Look up what the message refers to and add it to the message; remember what later ones may need."""

    @abstractmethod
    def message(self, value: Value, line: int) -> Message:
        """The message.

        Raises:
            ValueError: It is none; the text says why.
        """

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """One message (or line of another kind) an object."""
        for number, value in records:
            try:
                if not isinstance(value, dict):
                    raise ValueError("not a JSON object")
                message = self.message(value, number)
            except ValueError as error:
                report.skip(str(error), file=self.place(value, file), record=number)
                continue
            report.kinds[message.kind] += 1
            yield message


def json_items(source: Source, path: str) -> Iterator[Any]:
    """The values at a path of a JSON file, one at a time.

    Raises:
        LogError: The file is no JSON, or ends early; the values before have been given.
    """
    return read_json(source, lambda stream: ijson.items(stream, path, use_float=True), path)


def read_json(source: Source, parse: Callable[[Any], Iterator[Any]], path: str) -> Iterator[Any]:
    """What `parse` gives for the stream of a JSON file, values at a path, with errors that name the file."""
    number = 0
    with source.open() as stream:
        try:
            around = len(path.split(".")) if path else 0
            for value in parse(_Checked(utf8_stream(stream), around=around)):
                yield value
                number += 1
        except _TooLongError as error:
            raise source.too_long("message", line=number + 1) from error
        except _NO_JSON as error:
            reason = f"the JSON ends early or is damaged after {number:,} messages ({_first_line(error)})"
            raise LogError(reason, file=source.name) from error
        except (*DAMAGED, OSError) as error:
            raise source.damaged(error) from error


def head_values(source: Source | Folder) -> dict[str, Any]:
    """What the head of a JSON file says: path -> the first value there, None for what has parts."""
    if isinstance(source, Folder) or source.head_text.lstrip()[:1] not in (b"{", b"["):
        return {}
    return _values_in(source.head_text)


@lru_cache(maxsize=1)  # all readers look at the same head, one after the other
def _values_in(head: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with suppress(*_NO_JSON):  # the head is a beginning: it ends too early
        for path, event, value in ijson.parse(
            _Checked(io.BytesIO(head)), use_float=True, multiple_values=True
        ):
            if event not in ("map_key", "end_map", "end_array"):
                found.setdefault(path, value)
    return found


class Head(NamedTuple):
    """What the head of a JSON file holds: where there are objects, and the first values of every place."""

    objects: Counter[str]
    values: dict[str, list[Any]]


def head_shape(source: Source) -> Head:
    """The shape of the head of a JSON file, or of JSON lines."""
    if source.head_text.lstrip()[:1] not in (b"{", b"["):
        return Head(Counter(), {})
    return _shape_of(source.head_text)


@lru_cache(maxsize=1)
def _shape_of(head: bytes) -> Head:
    objects = Counter[str]()
    values: dict[str, list[Any]] = {}
    with suppress(*_NO_JSON):
        for path, event, value in ijson.parse(
            _Checked(io.BytesIO(head)), use_float=True, multiple_values=True
        ):
            if event == "start_map":
                objects[path] += 1
            elif event in ("string", "number") and len(found := values.setdefault(path, [])) < _HEAD_VALUES:
                found.append(value)
    return Head(objects, values)


def items_below(source: Source, path: str, beside: str | None = None) -> Iterator[tuple[dict[str, Any], Any]]:
    """The objects at a path that leads through lists and objects, each with what is said around them.

    Args:
        source: A JSON file.
        path: Where they are, like "chats.item.messages.item"; `*` is any key.
        beside: The path of a value that stands before them, and is given as a whole.

    Yields:
        The texts and numbers around the object that stand before it, by their paths, with what is beside it,
        the keys that its list is under as `*`, and its own, if it is in no list, as `KEY`; and the object.
    """
    place_of = re.compile(_ANY_KEY.join(map(re.escape, path.split("*"))))

    def parse(stream: Any) -> Iterator[Any]:
        around: dict[str, Any] = {}
        builder, built = None, ""
        for place, event, value in ijson.parse(stream, use_float=True):
            if builder is not None:
                builder.event(event, value)
                if place == built and event in ("end_map", "end_array"):
                    if built == beside:
                        around[built] = builder.value
                    else:
                        yield around, builder.value
                    builder = None
            elif place == beside or (found := place_of.fullmatch(place)):
                if place != beside and found and found.groups():
                    keys = found.groups()
                    own = keys[-1] if path.endswith("*") else None
                    around |= {"*": " ".join(keys[:-1] if own else keys) or None, KEY: own}
                if event in ("start_map", "start_array"):
                    builder, built = ijson.ObjectBuilder(), place
                    builder.event(event, value)
                elif event in ("string", "number", "boolean", "null") and place != beside:
                    yield around, value
            elif event == "start_map":
                around = {key: each for key, each in around.items() if not key.startswith(f"{place}.")}
            elif event in ("string", "number") and len(around) < _MAX_AROUND:
                around[place] = value

    return read_json(source, parse, path)


def part(value: Any, *keys: str) -> Any:
    """What lies under keys in keys, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def name_in(value: Any, *keys: str) -> str | None:
    """The first of some keys whose value is a string with something in it."""
    found = (part(value, key) for key in keys)
    return next((name for name in found if isinstance(name, str) and name.strip()), None)


def text_at(value: Value, key: str) -> str:
    """A string that has to be there.

    Raises:
        ValueError: It is not.
    """
    text = value.get(key)
    if not isinstance(text, str):
        raise ValueError(f'"{key}" is missing or not a string')
    return text


def time_at(value: Value, key: str) -> datetime:
    """A date and time in ISO 8601 that has to be there.

    Raises:
        ValueError: It is not.
    """
    text = text_at(value, key)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{key}" is {text[:40]!r}, not a date and time') from None


def since_epoch(*, seconds: int = 0, microseconds: int = 0) -> datetime:
    """A time in UTC.

    Raises:
        ValueError: It is in no year that calendars have.
    """
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise ValueError("the time is out of range") from None


def _first_line(error: Exception) -> str:
    # The parser quotes the place on further lines, and in bytes if they are no UTF-8.
    if isinstance(error, UnicodeDecodeError):
        return error.reason
    text = error.args[0] if error.args else ""
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    return str(text).partition("\n")[0].strip()


class _TooLongError(Exception):
    """A message, or a text beside them, is longer than `MAX_MESSAGE`."""


class _Checked:
    r"""A JSON stream made fit for the parser.

    `\x0b`, which Telegram writes and JSON does not know, becomes `\u000b`. And
    what is nested deeper than any chat is refused: the parser would need memory with the square of the depth.
    So are messages, and texts beside them, that are longer than any chat's: the parser keeps them in memory.

    Args:
        stream: What to read.
        around: How many objects and lists there are around a message.
    """

    def __init__(self, stream: BinaryIO, *, around: int = 0) -> None:
        self._stream = stream
        self._around = around
        self._length = 0
        self._held = b""
        self._in_string = 0
        self._depth = 0

    def read(self, size: int) -> bytes:
        """The next bytes; nothing at the end."""
        if size == 0:  # the parser asks whether we give bytes
            return b""
        chunk = b""
        while not chunk:
            read = self._stream.read(size)
            chunk = self._held + read
            self._held = b""
            if not read:
                break
            if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:  # half an escape: the rest is in the next bytes
                chunk, self._held = chunk[:-1], b"\\"
        if b"\\x" in chunk:
            chunk = _ESCAPE.sub(lambda found: b"\\u00" if found[1] == b"x" else found[0], chunk)
        self._check_depth(chunk)
        return chunk

    def _check_depth(self, chunk: bytes) -> None:
        bare = _ESCAPE.sub(b"", chunk).translate(_BRACKETS, _NEITHER_BRACKETS_NOR_QUOTES)
        pieces = bare.split(b'"')
        outside = b"".join(pieces[self._in_string :: 2])
        self._in_string = (self._in_string + len(pieces) - 1) % 2
        moves = bool(outside) or len(pieces) > 1
        levels = 0
        while b"[]" in outside and levels <= MAX_DEPTH:
            outside = outside.replace(b"[]", b"")  # takes the innermost level away
            levels += 1
        before = self._depth
        lowest = before - outside.count(b"]")
        self._length = 0 if moves and lowest <= self._around else self._length + len(chunk)
        if self._length > MAX_MESSAGE:
            raise _TooLongError
        self._depth = lowest + outside.count(b"[")
        if max(before, self._depth) + levels > MAX_DEPTH:
            raise ijson.JSONError(f"nested more than {MAX_DEPTH} levels deep")
