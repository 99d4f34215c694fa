"""Feeds rooms to `towhom serve`: events are sent over HTTP, each exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import quote

from towhom.chat import Kind, Message, Presence
from towhom.client import AWAY, JSON, Client, Reply, channel_of, fingerprint, in_words
from towhom.errors import ConfigError, RoomError
from towhom.rooms.base import Connector, Event, log, pauses

_LONGEST_TEXT, _LONGEST_NAME = 4000, 200
"""Characters that a server accepts by default."""
_MOST_PEOPLE, _MOST_MENTIONS = 100, 100
_SAID = (Kind.MESSAGE, Kind.ACTION, Kind.NOTICE)


class Feed:
    """Sends events to a server; while it is away, they wait.

    Args:
        server: Address of the server, like `http://localhost:8080`.
        token: The server's token, if it needs one.
    """

    def __init__(self, server: str, token: str | None = None) -> None:
        try:
            self._client = Client(server, token)
        except ConfigError as error:
            raise RoomError(str(error)) from error
        self.server = self._client.address
        if token and self._client.in_the_open:
            raise RoomError(f"the token for {self.server} would be sent unencrypted; use https://")
        self._asking = asyncio.Lock()
        self._people: dict[str, dict[str, JSON]] = {}
        self._told: dict[str, list[JSON]] = {}

    async def take(self, connector: Connector, event: Event) -> None:
        """Send an event; returns when the server has it.

        Raises:
            RoomError: The server does not let us in.
        """
        channel = channel_of(connector.label(event.channel or ""))
        people = self._people.setdefault(channel, {})
        if isinstance(event, Presence):
            people.pop(event.speaker, None)
            if event.here:
                people[event.speaker] = _person(event)
            return
        if event.kind is Kind.RENAME:
            # The server learns the new name from the message; the list has to be right afterwards.
            _rename(people, event)
        elif event.speaker in people:  # recent speakers are the last to be left out
            people[event.speaker] = people.pop(event.speaker)
        await self._introduce(channel, people)
        path = f"/v1/channels/{quote(channel, safe='')}/messages"
        await self._sent("POST", path, {"message": _record(event)}, key=_key(event))

    async def _introduce(self, channel: str, people: Mapping[str, JSON]) -> None:
        """Send the list of people in a room to the server, if it has changed."""
        present = sorted(list(people.values())[-_MOST_PEOPLE:], key=lambda person: str(person["id"]))
        if present != self._told.get(channel, []):
            await self._sent("PUT", f"/v1/channels/{quote(channel, safe='')}/people", {"people": present})
            self._told[channel] = present

    async def check(self) -> None:
        """Check that the server answers and lets us in.

        Raises:
            RoomError: It does not.
        """
        try:
            reply = await asyncio.to_thread(self._client.ask, "GET", "/v1/channels?limit=1")
        except AWAY as error:
            raise RoomError(f"{self.server}: no towhom serve answers there ({in_words(error)})") from error
        self._refuse(reply)
        if reply.status != 200 or "channels" not in reply.body:
            raise RoomError(f"{self.server}: this does not look like towhom serve (status {reply.status})")

    async def close(self) -> None:
        """End the connection."""
        self._client.close()

    async def _sent(self, method: str, path: str, body: JSON, key: str | None = None) -> None:
        for pause in pauses():
            try:
                async with self._asking:
                    reply = await asyncio.to_thread(self._client.ask, method, path, body, key=key)
            except AWAY as error:
                problem = in_words(error)
            else:
                self._refuse(reply)
                if reply.status < 300 or reply.code == "key-reused":  # saved already, with another time
                    return
                problem = f"status {reply.status}, {reply.code}"
                if reply.status < 500 and reply.status not in (408, 429):
                    log.error("%s: a message was refused and is left out (%s)", self.server, problem)
                    return
            log.warning("%s: %s; again in %.0f s", self.server, problem, pause)
            await asyncio.sleep(pause)

    def _refuse(self, reply: Reply) -> None:
        if reply.status in (401, 421) or reply.code in ("unauthorized", "wrong-host"):
            raise RoomError(
                f"{self.server}: it needs another token; set TOWHOM_SERVE_TOKEN or --server-token-file"
            )


def _short(identifier: str) -> str:
    """An identifier, shortened if it is too long, but still unique."""
    return identifier if len(identifier) <= _LONGEST_NAME else f"{identifier[:160]}~{fingerprint(identifier)}"


def _record(message: Message) -> JSON:
    """A message as the JSON that the server accepts."""
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
    """The idempotency key of a message, by which the server recognizes one that it already has."""
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
    """Apply a rename to the people of a room; where names are identifiers, the identifier changes."""
    known = people.get(message.speaker)
    if known is None:
        return
    if "name" in known:
        known["name"] = message.text[:_LONGEST_NAME]
    else:
        del people[message.speaker]
        people[message.text] = {**known, "id": _short(message.text)}
