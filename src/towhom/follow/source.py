"""The interface of streams. To add one, write a file beside this and a line in `SOURCES`, or a plugin."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from towhom.documents import parse_json
from towhom.errors import ConfigError
from towhom.plugins import load_class, registered

SOURCES = {"nats": "towhom.follow.nats:Nats"}
"""Scheme of an address -> class of its source; imported on first use."""
GROUP = "towhom.streams"
"""Entry points of other packages: `name = "module:Class"`, where the name is the scheme of addresses."""
_LONGEST_KEY = 200
_SHARD = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class Shard:
    """A share of all rooms: each room belongs to one of `count` shards.

    >>> shards = [Shard(number, 3) for number in range(3)]
    >>> sum(shard.has("#help") for shard in shards)
    1
    """

    number: int = 0
    count: int = 1

    @classmethod
    def of(cls, text: str) -> Shard:
        """The shard that a text names: `1/4` is the first of four.

        Raises:
            ConfigError: The text names no shard.
        """
        match = _SHARD.fullmatch(text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ConfigError(f"--shard {text}: expected I/N, with I from 1 to N")
        return cls(int(match[1]) - 1, int(match[2]))

    def has(self, room: str) -> bool:
        """Whether a room belongs to the shard; the same in every process."""
        digest = hashlib.sha256(room.encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8]) % self.count == self.number


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a source.

    Args:
        name: Name of the follower; a new name starts at the beginning of the stream.
        shard: The rooms to follow.
        once: Whether to end when nothing is left.
        credentials: A credentials file for the stream's server.
    """

    name: str = "towhom"
    shard: Shard = Shard()
    once: bool = False
    credentials: str | None = None


class Delivery(ABC):
    """A delivery from a stream, which is repeated until it is done or refused.

    Args:
        place: Position in the stream, for people and for keys; the same when it is delivered again.
        subject: Subject of the delivery; its last part names the room if nothing else does.
        content: The content, as JSON.
    """

    def __init__(self, place: str, subject: str, content: bytes) -> None:
        self.place, self.subject, self.content = place, subject, content

    @abstractmethod
    async def done(self) -> None:
        """Report that it is saved and need not be delivered again."""

    @abstractmethod
    async def refused(self) -> None:
        """Report that it can never be accepted and must not be delivered again."""

    @abstractmethod
    async def working(self) -> None:
        """Report that it takes longer and should not be delivered again yet."""


class Source(ABC):
    """A stream. Unfinished deliveries come first, in the order of the stream."""

    @classmethod
    @abstractmethod
    def open(cls, address: SplitResult, options: Options) -> Self:
        """The stream at an address.

        Raises:
            ConfigError: The address does not name a stream.
        """

    @abstractmethod
    def batches(self) -> AsyncIterator[list[Delivery]]:
        """Deliveries, in batches; the next batch comes when all of the last is done or refused.

        Raises:
            TowhomError: The stream cannot be read.
        """


def sources() -> dict[str, str]:
    """Schemes of addresses with their sources as `module:Class`, including those of other packages."""
    return {**registered(GROUP), **SOURCES}


def open_source(address: str, options: Options) -> Source:
    """The stream at an address.

    Raises:
        ConfigError: There is no such kind of stream, or the address says too little or too much.
    """
    parts = urlsplit(address)
    if parts.scheme not in sources():
        known = ", ".join(f"{scheme}://" for scheme in sources())
        raise ConfigError(f"{address}: no stream that can be followed; known are {known}")
    if parts.username is not None or parts.password is not None:
        raise ConfigError("others can see the command line: an address must not contain a name or password")
    target = sources()[parts.scheme]
    return load_class(target, Source, f"the stream {parts.scheme}://").open(parts, options)  # type: ignore[type-abstract]


@dataclass(frozen=True)
class Line:
    """A message, as `POST /v1/channels/{id}/messages` takes it.

    Args:
        room: Id of the channel.
        message: The message.
        key: Idempotency key, so that the message is kept only once.
        place: Another key, made of the position in the stream, for use if another message has used `key`.
    """

    room: str
    message: dict[str, Any]
    key: str
    place: str


def lines_of(delivery: Delivery) -> list[Line]:
    """The messages of a delivery: one, or `{"message": ...}`, or `{"messages": [...]}`, with a `channel`.

    Raises:
        ValueError: The content is none of these.
    """
    value = parse_json(delivery.content)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    room = value.get("channel")
    if "messages" in value or "message" in value:
        messages = value["messages"] if "messages" in value else [value["message"]]
    else:
        messages = [{key: part for key, part in value.items() if key != "channel"}]
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise ValueError("neither a message nor a list of messages")
    if room is None:
        room = delivery.subject.rpartition(".")[2]
    if not isinstance(room, str) or not room:
        raise ValueError('"channel" is not a text')
    places = [f"{delivery.place}/{number}" for number in range(len(messages))]
    return [
        Line(room, message, _key(message, place), place)
        for message, place in zip(messages, places, strict=True)
    ]


def _key(message: dict[str, Any], place: str) -> str:
    """A key from the message's own id; an edit or deletion has another message's id, so it uses the place."""
    id = message.get("id")
    if message.get("kind", "message") in ("edit", "delete", "rename") or not isinstance(id, str | int):
        return place
    key = f"id:{id}"
    plain = len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()
    return key if plain else f"id-sha256:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()}"
