"""The base class of connectors, which follow a chat server as events and can send messages to it."""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from towhom.chat import Message, Presence
from towhom.errors import RoomError
from towhom.rooms.address import Address
from towhom.rooms.position import Position

Event = Message | Presence
"""An event in a room. `channel` is the room's identifier."""

Advance = Callable[[dict[str, Any]], None]
"""Updates a position, once the event that it belongs to has been processed."""

log = logging.getLogger("towhom.rooms")

_WAITING = 100_000
"""Maximum events in the queue. A server that cannot be made to wait would disconnect us otherwise."""
_SENT = 1000
"""Number of keys of sent messages that are remembered."""
_UNSURE = 2.0
"""Seconds to wait for a message that may have been sent before a crash to come back as an event."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 120.0
"""Minimum and maximum seconds between attempts to reconnect."""


class Connector(ABC):
    """Rooms of a chat server: an asynchronous context manager, and an iterator of events.

    An event counts as processed when the next one is requested; only then is the position saved. So a
    program that is killed in between gets the event again, and nothing is lost. Messages that a connector
    sends come back as events, like those of others.

    Args:
        address: The server, account and rooms.
        secrets: Passwords and tokens, by the names in `secrets`. They are never shown.
        state: A file for the last position that was read; None to start with new messages every time.
        write: Whether it may send. By default, connectors only listen.
    """

    title: ClassVar[str]
    """Name of the service."""
    secret_names: ClassVar[tuple[str, ...]] = ()
    """Names of the secrets that it takes: `password`, `token`."""
    knows_keys: ClassVar[bool] = False
    """Whether `say` itself finds out what was sent with a key before a crash."""
    talkative: ClassVar[tuple[str, ...]] = ()
    """Loggers of its library that log secrets; while the connector is open, they log `…` instead."""

    def __init__(
        self,
        address: Address,
        *,
        secrets: Mapping[str, str] | None = None,
        state: Path | None = None,
        write: bool = False,
    ) -> None:
        self.address = address
        self.write = write
        self.me: str | None = None
        self.reached: dict[str, Any] = {}
        """Like `position`, but including queued events: where a lost connection continues."""
        self._secrets = dict(secrets or {})
        self._position = Position(state)
        self._unsure: dict[str, list[str]] = {}
        """Key -> room, text and own name of a message that the last run may or may not have sent."""
        self._said_since: dict[str, list[Message]] = {}
        """Key in `_unsure` -> our own messages since the message that has this key as its id."""
        self._events: deque[tuple[Event, Advance | None]] = deque()
        self._there = asyncio.Event()
        self._room_for_more = asyncio.Event()
        self._advance: Advance | None = None
        self._ended: BaseException | None = None
        self._closed = False
        self._ready: asyncio.Future[None]
        self._saving = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._hiding = _Hiding(self._secrets.values())

    # -- for users of connectors

    async def __aenter__(self) -> Self:
        self._position.open()
        self.reached = deepcopy(self.position)
        self._unsure = dict(self.position.get("sending", {}))
        self._ready = asyncio.get_running_loop().create_future()
        for name in self.talkative:
            logging.getLogger(name).addFilter(self._hiding)
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(heard=kind is None)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        """The next event; from now on, the previous event counts as processed.

        Raises:
            RoomError: The connector cannot continue, for example because the account was closed.
        """
        await self._heard()
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            if self._ended is not None:
                raise self._ended
            self._there.clear()
            await self._there.wait()
        event, self._advance = self._events.popleft()
        self._room_for_more.set()
        return event

    async def send(
        self, room: str, text: str, reply_to: str | None = None, *, key: str | None = None
    ) -> str | None:
        """Send a message; returns the platform's identifier for it, if it has one.

        Args:
            room: The room: the `channel` of events.
            text: The text.
            reply_to: The identifier of the message that this one answers.
            key: If the message is sent again with the same key, for example after a crash, it appears only
                once. Use the identifier of the message that is answered: on servers that do not support
                keys, the messages that they deliver again after that one show whether it was sent.

        Raises:
            RoomError: The connector only listens, or the server refuses.
        """
        if not self.write:
            raise RoomError("this connector only listens; open it with write=True to send")
        if not text.strip():
            raise RoomError("there is nothing to send: the text is empty")
        sent: dict[str, str | None] = self.position.setdefault("sent", {})
        if key is not None and key in sent:
            return sent[key]
        if key is None:
            return await self.say(room, text, reply_to, key)
        found = await self._found(key)
        identifier = found.id if found is not None else await self._say_with(key, room, text, reply_to)
        sent[key] = identifier
        while len(sent) > _SENT:
            del sent[next(iter(sent))]
        for unsure in (self.position.get("sending", {}), self._unsure, self._said_since):
            unsure.pop(key, None)
        await self._save()
        return identifier

    async def close(self, *, heard: bool = True) -> None:
        """Disconnect, and save the position.

        Args:
            heard: Whether the last event has been processed.
        """
        if self._closed:
            return
        try:
            if self._ready.done() and not self._ready.cancelled():
                self._ready.exception()  # marks it as retrieved; whoever waited for it has got it
            if heard:
                await self._heard()
            self._closed = True
            self._there.set()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.stop()
        finally:
            self._closed = True
            self._position.close()
            for name in self.talkative:
                logging.getLogger(name).removeFilter(self._hiding)

    def label(self, room: str) -> str:
        """A name for a room that is unique across all servers."""
        return room

    # -- for authors of connectors

    @abstractmethod
    async def start(self) -> None:
        """Connect and join the rooms; from now on, pass events to `put`.

        Raises:
            RoomError: This fails, for example because of a wrong password.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Disconnect. Also called if `start` fails half-way."""

    @abstractmethod
    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message; see `send`."""

    def first_part(self, text: str) -> str:
        """The text of the first event that comes back when this text is sent."""
        return text

    @property
    def position(self) -> dict[str, Any]:
        """The position that the last run saved, as a JSON value."""
        return self._position.value

    def begin(self, room: str, value: dict[str, Any]) -> None:
        """Set the position of a room, unless it has one already."""
        for position in (self.position, self.reached):
            position.setdefault("rooms", {}).setdefault(room, deepcopy(value))

    def put(self, event: Event, advance: Advance | None = None) -> None:
        """Pass on an event.

        Args:
            event: The event.
            advance: Changes the position once the event has been processed.
        """
        if len(self._events) >= _WAITING:
            if len(self._events) == _WAITING:
                log.error("%s: more than %d events wait; later ones are lost", self.address.server, _WAITING)
            return
        self._events.append((event, advance))
        if self._unsure and isinstance(event, Message):
            if event.id in self._unsure:
                self._said_since.setdefault(event.id, [])
            for key, said in self._said_since.items():
                if event.speaker in (self.me, self._unsure[key][2]):
                    said.append(event)
        if advance is not None:
            advance(self.reached)
        self._there.set()

    async def put_all(self, events: Iterable[tuple[Event, Advance | None]], *, most: int = 1000) -> None:
        """Pass on events of a server that can be made to wait: at most `most` events are queued."""
        for event, advance in events:
            while len(self._events) >= most:
                self._room_for_more.clear()
                await self._room_for_more.wait()
            self.put(event, advance)

    def fail(self, error: BaseException) -> None:
        """Stop with an error, which is raised after the events that are already queued.

        While it starts, whoever waits for `_ready` is told.
        """
        if not self._ready.done():
            self._ready.set_exception(error)
        self._ended = error
        self._there.set()

    def spawn(self, work: Any) -> None:
        """Run a coroutine until the connector is closed; if it fails, the connector has failed."""
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.fail(error)

        task.add_done_callback(ended)

    def secret(self, name: str) -> str | None:
        """A password or a token, if one was given."""
        return self._secrets.get(name)

    def hide(self, text: object) -> str:
        """The text of an error, or its type if it has no text, without secrets."""
        return hide(str(text) or type(text).__name__, self._secrets.values())

    async def _say_with(self, key: str, room: str, text: str, reply_to: str | None) -> str | None:
        """Send a message, after recording on disk that it is about to be sent."""
        sending: dict[str, list[str]] = self.position.setdefault("sending", {})
        if not self.knows_keys:
            sending[key] = [room, text, self.me or ""]
            await self._save()
        try:
            return await self.say(room, text, reply_to, key)
        except RoomError:
            sending.pop(key, None)
            raise

    async def _found(self, key: str) -> Message | None:
        """The message that the last run sent with a key but could not record; None if it was not sent."""
        if key not in self._said_since:  # nothing is unsure, or the server does not deliver it again
            return None
        (room, text, _), said = self._unsure[key], self._said_since[key]
        first = self.first_part(text).split()
        end = asyncio.get_running_loop().time() + _UNSURE
        while True:
            for message in said:
                if message.channel == room and message.text.split() == first:
                    return message
            if asyncio.get_running_loop().time() >= end:
                return None
            await asyncio.sleep(_UNSURE / 20)

    async def _heard(self) -> None:
        """Record that the last event has been processed."""
        advance, self._advance = self._advance, None
        if advance is not None:
            advance(self._position.value)
            await self._save()

    async def _save(self) -> None:
        if self._position.path is not None:
            async with self._saving:
                content = self._position.content()
                await asyncio.to_thread(self._position.save, content)


class _Hiding(logging.Filter):
    """Removes secrets from the log lines of a library."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove secrets from a line; always lets it pass."""
        record.msg, record.args = hide(record.getMessage(), self._secrets), None
        return True


def hide(text: str, secrets: Iterable[str]) -> str:
    """A text without secrets.

    >>> hide("PASS hunter2 was refused", ["hunter2"])
    'PASS … was refused'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "…")
    return text


def pauses() -> Iterable[float]:
    """Seconds to wait before each attempt to reconnect: increasing, with some randomness."""
    pause = _FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.75, 1.25)
        pause = min(pause * 2, _LONGEST_PAUSE)


async def ended_quietly(work: Any, seconds: float) -> None:
    """Wait for an operation at the end of a connection, ignoring errors and timeouts."""
    with suppress(Exception):
        await asyncio.wait_for(work, seconds)
