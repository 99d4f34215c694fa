"""What every connector is: a chat server, followed as events, and spoken to if that is wanted."""

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
"""What happens in a room. `channel` is the room's identifier."""

Advance = Callable[[dict[str, Any]], None]
"""Changes a position, once the event that it came with has been dealt with."""

log = logging.getLogger("towhom.rooms")

_WAITING = 100_000
"""Events that may wait to be dealt with. A server that cannot be told to wait would cut us off otherwise."""
_SENT = 1000
"""Keys of what was sent that are remembered."""
_UNSURE = 2.0
"""Seconds to wait for what was sent before a crash to come back."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 120.0
"""Seconds between attempts to connect again."""


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
    """What the service is called."""
    secret_names: ClassVar[tuple[str, ...]] = ()
    """Secrets that it takes: `password`, `token`."""
    knows_keys: ClassVar[bool] = False
    """Whether `say` itself finds out what was sent with a key before a crash."""
    talkative: ClassVar[tuple[str, ...]] = ()
    """Loggers of its library that write down secrets; as long as it runs, they write `…` instead."""

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
        """As `position`, with what still waits to be dealt with: where a lost connection goes on."""
        self._secrets = dict(secrets or {})
        self._position = Position(state)
        self._unsure: dict[str, list[str]] = {}
        """By key, what the last run was about to send when it ended: room, text, and who it was."""
        self._said_since: dict[str, list[Message]] = {}
        """By the key of something unsure, what we said after the message that it answers."""
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

    # -- for those who use a connector

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
        """The next event; the one before counts as dealt with from now on.

        Raises:
            RoomError: The connector cannot go on: an account was closed, say.
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
        """Send a message; returns the platform's identifier of the message, if it has one.

        Args:
            room: The room: the `channel` of events.
            text: The text.
            reply_to: The identifier of the message that this one answers.
            key: If the message is sent again with the same key, for example after a crash, it appears only
                once. Give the identifier of the message that is answered: where the server does not know
                keys, the messages that it sends again from after that message show whether it was sent.

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
        self.position.get("sending", {}).pop(key, None)
        await self._save()
        return identifier

    async def close(self, *, heard: bool = True) -> None:
        """Leave, and save the position.

        Args:
            heard: Whether the last event has been processed.
        """
        if self._closed:
            return
        try:
            if self._ready.done() and not self._ready.cancelled():
                self._ready.exception()  # whoever waited for it knows
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
        """A name of a room that is unique among all servers."""
        return room

    # -- for those who write one

    @abstractmethod
    async def start(self) -> None:
        """Connect and join the rooms; from now on, events go to `put`.

        Raises:
            RoomError: This fails, for example because of a wrong password.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Leave. Also called if `start` fails half-way."""

    @abstractmethod
    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send; see `send`."""

    def first_part(self, text: str) -> str:
        """How a text that we say comes back as an event, or the first of several."""
        return text

    @property
    def position(self) -> dict[str, Any]:
        """The position that the last run saved, as a JSON value."""
        return self._position.value

    def begin(self, room: str, value: dict[str, Any]) -> None:
        """Set the position of a room if it is not known."""
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
        """The text of an error, or its name if it has no text, without secrets that it may contain."""
        return hide(str(text) or type(text).__name__, self._secrets.values())

    async def _say_with(self, key: str, room: str, text: str, reply_to: str | None) -> str | None:
        """Send, having written down that it is about to be."""
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
        """What the last run sent with a key, though it had no time to write that down; None if it did not."""
        if key not in self._said_since:  # nothing is unsure, or the server does not say it again
            return None
        room, text, _ = self._unsure[key]
        first = self.first_part(text).split()
        end = asyncio.get_running_loop().time() + _UNSURE
        while True:
            for message in self._said_since[key]:
                if message.channel == room and message.text.split() == first:
                    return message
            if asyncio.get_running_loop().time() >= end:
                return None
            await asyncio.sleep(_UNSURE / 20)

    async def _heard(self) -> None:
        """Write down that the last event has been dealt with."""
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
    """Log lines of a library without secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Change a line, and let it pass."""
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
    """Seconds to wait before each attempt to connect again: longer and longer, and not all at once."""
    pause = _FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.75, 1.25)
        pause = min(pause * 2, _LONGEST_PAUSE)


async def ended_quietly(work: Any, seconds: float) -> None:
    """Wait for a farewell, which may fail."""
    with suppress(Exception):
        await asyncio.wait_for(work, seconds)
