"""Exports that are one JSON value containing an array of messages, read as a stream whatever their size."""

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
"""The name under which `items_below` returns the key of an object."""
_MAX_AROUND = 100
"""Most values kept of those that come before a list of messages in an object."""
_NO_JSON = (ijson.JSONError, UnicodeDecodeError)
"""Errors of the parser; the second is raised for half of a surrogate pair written as bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKETS_NOR_QUOTES = bytes(set(range(256)) - set(b'[]{}"'))


@dataclass
class Seen:
    """Names and authors learned from the messages so far, as far as they are remembered."""

    authors: Recent = field(default_factory=Recent)
    """Message id -> the name of its author."""
    names: Recent = field(default_factory=Recent)
    """The platform's identifier of a person -> the person's name."""


class JsonExport(Reader):
    """An export in one JSON file.

    Only `records` sees the messages in order, so names and the authors of answered messages are looked up
    there. A record then holds everything that `message` needs, in any process.
    """

    kept: ClassVar[tuple[str, ...]]
    """The keys of a message that are kept. The others can be a hundred times as large: pictures, roles."""

    def __init__(self, channel: str | None = None) -> None:
        self.channel = channel

    def records(self, source: Source | Folder, report: Report) -> Iterator[Record]:
        """Yield the kept part of each message; None for a value that is not an object."""
        if isinstance(source, Source):
            seen = Seen()
            for number, value in enumerate(self.values(source)):
                yield number, self.slim(value, seen)

    def values(self, source: Source) -> Iterator[Any]:
        """The messages as the file has them."""
        return json_items(source, "messages.item")

    def slim(self, value: Any, seen: Seen) -> Any:
        """The kept part of a message, linked; None if it is not an object."""
        if not isinstance(value, dict):
            return None
        slim = {key: value[key] for key in self.kept if key in value}
        self.link(slim, seen)
        return slim

    @abstractmethod
    def link(self, value: Value, seen: Seen) -> None:
        """Add to the message the names that it refers to, and remember what later messages may need."""

    @abstractmethod
    def message(self, value: Value, line: int) -> Message:
        """Turn a record into a message.

        Raises:
            ValueError: The value is not a message; the text says why.
        """

    def parse(self, records: Iterable[Record], report: Report, file: str) -> Iterator[Message]:
        """Yield a message (or line of another kind) for each object."""
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
    """Yield the values at a path of a JSON file, one at a time.

    Raises:
        LogError: The file is not JSON, or ends early; the values before that point have been yielded.
    """
    return read_json(source, lambda stream: ijson.items(stream, path, use_float=True), path)


def read_json(source: Source, parse: Callable[[Any], Iterator[Any]], path: str) -> Iterator[Any]:
    """Yield the values that `parse` finds in the stream of a JSON file; errors name the file."""
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
    """Values in the head of a JSON file: path -> the first value there, None for objects and arrays."""
    if isinstance(source, Folder) or source.head_text.lstrip()[:1] not in (b"{", b"["):
        return {}
    return _values_in(source.head_text)


@lru_cache(maxsize=1)  # all readers look at the same head, one after the other
def _values_in(head: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with suppress(*_NO_JSON):  # the head is only a beginning, so it ends early
        for path, event, value in ijson.parse(
            _Checked(io.BytesIO(head)), use_float=True, multiple_values=True
        ):
            if event not in ("map_key", "end_map", "end_array"):
                found.setdefault(path, value)
    return found


class Head(NamedTuple):
    """Shape of the head of a JSON file: the number of objects and the first values at every path."""

    objects: Counter[str]
    values: dict[str, list[Any]]


def head_shape(source: Source) -> Head:
    """Find the shape of the head of a JSON file, or of JSON lines."""
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
    """Yield the objects at a path that leads through lists and objects, each with the values around it.

    Args:
        source: A JSON file.
        path: Path of the objects, like "chats.item.messages.item"; `*` is any key.
        beside: Path of a value that comes before the objects and is returned as a whole.

    Yields:
        A mapping and the object. The mapping has the texts and numbers that come before the object around it,
        by path; the value at `beside`; the keys above its list as `*`; and its own key as `KEY`, if it is in
        no list.
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
    """The value under nested keys, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def name_in(value: Any, *keys: str) -> str | None:
    """The value of the first of some keys that holds a string that is not blank, or None."""
    found = (part(value, key) for key in keys)
    return next((name for name in found if isinstance(name, str) and name.strip()), None)


def text_at(value: Value, key: str) -> str:
    """The string under a key.

    Raises:
        ValueError: It is missing or not a string.
    """
    text = value.get(key)
    if not isinstance(text, str):
        raise ValueError(f'"{key}" is missing or not a string')
    return text


def time_at(value: Value, key: str) -> datetime:
    """The date and time in ISO 8601 under a key.

    Raises:
        ValueError: It is missing or not a date and time.
    """
    text = text_at(value, key)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{key}" is {text[:40]!r}, not a date and time') from None


def since_epoch(*, seconds: int = 0, microseconds: int = 0) -> datetime:
    """The time in UTC that is this long after the start of 1970.

    Raises:
        ValueError: It is out of the range of `datetime`.
    """
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise ValueError("the time is out of range") from None


def _first_line(error: Exception) -> str:
    # The parser quotes the position on further lines, and in bytes if they are not UTF-8.
    if isinstance(error, UnicodeDecodeError):
        return error.reason
    text = error.args[0] if error.args else ""
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    return str(text).partition("\n")[0].strip()


class _TooLongError(Exception):
    """A message, or a text beside the messages, is longer than `MAX_MESSAGE`."""


class _Checked:
    r"""A JSON stream that is corrected and checked for the parser.

    `\x0b`, which Telegram writes although JSON does not allow it, becomes `\u000b`. Content nested deeper
    than in any chat is rejected, since the parser's memory grows with the square of the depth. So are
    messages, and texts beside them, that are longer than in any chat: the parser keeps them in memory.

    Args:
        stream: The stream to read.
        around: Number of objects and lists around a message.
    """

    def __init__(self, stream: BinaryIO, *, around: int = 0) -> None:
        self._stream = stream
        self._around = around
        self._length = 0
        self._held = b""
        self._in_string = 0
        self._depth = 0

    def read(self, size: int) -> bytes:
        """The next bytes; empty at the end."""
        if size == 0:  # the parser checks whether the stream returns bytes
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
            outside = outside.replace(b"[]", b"")  # removes the innermost level
            levels += 1
        before = self._depth
        lowest = before - outside.count(b"]")
        self._length = 0 if moves and lowest <= self._around else self._length + len(chunk)
        if self._length > MAX_MESSAGE:
            raise _TooLongError
        self._depth = lowest + outside.count(b"[")
        if max(before, self._depth) + levels > MAX_DEPTH:
            raise ijson.JSONError(f"nested more than {MAX_DEPTH} levels deep")
