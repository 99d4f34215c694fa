"""XMPP: multi-user chat rooms (XEP-0045) of any server, with slixmpp."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from towhom.chat import Kind, Message, Presence
from towhom.client import fingerprint
from towhom.errors import RoomError
from towhom.extras import require
from towhom.readers.links import Recent
from towhom.rooms.base import Advance, Connector, Event, ended_quietly, log, pauses

if TYPE_CHECKING:
    from slixmpp import ClientXMPP

_PATIENCE = 30.0
"""Seconds that logging in may take, or entering a room."""
_PAGE = 100
"""Messages of an archive that are requested at a time."""
_REMEMBERED = 50
"""Number of recent message ids that are remembered for each room, so that no message comes twice."""
_ARCHIVE = "urn:xmpp:mam:2"
_STANZA_ID, _ORIGIN_ID = "{urn:xmpp:sid:0}stanza-id", "{urn:xmpp:sid:0}origin-id"
_RETRACT = ("{urn:xmpp:message-retract:1}retract", "{urn:xmpp:fasten:0}apply-to")
_ENCRYPTED = ("{eu.siacs.conversations.axolotl}encrypted", "{urn:xmpp:omemo:2}encrypted")
_REACTIONS = "{urn:xmpp:reactions:0}reactions"
_RENAMED = 303
"""Status code of somebody who changes their nick."""
_MADE = 201
"""Status code of a room that was created by entering it."""
_SENT_OUT = (301, 307, 321, 322, 332)
_REFUSALS = {
    "not-authorized": "it has a password",
    "forbidden": "we are banned there",
    "item-not-found": "there is no such room",
    "not-allowed": "rooms may not be made there",
    "registration-required": "it is for members",
    "service-unavailable": "it is full",
    "remote-server-not-found": "there is no such server",
}
_PLUGINS = (
    "xep_0004",
    "xep_0030",
    "xep_0045",
    "xep_0059",
    "xep_0199",
    "xep_0203",
    "xep_0308",
    "xep_0313",
    "xep_0359",
    "xep_0461",
)


@dataclass
class _Room:
    """A room, as far as the connection knows it."""

    name: str
    nick: str
    people: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    """Nicks of the people who were in the room when the connection was lost."""
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    refused: asyncio.Future[str] | None = None
    archive: bool = False
    before_us: set[str] | None = None
    """While we enter a room for the first time, ids of the messages from before; None otherwise."""
    held: list[Callable[[], None]] | None = None
    """Events that wait until missed messages have arrived; None if none are expected."""
    missed: set[str] = field(default_factory=set)
    """The missed messages that arrived meanwhile. One that is sent just then comes live, too."""


class XMPP(Connector):
    """Rooms of an XMPP server.

    Speakers are nicks in the room; a change of nick is a `RENAME`. Corrections (XEP-0308) and retractions
    (XEP-0424) change a message, replies (XEP-0461) are `reply_to`, identifiers are those of the room
    (XEP-0359). Missed messages come from the room's archive (XEP-0313) or its history.
    """

    title = "XMPP"
    secret_names = ("password",)
    knows_keys = True

    async def start(self) -> None:
        """Log in and enter the rooms."""
        self._slixmpp = require("slixmpp", extra="xmpp", purpose="XMPP")
        self.address.allow("nick", "tls", "host", "verify")
        if not self.address.host or not self.address.user:
            raise RoomError(
                "an address of XMPP rooms looks like xmpp://user@example.org/room@conference.example.org"
            )
        if not self.address.rooms:
            raise RoomError(
                f"{self.address.server}: say which rooms: {self.address.server}/room@conference.…"
            )
        for room in self.address.rooms:
            if "@" not in room:
                raise RoomError(
                    f"{self.address.server}: {room} is not a room; one looks like {room}@conference.…"
                )
        if self.secret("password") is None:
            raise RoomError(
                f"{self.address.server}: no password; set TOWHOM_XMPP_PASSWORD or use --password-file"
            )
        # slixmpp's debugging log has every stanza, including the one with the password.
        stanzas = logging.getLogger("slixmpp.xmlstream.xmlstream")
        stanzas.setLevel(max(stanzas.getEffectiveLevel(), logging.INFO))
        nick = self.address.options.get("nick") or self.address.user
        self.me = nick
        self._rooms = {room.lower(): _Room(room.lower(), nick) for room in self.address.rooms}
        self._client: ClientXMPP | None = None
        self._own: dict[str, asyncio.Future[str]] = {}
        self._identifiers, self._nicks = Recent(), Recent()
        self._warned: set[str] = set()
        self._over: asyncio.Future[str] | None = None
        self.spawn(self._run())
        await self._ready

    async def stop(self) -> None:
        """Disconnect."""
        client = getattr(self, "_client", None)
        if client is not None:
            self._client = None
            await ended_quietly(client.disconnect(wait=1.0), 3)
            client.abort()
            if client._run_out_filters is not None:
                client._run_out_filters.cancel()

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send a message, and wait until the room delivers it; returns the room's identifier for it."""
        known = self._rooms.get(room.lower())
        if known is None:
            raise RoomError(f"{self.address.server}: we are not in {room}")
        name = fingerprint(room, key) if key is not None else uuid.uuid4().hex
        if key is not None and (sent := self._identifiers.get((known.name, known.nick, name))) is not None:
            return sent  # it was sent before a crash, and the archive has it
        try:
            await asyncio.wait_for(known.entered.wait(), _PATIENCE)
        except TimeoutError:
            raise RoomError(f"{self.address.server}: not connected at the moment") from None
        client = self._client
        if client is None:
            raise RoomError(f"{self.address.server}: not connected at the moment")
        message = client.make_message(mto=known.name, mbody=text, mtype="groupchat")
        message["id"] = message["origin_id"]["id"] = name
        if reply_to is not None:
            message["reply"]["id"] = reply_to
            if (nick := self._nicks.get(reply_to)) is not None:
                message["reply"]["to"] = f"{known.name}/{nick}"
        echo = self._own[name] = asyncio.get_running_loop().create_future()
        try:
            message.send()
            return await asyncio.wait_for(echo, _PATIENCE)
        except TimeoutError:
            raise RoomError(f"{self.address.server}: {room} does not confirm what we said") from None
        finally:
            self._own.pop(name, None)

    # -- the connection

    async def _run(self) -> None:
        """Connect, and reconnect whenever the connection ends."""
        waits = iter(pauses())
        while True:
            client = self._made()
            try:
                problem = await self._connected(client)
                if self._ready.done() and self._ready.exception() is None:
                    waits = iter(pauses())
            except RoomError as error:
                if self._ready.done():
                    raise
                self._ready.set_exception(error)
                return
            except (OSError, TimeoutError, self._slixmpp.exceptions.XMPPError) as error:
                problem = str(error) or type(error).__name__
            finally:
                self._hang_up(client)
            problem = self.hide(problem)
            if not self._ready.done():
                self._ready.set_exception(RoomError(f"{self.address.server}: cannot connect: {problem}"))
                return
            pause = next(waits)
            log.warning("%s: %s; again in %.0f s", self.address.server, problem, pause)
            await asyncio.sleep(pause)

    def _made(self) -> ClientXMPP:
        slixmpp = self._slixmpp
        secure = self.address.flag("tls", default=True)
        plain = (
            {} if secure else {"feature_mechanisms": {"unencrypted_plain": True, "unencrypted_scram": True}}
        )
        client: ClientXMPP = slixmpp.ClientXMPP(
            f"{self.address.user}@{self.address.host}/towhom-{uuid.uuid4().hex[:8]}",
            self.secret("password"),
            plugin_config=plain,
        )
        client.enable_plaintext = not secure
        client.enable_starttls = client.enable_direct_tls = secure
        if not self.address.flag("verify", default=True):
            import ssl

            client.ssl_context.check_hostname = False
            client.ssl_context.verify_mode = ssl.CERT_NONE
        for plugin in _PLUGINS:
            client.register_plugin(plugin)
        # Otherwise the library queries the capabilities of every client in a room, which are not needed.
        caps = client.plugin["xep_0115"]
        client.del_event_handler("entity_caps", caps._process_caps)
        return client

    async def _connected(self, client: ClientXMPP) -> str:
        """Run one connection until it ends; returns why it ended."""
        loop = asyncio.get_running_loop()
        began: asyncio.Future[str] = loop.create_future()
        over: asyncio.Future[str] = loop.create_future()

        def ended(reason: Any) -> None:
            for future in (began, over):
                if not future.done():
                    future.set_result(str(reason or "the server ended the connection"))

        def refused(_: Any) -> None:
            if not began.done():
                began.set_exception(
                    RoomError(f"{self.address.server}: the account or its password is refused")
                )

        def started(_: Any) -> None:
            if not began.done():
                began.set_result("")

        client.add_event_handler("session_start", started)
        client.add_event_handler("failed_all_auth", refused)
        client.add_event_handler("connection_failed", ended)
        client.add_event_handler("disconnected", ended)
        client.add_event_handler("groupchat_presence", self._presence)
        client.register_handler(
            self._slixmpp.xmlstream.handler.Callback(
                "towhom", self._slixmpp.xmlstream.matcher.MatchXPath("{jabber:client}message"), self._stanza
            )
        )
        self._client, self._over = client, over
        host = self.address.options.get("host") or self.address.host
        port = self.address.port
        client.connect(host if port or "host" in self.address.options else None, port)
        problem = await asyncio.wait_for(began, _PATIENCE)
        if problem:
            return problem
        client.send_presence()
        client.plugin["xep_0199"].enable_keepalive(interval=60, timeout=30)
        for room in self._rooms.values():
            await self._enter(client, room)
        if not self._ready.done():
            await self._save()
            self._ready.set_result(None)
        return await over

    def _hang_up(self, client: ClientXMPP) -> None:
        self._client = None
        client.abort()
        if client._run_out_filters is not None:  # the library would leave it running
            client._run_out_filters.cancel()
        for room in self._rooms.values():
            room.entered.clear()
            room.before |= room.people
            room.people.clear()
            held, room.held = room.held, None
            for happen in held or ():
                happen()

    async def _enter(self, client: ClientXMPP, room: _Room) -> None:
        """Enter a room, and fetch its missed messages."""
        known = self.reached.get("rooms", {}).get(room.name)
        room.held = []
        room.missed.clear()
        room.archive = await self._has_archive(client, room)
        history: dict[str, Any] = {"maxstanzas": 0}
        if not room.archive:
            history = {"maxstanzas": _REMEMBERED} if known is None else {"since": _before(known["time"])}
        room.before_us = set() if known is None else None
        for _ in range(4):
            problem = await self._knock(client, room, history)
            if problem != "conflict":
                break
            room.nick += "_"  # the server may not know yet that our last connection was lost
        if problem is not None:
            why = _REFUSALS.get(problem, problem.replace("-", " "))
            raise RoomError(f"{self.address.server}: cannot enter {room.name}: {why}")
        self.me = room.nick
        for nick in sorted(room.before - room.people):
            self.put(Presence(nick, room.name, here=False))
        room.before.clear()
        if known is None:
            last = await self._last(client, room) if room.archive else None
            now = datetime.now(UTC).isoformat()
            self.begin(room.name, {"time": now, "ids": sorted(room.before_us or ()), "last": last})
            room.before_us = None
        elif room.archive:
            await self._missed(client, room, known)
        held, room.held = room.held, None
        for happen in held or ():
            happen()
        room.entered.set()

    async def _has_archive(self, client: ClientXMPP, room: _Room) -> bool:
        try:
            info = await client.plugin["xep_0030"].get_info(
                jid=self._slixmpp.JID(room.name), timeout=_PATIENCE
            )
        except self._slixmpp.exceptions.XMPPError:
            return False  # the room does not exist yet; entering creates it
        return _ARCHIVE in info["disco_info"]["features"]

    async def _last(self, client: ClientXMPP, room: _Room) -> str | None:
        """The id of the last message of an archive; None if there is none."""
        pages = client.plugin["xep_0313"].iterate(
            jid=self._slixmpp.JID(room.name), reverse=True, rsm={"max": 1}, total=1
        )
        try:
            async for result in pages:
                return str(result["mam_result"]["id"])
        except self._slixmpp.exceptions.IqError:
            pass
        return None

    async def _knock(self, client: ClientXMPP, room: _Room, history: dict[str, Any]) -> str | None:
        """Try to enter a room; returns why this failed, or None."""
        try:
            joined = await client.plugin["xep_0045"].join_muc_wait(
                self._slixmpp.JID(room.name), room.nick, timeout=_PATIENCE, **history
            )
            if _MADE in {int(code) for code in joined[0]["muc"]["status_codes"]}:
                return await self._made_room(client, room)
        except self._slixmpp.exceptions.PresenceError as error:
            return str(error.condition)
        except TimeoutError:
            return "it does not answer"
        return None

    async def _made_room(self, client: ClientXMPP, room: _Room) -> str | None:
        """Handle a room that entering has created: leave it if we only listen, else accept its defaults."""
        if not self.write:
            client.plugin["xep_0045"].leave_muc(self._slixmpp.JID(room.name), room.nick)
            return "item-not-found"
        forms: Any = client.plugin["xep_0004"]
        form = forms.make_form(ftype="submit")
        await client.plugin["xep_0045"].set_room_config(room.name, form)
        return None

    async def _missed(self, client: ClientXMPP, room: _Room, known: dict[str, Any]) -> None:
        """Fetch the messages since the last processed one from the archive of a room."""
        last, start = known.get("last"), _before(known["time"])
        while True:
            pages: dict[str, Any] = {"max": _PAGE}
            if last is not None:
                pages["after"] = last
            try:
                answer = await client.plugin["xep_0313"].retrieve(
                    jid=self._slixmpp.JID(room.name), start=None if last else start, rsm=pages, timeout=60
                )
            except self._slixmpp.exceptions.IqError as error:
                if last is None:
                    log.warning("%s: missed messages in %s cannot be fetched", self.address.server, room.name)
                    return
                log.info("%s: %s; by time, then", self.address.server, error.condition)
                last = None
                continue
            for result in answer["mam"]["results"]:
                forwarded = result["mam_result"]["forwarded"]
                identifier = result["mam_result"]["id"]
                self._take(room, forwarded["stanza"], forwarded["delay"]["stamp"], identifier, missed=True)
            newest = answer["mam_fin"]["rsm"]["last"]
            if answer["mam_fin"]["complete"] or not newest or newest == last:
                return
            last = newest

    # -- people

    def _presence(self, stanza: Any) -> None:
        room, nick = self._rooms.get(stanza["from"].bare), stanza["from"].resource
        if room is None or not nick or stanza["type"] == "error":
            return
        codes = {int(code) for code in stanza["muc"]["status_codes"]}
        if stanza["type"] == "unavailable":
            self._leaves(room, nick, codes, stanza["muc"]["item"]["nick"])
        elif nick not in room.people:
            room.people.add(nick)
            real = stanza["muc"]["item"]["jid"]
            alias = real.local if real and real.local not in ("", nick) else ""
            if nick not in room.before:
                self._happens(room, Presence(nick, room.name, aliases=(alias,) if alias else ()))

    def _leaves(self, room: _Room, nick: str, codes: set[int], new: str) -> None:
        if nick not in room.people:
            return
        room.people.discard(nick)
        mine = nick == room.nick
        if _RENAMED in codes and new:
            room.people.add(new)
            if mine:
                room.nick = self.me = new
            time = datetime.now(UTC)
            self._happens(room, Message(nick, new, time=time, kind=Kind.RENAME, channel=room.name))
            return
        self._happens(room, Presence(nick, room.name, here=False))
        if mine and codes & set(_SENT_OUT):
            room.entered.clear()
            log.warning("%s: we are no longer in %s", self.address.server, room.name)
            if not any(each.entered.is_set() for each in self._rooms.values()):
                self.fail(RoomError(f"{self.address.server}: we were sent out of all rooms"))

    # -- messages

    def _stanza(self, stanza: Any) -> None:
        room = self._rooms.get(stanza["from"].bare)
        if room is None or stanza["type"] != "groupchat":
            return
        delayed = stanza.xml.find("{urn:xmpp:delay}delay") is not None
        time = stanza["delay"]["stamp"] if delayed else datetime.now(UTC)
        identifier = next(
            (each.get("id") for each in stanza.xml.findall(_STANZA_ID) if each.get("by") == room.name), None
        )
        self._take(room, stanza, time, identifier, missed=delayed)

    def _take(self, room: _Room, stanza: Any, time: datetime, archived: str | None, *, missed: bool) -> None:
        """Handle a message of a room, live or from its archive or history."""
        nick, name = stanza["from"].resource, stanza["id"]
        identifier = archived or name or None
        if not nick:
            return
        known = self.reached.get("rooms", {}).get(room.name)
        if missed and room.before_us is not None:
            room.before_us.add(identifier or "")
            return
        if name and identifier:
            self._identifiers.put((room.name, nick, name), identifier)
            self._nicks.put(identifier, nick)
        if nick == room.nick and (echo := self._own.get(name)) is not None and not echo.done():
            echo.set_result(identifier or name)
        if missed and (known is None or identifier in known["ids"]):
            return
        if missed and identifier:
            room.missed.add(identifier)
        event = self._event(room, stanza, nick, time, identifier)
        if event is not None:
            advance = _reached(room.name, time, identifier, archived)
            self._happens(room, event, advance, now=missed, identifier=identifier)

    def _event(
        self, room: _Room, stanza: Any, nick: str, time: datetime, identifier: str | None
    ) -> Event | None:
        retraction = next((found for name in _RETRACT if (found := stanza.xml.find(name)) is not None), None)
        if retraction is not None:
            target = self._resolved(room, nick, retraction.get("id"))
            return target and Message(nick, "", time=time, id=target, kind=Kind.DELETE, channel=room.name)  # type: ignore[return-value]
        if any(stanza.xml.find(name) is not None for name in _ENCRYPTED):
            self._warn(room)
            return None
        if stanza.xml.find(_REACTIONS) is not None:
            return None
        reply_to = None
        if stanza.xml.find("{urn:xmpp:reply:0}reply") is not None:
            reply_to = self._resolved(room, nick, stanza["reply"]["id"])
            text = stanza["reply"].strip_fallback_content()
        else:
            text = stanza["body"]
        if not text or not text.strip():
            return None
        if stanza.xml.find("{urn:xmpp:message-correct:0}replace") is not None:
            target = self._resolved(room, nick, stanza["replace"]["id"])
            return Message(nick, text, time=time, id=target, kind=Kind.EDIT, channel=room.name)
        kind = Kind.MESSAGE
        if text.startswith("/me "):
            kind, text = Kind.ACTION, text[4:]
        return Message(nick, text, None, time, identifier, reply_to, kind, room.name)

    def _resolved(self, room: _Room, nick: str, name: str | None) -> str | None:
        """The room's identifier for a message, given either the sender's or the room's identifier."""
        return self._identifiers.get((room.name, nick, name)) or name or None

    def _happens(
        self,
        room: _Room,
        event: Event,
        advance: Advance | None = None,
        *,
        now: bool = False,
        identifier: str | None = None,
    ) -> None:
        """Pass an event on, after the missed messages before it, and only if it was not among them."""
        if room.held is not None and not now and isinstance(event, Message):
            room.held.append(lambda: None if identifier in room.missed else self.put(event, advance))
        else:
            self.put(event, advance)

    def _warn(self, room: _Room) -> None:
        if room.name not in self._warned:
            self._warned.add(room.name)
            log.warning("%s: encrypted messages of %s are not read", self.address.server, room.name)


def _before(time: str) -> datetime:
    """A slightly earlier time, because servers store whole seconds and have clocks of their own."""
    return datetime.fromisoformat(time).replace(microsecond=0) - timedelta(seconds=1)


def _reached(room: str, time: datetime, identifier: str | None, archived: str | None) -> Advance:
    """An `Advance` which records that everything up to a message has been processed."""

    def advance(position: dict[str, Any]) -> None:
        known = position.setdefault("rooms", {}).setdefault(room, {"time": "", "ids": [], "last": None})
        known["time"] = max(known["time"], time.astimezone(UTC).isoformat())
        if identifier is not None:
            known["ids"] = [*known["ids"], identifier][-_REMEMBERED:]
        known["last"] = archived or known["last"]

    return advance
