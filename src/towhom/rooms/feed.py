"""Rooms for `towhom serve`: events handed on over HTTP, each once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit

from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.rooms.base import Connector, Event, fingerprint, log, pauses

_LONGEST_TEXT, _LONGEST_NAME, _LONGEST_CHANNEL = 4000, 200, 128
"""Characters that a server takes, unless it was told otherwise."""
_MOST_PEOPLE, _MOST_MENTIONS = 100, 100
_TIMEOUT = 60.0
_PLAIN = re.compile("[A-Za-z0-9._#@:+-]")
_SAID = (Kind.MESSAGE, Kind.ACTION, Kind.NOTICE)

JSON = dict[str, Any]


class Feed:
    """Hands events to a server; while it is away, they wait.

    Args:
        server: Its address: `http://localhost:8080`.
        token: What it wants requests to bear, if anything.
    """

    def __init__(self, server: str, token: str | None = None) -> None:
        parts = urlsplit(server if "://" in server else f"http://{server}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise RoomError("a server's address looks like http://localhost:8080, without a password")
        if token and parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise RoomError(f"the token for {parts.hostname} would be sent for all to read; use https://")
        self.server = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._parts = parts
        self._token = token
        self._connection: HTTPConnection | None = None
        self._asking = asyncio.Lock()
        self._people: dict[str, dict[str, JSON]] = {}
        self._told: dict[str, list[JSON]] = {}

    async def take(self, connector: Connector, event: Event) -> None:
        """Hand an event on; returns when the server has it.

        Raises:
            RoomError: The server does not let us in.
        """
        channel = channel_name(connector.label(event.channel or ""))
        people = self._people.setdefault(channel, {})
        if isinstance(event, Presence):
            people.pop(event.speaker, None)
            if event.here:
                people[event.speaker] = _person(event)
            return
        if event.kind is Kind.RENAME:
            # In time, the server learns of the name from the message; the list has to be right after it.
            _rename(people, event)
        elif event.speaker in people:  # who speaks is the last to be left out
            people[event.speaker] = people.pop(event.speaker)
        await self._introduce(channel, people)
        path = f"/v1/channels/{quote(channel, safe='')}/messages"
        await self._sent("POST", path, {"message": _record(event)}, key=_key(event))

    async def _introduce(self, channel: str, people: Mapping[str, JSON]) -> None:
        """Tell the server who is in a room, if that has changed."""
        present = sorted(list(people.values())[-_MOST_PEOPLE:], key=lambda person: str(person["id"]))
        if present != self._told.get(channel, []):
            await self._sent("PUT", f"/v1/channels/{quote(channel, safe='')}/people", {"people": present})
            self._told[channel] = present

    async def check(self) -> None:
        """See whether the server is there and lets us in.

        Raises:
            RoomError: It is not, or does not.
        """
        try:
            status, _ = await asyncio.to_thread(self._asked, "GET", "/v1/channels?limit=1", None, None)
        except (OSError, HTTPException) as error:
            raise RoomError(f"{self.server}: no towhom serve answers there ({_words(error)})") from error
        self._refuse(status, {})
        if status != 200:
            raise RoomError(f"{self.server}: this does not look like towhom serve (status {status})")

    async def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()

    async def _sent(self, method: str, path: str, body: JSON, key: str | None = None) -> None:
        for pause in pauses():
            problem = ""
            try:
                async with self._asking:
                    status, answer = await asyncio.to_thread(self._asked, method, path, body, key)
            except (OSError, HTTPException) as error:
                problem = _words(error)
            else:
                self._refuse(status, answer)
                code = (answer.get("error") or {}).get("code")
                if status < 300 or code == "key-reused":  # it is there, told with another time, say
                    return
                problem = f"status {status}, {code}"
                if status < 500 and status not in (408, 429):
                    log.error("%s: a message was refused and is left out (%s)", self.server, problem)
                    return
            log.warning("%s: %s; again in %.0f s", self.server, problem, pause)
            await asyncio.sleep(pause)

    def _refuse(self, status: int, answer: JSON) -> None:
        code = (answer.get("error") or {}).get("code")
        if status in (401, 421) or code in ("unauthorized", "wrong-host"):
            raise RoomError(
                f"{self.server}: it wants another token; set TOWHOM_SERVE_TOKEN or --server-token-file"
            )

    def _asked(self, method: str, path: str, body: JSON | None, key: str | None) -> tuple[int, JSON]:
        """One request, in a thread; a connection that has been closed meanwhile is opened again."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if key is not None:
            headers["Idempotency-Key"] = key
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        fresh = self._connection is None
        connection = self._connection or self._made()
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, content, headers)
            response = connection.getresponse()
            raw = response.read()
        except (OSError, HTTPException):
            connection.close()
            self._connection = None
            if fresh:
                raise
            return self._asked(method, path, body, key)
        self._connection = connection
        try:
            answer = json.loads(raw)
        except ValueError:
            answer = {}
        return response.status, answer if isinstance(answer, dict) else {}

    def _made(self) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=_TIMEOUT)


def channel_name(room: str) -> str:
    """A room's name as the server's channels may be called; other characters are written as `~` and a number.

    >>> channel_name("#help@irc.example.org"), channel_name("!a b")
    ('#help@irc.example.org', '~21a~20b')
    """
    name = "".join(
        each
        if _PLAIN.fullmatch(each)
        else "".join(f"~{byte:02X}" for byte in each.encode("utf-8", "replace"))
        for each in room
    )
    if not name.strip("."):
        name = f"~{name}"
    return name if len(name) <= _LONGEST_CHANNEL else f"{name[:90]}~{fingerprint(room)}"


def _short(identifier: str) -> str:
    """An identifier that is not too long, and is no other's."""
    return identifier if len(identifier) <= _LONGEST_NAME else f"{identifier[:160]}~{fingerprint(identifier)}"


def _record(message: Message) -> JSON:
    """A message, as the server takes it."""
    record: JSON = {
        "speaker": _short(message.speaker),
        "text": message.text[:_LONGEST_TEXT],
        "kind": message.kind.value,
    }
    if message.kind is Kind.RENAME:
        record["text"] = message.text[:_LONGEST_NAME]
    for name in ("id", "reply_to"):
        if (value := getattr(message, name)) is not None:
            record[name] = _short(value)
    if message.time is not None:
        record["time"] = message.time.isoformat()
    if message.name is not None:
        record["name"] = message.name[:_LONGEST_NAME]
    if message.mentions:
        record["mentions"] = [_short(each) for each in message.mentions[:_MOST_MENTIONS]]
    if message.bot:
        record["bot"] = True
    return record


def _key(message: Message) -> str:
    """What tells the server that it has a message already."""
    if message.id is not None and message.kind in _SAID:
        return fingerprint(message.id)
    time = "" if message.time is None else message.time.isoformat()
    return fingerprint(message.kind.value, message.id or "", message.speaker, message.text, time)


def _person(presence: Presence) -> JSON:
    person: JSON = {
        "id": _short(presence.speaker),
        "aliases": [each[:_LONGEST_NAME] for each in presence.aliases[:20]],
    }
    if presence.name is not None:
        person["name"] = presence.name[:_LONGEST_NAME]
    if presence.bot:
        person["bot"] = True
    return person


def _rename(people: dict[str, JSON], message: Message) -> None:
    """Somebody is called differently; where names are identifiers, they have another one from now on."""
    known = people.get(message.speaker)
    if known is None:
        return
    if "name" in known:
        known["name"] = message.text[:_LONGEST_NAME]
    else:
        del people[message.speaker]
        people[message.text] = {**known, "id": _short(message.text)}


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _words(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
