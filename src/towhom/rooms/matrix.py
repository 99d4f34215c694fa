"""Matrix: rooms of a homeserver, with matrix-nio."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towhom.chat import Kind, Message, Presence
from towhom.client import fingerprint
from towhom.errors import RoomError
from towhom.extras import require
from towhom.readers.links import Recent
from towhom.readers.matrix import answered_message, mentioned_people, without_quote
from towhom.rooms.base import Advance, Connector, Event, ended_quietly, log, pauses

if TYPE_CHECKING:
    from nio import AsyncClient, RoomInfo, SyncResponse

_SAID = {"m.text": Kind.MESSAGE, "m.emote": Kind.ACTION, "m.notice": Kind.NOTICE}
_LONG_POLL = 30_000
"""Milliseconds that the server waits for something to happen."""
_PAGE = 100
"""Events that are requested at a time."""
_ATTEMPTS = 6
"""Attempts to send a message before giving up."""
_FATAL = ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_FORBIDDEN")

Pair = tuple[Event, Advance | None]


class Matrix(Connector):
    """Rooms of a Matrix homeserver.

    Speakers are Matrix identifiers, with their display names as `name`. Replies and threads are `reply_to`,
    edits and redactions are changes of a message; reactions are left out. The server recognizes a message
    that is sent again with the same key, even after a crash. Encrypted rooms need the extra `matrix-e2e`.
    """

    title = "Matrix"
    secret_names = ("password", "token")
    knows_keys = True

    async def start(self) -> None:
        """Log in, join the rooms, and continue where the last run ended."""
        self._nio = require("nio", extra="matrix", purpose="Matrix")
        self.address.allow("tls", "invites")
        if not self.address.host:
            raise RoomError(
                "an address of Matrix rooms looks like matrix://user@matrix.example.org/#room:example.org"
            )
        self._names: dict[str, dict[str, str | None]] = {}
        self._labels: dict[str, str] = {}
        self._authors, self._threads = Recent(), Recent()
        self._warned: set[str] = set()
        self._client: AsyncClient | None = None
        self._client = client = self._made(await self._homeserver())
        try:
            await self._log_in(client)
            self._followed = await self._entered(client)
            resumed = "token" in self.position
            first = await self._synced(client, timeout=0, full_state=True)
        except _away() as error:
            raise RoomError(f"{self.address.server}: cannot connect: {self._words(error)}") from error
        if not resumed:
            self.position["token"] = first.next_batch
            self.position["heard"] = []
            await self._save()
            for room, info in first.rooms.join.items():  # skip what was said before the first run
                self._note(room, info)
        for pair in self._people():
            self.put(*pair)
        self.spawn(self._run(client, first if resumed else None))

    async def stop(self) -> None:
        """Close the connection; the account stays in its rooms."""
        client = getattr(self, "_client", None)
        if client is not None:
            await ended_quietly(client.close(), 5)
            with suppress(Exception):  # the encryption store, if there is one, has an open database
                if client.store is not None:
                    client.store.database.close()

    def label(self, room: str) -> str:
        """The room's alias if it has one, else its identifier."""
        return self._labels.get(room, room)

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message; attempts that may have arrived are repeated with the same transaction."""
        client = self._client
        if client is None:
            raise RoomError(f"{self.address.server}: not connected")
        room_id = next((known for known, label in self._labels.items() if label == room), room)
        transaction = fingerprint(room_id, key) if key is not None else uuid.uuid4().hex
        content = self._content(text, reply_to)
        problem = ""
        for _, pause in zip(range(_ATTEMPTS), pauses(), strict=False):
            try:
                response = await client.room_send(
                    room_id, "m.room.message", content, tx_id=transaction, ignore_unverified_devices=True
                )
            except _away() as error:
                problem = self._words(error)
                await asyncio.sleep(pause)
                continue
            except self._nio.LocalProtocolError as error:
                raise RoomError(
                    f"{self.address.server}: cannot speak in {room}: {self.hide(error)}"
                ) from error
            if isinstance(response, self._nio.RoomSendResponse):
                identifier: str = response.event_id
                return identifier
            problem = self.hide(response.message)
            if str(response.status_code or "").startswith("M_"):
                break
            await asyncio.sleep(pause)
        raise RoomError(f"{self.address.server}: cannot speak in {room}: {problem}")

    def _content(self, text: str, reply_to: str | None) -> dict[str, Any]:
        content: dict[str, Any] = {"msgtype": "m.text", "body": text}
        if reply_to is not None:
            relation: dict[str, Any] = {"m.in_reply_to": {"event_id": reply_to}}
            if (root := self._threads.get(reply_to)) is not None:
                relation |= {"rel_type": "m.thread", "event_id": root, "is_falling_back": False}
            content["m.relates_to"] = relation
            author = self._authors.get(reply_to)
            content["m.mentions"] = {"user_ids": [author]} if author and author != self.me else {}
        return content

    # -- the connection

    async def _homeserver(self) -> str:
        """The URL of the homeserver of the address's domain."""
        secure = self.address.flag("tls", default=True)
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        port = "" if self.address.port is None else f":{self.address.port}"
        server = f"{'https' if secure else 'http'}://{host}{port}"
        if not secure or self.address.port is not None:
            return server
        client = self._made(server)
        try:
            found = await client.discovery_info()
        except _away():
            return server
        finally:
            await client.close()
        return found.homeserver_url if isinstance(found, self._nio.DiscoveryInfoResponse) else server

    def _made(self, server: str) -> AsyncClient:
        nio = self._nio
        secrets: dict[str, Any] = {}
        self._encrypts = bool(nio.crypto.ENCRYPTION_ENABLED)
        if self._encrypts:
            from nio.store import SqliteMemoryStore, SqliteStore

            secrets["store"] = SqliteStore if self._position.path else SqliteMemoryStore
        config = nio.AsyncClientConfig(
            max_timeouts=0, request_timeout=60, encryption_enabled=self._encrypts, **secrets
        )
        store = ""
        if self._encrypts and self._position.path is not None:
            folder = Path(f"{self._position.path}.keys")
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            store = str(folder)
        device = self.position.setdefault("device", f"towhom{random.SystemRandom().randrange(10**10):010}")
        client: AsyncClient = nio.AsyncClient(
            server, self.address.user or "", device_id=device, store_path=store, config=config
        )
        return client

    async def _log_in(self, client: AsyncClient) -> None:
        nio, token, password = self._nio, self.secret("token"), self.secret("password")
        if token:
            client.access_token = token
            who = await client.whoami()
            if not isinstance(who, nio.WhoamiResponse):
                raise RoomError(f"{self.address.server}: the token is refused: {self.hide(who.message)}")
            device = who.device_id or client.device_id or ""
            client.user_id, client.device_id = who.user_id, device
            if self._encrypts:
                client.load_store()
        elif password:
            if self.address.user is None:
                raise RoomError(f"{self.address.server}: say which account: matrix://user@…")
            response = await client.login(password, device_name="towhom")
            if not isinstance(response, nio.LoginResponse):
                raise RoomError(
                    f"{self.address.server}: account or password is refused: {self.hide(response.message)}"
                )
        else:
            raise RoomError(
                f"{self.address.server}: no password and no token; set TOWHOM_MATRIX_PASSWORD or "
                "TOWHOM_MATRIX_TOKEN, or name a file with --password-file or --token-file"
            )
        self.me = client.user_id

    async def _entered(self, client: AsyncClient) -> set[str] | None:
        """Join the rooms of the address; returns their ids, or None for all rooms of the account."""
        if not self.address.rooms:
            return None
        followed = set()
        for room in self.address.rooms:
            response = await client.join(room)
            if not isinstance(response, self._nio.JoinResponse):
                raise RoomError(f"{self.address.server}: cannot enter {room}: {self.hide(response.message)}")
            followed.add(response.room_id)
            if room.startswith("#"):
                self._labels[response.room_id] = room
        return followed

    async def _synced(self, client: AsyncClient, *, timeout: int, full_state: bool = False) -> SyncResponse:
        """Request the events since the last sync.

        Raises:
            RoomError: The server no longer lets us in.
            OSError: The server has a temporary problem.
        """
        since = client.next_batch or self.position.get("token") or None
        rooms: dict[str, Any] = {
            "timeline": {"limit": _PAGE if since else 1},
            "ephemeral": {"types": []},
            "account_data": {"types": []},
        }
        if self._followed is not None:
            rooms["rooms"] = sorted(self._followed)
        response = await client.sync(
            timeout=timeout,
            sync_filter={"room": rooms, "presence": {"types": []}, "account_data": {"types": []}},
            since=since,
            full_state=full_state,
        )
        if isinstance(response, self._nio.SyncResponse):
            if self._encrypts:
                await self._keep_keys(client)
            return response
        if response.status_code in _FATAL:
            raise RoomError(
                f"{self.address.server}: the server no longer lets us in: {self.hide(response.message)}"
            )
        raise OSError(f"the server has a problem: {self.hide(response.message)}")

    async def _keep_keys(self, client: AsyncClient) -> None:
        """Exchange the keys that encryption needs: upload ours, and fetch those of other people."""
        if client.should_upload_keys:
            await client.keys_upload()
        if client.should_query_keys:
            await client.keys_query()
        if client.should_claim_keys:
            await client.keys_claim(client.get_users_for_key_claiming())
        await client.send_to_device_messages()

    async def _run(self, client: AsyncClient, first: SyncResponse | None) -> None:
        since = self.position["token"]
        heard = set(self.position.get("heard", ()))
        waits = iter(pauses())
        response = first
        while True:
            try:
                if response is None:
                    response = await self._synced(client, timeout=_LONG_POLL)
                await self._take(client, response, since, heard)
            except _away() as error:
                pause = next(waits)
                log.warning("%s: %s; again in %.0f s", self.address.server, self._words(error), pause)
                await asyncio.sleep(pause)
                continue
            since, heard, response = response.next_batch, set(), None
            waits = iter(pauses())

    async def _take(self, client: AsyncClient, response: SyncResponse, since: str, heard: set[str]) -> None:
        """Pass on the events of a sync response, in the order in which they happened."""
        pairs: list[Pair] = []
        for room in response.rooms.invite:
            if self.address.flag("invites", default=False) or (self._followed and room in self._followed):
                await client.join(room)
        for room, info in response.rooms.join.items():
            if self._followed is not None and room not in self._followed:
                continue
            pairs += self._changes(room, info)
            events = list(info.timeline.events)
            if info.timeline.limited and info.timeline.prev_batch:
                events = await self._missed(client, room, info.timeline.prev_batch, since) + events
            for event in events:
                identifier = str(event.source.get("event_id", ""))
                if identifier not in heard:
                    pairs += self._event(room, event)
        for room in response.rooms.leave:
            pairs += self._out_of(room)
        last = len(pairs) - 1
        await self.put_all(
            (event, _reached(response.next_batch) if place == last else advance)
            for place, (event, advance) in enumerate(pairs)
        )

    async def _missed(self, client: AsyncClient, room: str, start: str, since: str) -> list[Any]:
        """The events between two tokens, the oldest first."""
        pages: list[list[Any]] = []
        while True:
            response = await client.room_messages(
                room, start, end=since, direction=self._nio.MessageDirection.back, limit=_PAGE
            )
            if not isinstance(response, self._nio.RoomMessagesResponse):
                log.warning(
                    "%s: missed messages cannot be fetched: %s",
                    self.address.server,
                    self.hide(response.message),
                )
                break
            pages.append(response.chunk[::-1])
            if not response.chunk or not response.end or response.end == start:
                break
            start = response.end
        return [event for page in reversed(pages) for event in page]

    # -- people

    def _note(self, room: str, info: RoomInfo) -> None:
        """Apply the state of a room without passing events on."""
        self._changes(room, info)
        for event in info.timeline.events:
            if "state_key" in event.source:
                self._event(room, event)

    def _people(self) -> Iterator[Pair]:
        for room, names in self._names.items():
            for person, name in names.items():
                yield Presence(person, room, name=_shown(person, name)), None

    def _changes(self, room: str, info: RoomInfo) -> list[Pair]:
        """The events that result from the state of a room."""
        return [(event, None) for each in info.state for event, _ in self._event(room, each)]

    def _member(self, room: str, source: dict[str, Any], time: datetime, advance: Advance) -> Iterator[Pair]:
        person, content = str(source["state_key"]), source.get("content", {})
        people = self._names.setdefault(room, {})
        if content.get("membership") != "join":
            if person in people:
                name = people.pop(person)
                yield Presence(person, room, name=_shown(person, name), here=False), advance
            return
        name = content.get("displayname")
        name = name if isinstance(name, str) and name.strip() else None
        known, before = person in people, people.get(person)
        people[person] = name
        if not known:
            yield Presence(person, room, name=_shown(person, name)), advance
        elif before != name:
            yield (
                Message(
                    person, _shown(person, name), time=time, id=source.get("event_id"), kind=Kind.RENAME,
                    channel=room, name=_shown(person, before),
                ),
                advance,
            )  # fmt: skip

    def _out_of(self, room: str) -> list[Pair]:
        """The event for a room that we have left, or were removed from."""
        if self._names.pop(room, None) is None:
            return []
        log.warning("%s: we are no longer in %s", self.address.server, self.label(room))
        if self._followed is not None:
            self._followed.discard(room)
            if not self._followed:
                self.fail(RoomError(f"{self.address.server}: we were sent out of all rooms"))
        return [(Presence(self.me or "", room, here=False), None)]

    # -- messages

    def _event(self, room: str, event: Any) -> list[Pair]:
        """Convert an event of a room; an empty list if it is not relevant."""
        source: dict[str, Any] = event.source
        kind, content = source.get("type"), source.get("content")
        if not isinstance(content, dict) or not isinstance(source.get("sender"), str):
            return []
        stamp = source.get("origin_server_ts")
        time = _moment(stamp if isinstance(stamp, int) else 0)
        advance = _heard(str(source.get("event_id", "")))
        if kind == "m.room.member" and "state_key" in source:
            return list(self._member(room, source, time, advance))
        alias = content.get("alias")
        if kind == "m.room.canonical_alias" and room not in self._labels and isinstance(alias, str) and alias:
            self._labels[room] = alias
        if kind == "m.room.redaction":
            target = source.get("redacts") or content.get("redacts")
            if isinstance(target, str):
                deletion = Message(
                    source["sender"], "", time=time, id=target, kind=Kind.DELETE, channel=room,
                    name=self._name(room, source["sender"]),
                )  # fmt: skip
                return [(deletion, advance)]
        if kind == "m.room.encrypted":
            self._warn(room)
        if kind == "m.room.message":
            message = self._message(room, source, content, time)
            return [] if message is None else [(message, advance)]
        return []

    def _message(
        self, room: str, source: dict[str, Any], content: dict[str, Any], time: datetime
    ) -> Message | None:
        """A message or an edit; None if it has no text."""
        speaker, identifier = source["sender"], str(source.get("event_id", ""))
        relation = content.get("m.relates_to")
        relation = relation if isinstance(relation, dict) else {}
        kind = _SAID.get(str(content.get("msgtype")), Kind.SYSTEM)
        reply_to = answered_message(content)
        if relation.get("rel_type") == "m.replace":
            changed = content.get("m.new_content")
            if not isinstance(changed, dict) or not isinstance(relation.get("event_id"), str):
                return None
            content, identifier, kind, reply_to = changed, relation["event_id"], Kind.EDIT, None
        text = content.get("body")
        if not isinstance(text, str) or not text.strip():
            return None
        if kind is not Kind.EDIT:
            self._authors.put(identifier, speaker)
            if relation.get("rel_type") == "m.thread":
                self._threads.put(identifier, relation.get("event_id"))
        mentions = tuple(dict.fromkeys(mentioned_people(content)))
        if reply_to is not None:
            text = without_quote(text) or text
            # A reply marks the author of the original as mentioned, which is redundant.
            mentions = tuple(each for each in mentions if each != self._authors.get(reply_to))
        return Message(
            speaker, text, time=time, id=identifier, reply_to=reply_to, kind=kind, channel=room,
            name=self._name(room, speaker), mentions=mentions,
        )  # fmt: skip

    def _name(self, room: str, person: str) -> str:
        return _shown(person, self._names.get(room, {}).get(person))

    def _warn(self, room: str) -> None:
        if room in self._warned:
            return
        self._warned.add(room)
        why = (
            "some messages were written before we were there, or their keys were not given to us"
            if self._encrypts
            else "it is encrypted; install what reads it with: pip install 'towhom[matrix-e2e]'"
        )
        log.warning("%s: messages of %s cannot be read: %s", self.address.server, self.label(room), why)

    def _words(self, error: BaseException) -> str:
        return self.hide(error) or type(error).__name__


def _shown(person: str, name: str | None) -> str:
    """The name that people see: the display name, else the first part of the identifier."""
    return name or person.removeprefix("@").partition(":")[0] or person


def _moment(stamp: int) -> datetime:
    """A time from a Matrix server; invalid numbers, which any server may send, become 1970."""
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(stamp / 1000, UTC)
    return datetime.fromtimestamp(0, UTC)


def _heard(identifier: str) -> Advance:
    """An `Advance` which records that an event has been processed, but not the events after it."""

    def advance(position: dict[str, Any]) -> None:
        position["heard"] = [*position.get("heard", ()), identifier]

    return advance


def _reached(token: str) -> Advance:
    """An `Advance` which records that everything up to a token of the server has been processed."""

    def advance(position: dict[str, Any]) -> None:
        position["token"], position["heard"] = token, []

    return advance


def _away() -> tuple[type[Exception], ...]:
    """The exceptions that are raised if the server does not answer, or breaks off."""
    from aiohttp import ClientError

    return OSError, TimeoutError, ClientError
