"""IRC: our own client over asyncio streams, with the parser of `irctokens`.

The asyncio clients on PyPI handle every line in a task of its own, so that order is not guaranteed, or write
passwords to debugging logs, or need a newer Python.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.extras import require
from towhom.rooms.base import Advance, Connector, ended_quietly, log, pauses

if TYPE_CHECKING:
    from irctokens.line import Line

_WANTED = frozenset(
    [
        "account-tag",
        "away-notify",
        "batch",
        "draft/chathistory",
        "draft/event-playback",
        "draft/message-redaction",
        "echo-message",
        "extended-join",
        "message-tags",
        "multi-prefix",
        "server-time",
        "userhost-in-names",
    ]
)
"""Capabilities that are requested if the server offers them."""
_NOT_NEEDED = frozenset({"away-notify", "draft/event-playback"})
_FORMATTING = re.compile(
    "\x03(?:[0-9]{1,2}(?:,[0-9]{1,2})?)?|\x04(?:[0-9A-Fa-f]{6})?|[\x02\x0f\x11\x16\x1d-\x1f]"
)
_FOLDED = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]\\~", "abcdefghijklmnopqrstuvwxyz{}|^")
_REGISTRATION = 30.0
"""Seconds that registration may take, or joining a room."""
_HANDSHAKE = 15.0
"""Seconds that the TLS handshake may take."""
_QUIET, _ANSWER = 120.0, 60.0
"""Seconds of silence until the server is pinged, and seconds that it has to answer."""
_HISTORY = 30.0
"""Seconds that a page of history may take."""
_LONGEST_LINE = 400
"""Bytes of text in one line; the protocol's 512 include the command and names that the server adds."""
_BURST, _EVERY = 4, 1.0
"""Lines that may be sent at once, and seconds per line after that: servers disconnect faster clients."""
_REMEMBERED = 50
"""Number of recent message ids that are remembered for each room, so that no message comes twice."""
_WRONG = {
    "464": "the password is wrong",
    "465": "we are banned there",
    "432": "the nick is not allowed there",
}
_NO_ENTRY = {
    "403": "there is no such room",
    "405": "we are in too many rooms",
    "437": "the room is not available",
    "471": "it is full",
    "473": "it is for those who are invited",
    "474": "we are banned there",
    "475": "it has a key",
    "476": "its name is not allowed",
    "477": "it is for registered nicks",
    "489": "it is for secure connections",
}
"""Numerics that refuse a room."""


@dataclass
class _Room:
    """A room, as far as the connection knows it."""

    name: str
    people: dict[str, str] = field(default_factory=dict)
    """Folded nick -> nick."""
    listed: dict[str, str] = field(default_factory=dict)
    """The same for a list of names that is still arriving."""
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    refused: str | None = None
    held: list[Callable[[], None]] | None = None
    """Events that wait until the requested history has arrived; None if none is requested."""
    page: int = 0
    """Number of messages received so far of the current page of history."""
    newest: str | None = None


class IRC(Connector):
    """Rooms of an IRC server.

    Speakers are nicks; a change of nick is a `RENAME`. An account name that differs from the nick is an
    alias. If the server supports them (IRCv3): times, identifiers, replies, accounts, and missed messages.
    """

    title = "IRC"
    secret_names = ("password",)

    async def start(self) -> None:
        """Connect, register, and join the rooms."""
        self._tokens = require("irctokens", extra="irc", purpose="IRC")
        self.address.allow("history", "realname", "verify")
        if not self.address.host:
            raise RoomError("an address of IRC rooms looks like irc://nick@irc.example.org/#room,#other")
        if not self.address.rooms:
            raise RoomError(f"{self.address.server}: say which rooms: {self.address.server}/#room,#other")
        for part in (self.address.user or "", *self.address.rooms, self.address.options.get("realname", "")):
            if re.search(r"[\r\n\0]", part):
                raise RoomError(f"{self.address.server}: the address has a line break in it")
        names = [name if name[0] in "#&+!" else f"#{name}" for name in self.address.rooms]
        self._rooms = {_fold(name): _Room(name) for name in names}
        self._wanted_nick = self.address.user or "towhom"
        self._writer: asyncio.StreamWriter | None = None
        self._sending = asyncio.Lock()
        self._tokens_left = float(_BURST)
        self._paid = 0.0
        self._history_wanted = self.address.flag("history", default=True)
        self._reset()
        self.spawn(self._run())
        await self._ready
        await self._save()

    async def stop(self) -> None:
        """Quit, and close the connection."""
        if getattr(self, "_writer", None) is not None:
            writer = self._writer
            assert writer is not None  # noqa: S101 - for the type checker
            with suppress(OSError, RuntimeError):
                writer.write(b"QUIT :\r\n")
                await ended_quietly(writer.drain(), 2)
            writer.close()
            await ended_quietly(writer.wait_closed(), 2)
            self._writer = None

    def label(self, room: str) -> str:
        """The room with its server, because room names are unique only within a server."""
        port = self.address.port
        return f"{room}@{self.address.host}" + ("" if port in (None, 6667, 6697) else f":{port}")

    async def say(self, room: str, text: str, reply_to: str | None, key: str | None) -> str | None:
        """Send each line as a message; names the answered message if the server supports message tags."""
        known = self._rooms.get(_fold(room))
        if known is None:
            raise RoomError(f"{self.address.server}: we are not in {room}")
        identifier = None
        for line in _lines(text):
            tags = {"+draft/reply": reply_to} if reply_to and "message-tags" in self._caps else None
            identifier = await self._say_line(known, line, tags) or identifier
        return identifier

    def first_part(self, text: str) -> str:
        """The first line of a text."""
        return next(iter(_lines(text)), "")

    async def _say_line(self, room: _Room, text: str, tags: dict[str, str] | None) -> str | None:
        async with self._sending:
            await self._pace()
            with suppress(TimeoutError):
                await asyncio.wait_for(room.entered.wait(), _REGISTRATION)
            if self._writer is None or not room.entered.is_set():
                raise RoomError(f"{self.address.server}: not connected at the moment")
            echo: asyncio.Future[str | None] | None = None
            if "echo-message" in self._caps:
                echo = asyncio.get_running_loop().create_future()
                self._echoes.append(echo)
            self._send("PRIVMSG", room.name, text, tags=tags)
            try:
                await self._writer.drain()
            except OSError as error:
                raise RoomError(f"{self.address.server}: the connection was lost ({error})") from error
            if echo is None:  # the server does not send our own messages back
                reply = None if tags is None else tags["+draft/reply"]
                own = _said(self.me or "", text, room.name, datetime.now(UTC), None, reply)
                if own is not None:
                    self.put(own)
                return None
        try:
            return await asyncio.wait_for(echo, _REGISTRATION)
        except TimeoutError:
            raise RoomError(f"{self.address.server}: the server does not confirm what we said") from None

    async def _pace(self) -> None:
        """Wait until the next line may be sent."""
        now = asyncio.get_running_loop().time()
        self._tokens_left = min(_BURST, self._tokens_left + (now - self._paid) / _EVERY)
        self._paid = now
        if self._tokens_left < 1:
            await asyncio.sleep((1 - self._tokens_left) * _EVERY)
            self._tokens_left = 1
            self._paid = asyncio.get_running_loop().time()
        self._tokens_left -= 1

    # -- the connection

    def _reset(self) -> None:
        """Reset the state to that of a new connection."""
        self._caps: set[str] = set()
        self._offered: dict[str, str] = {}
        self._features: dict[str, str] = {}
        self._batches: dict[str, tuple[str, str]] = {}
        self._echoes: deque[asyncio.Future[str | None]] = deque()
        self._nick = self._wanted_nick
        self._registered = False
        self._last_words = ""
        for room in self._rooms.values():
            room.entered.clear()
            room.listed, room.held, room.refused = {}, None, None

    async def _run(self) -> None:
        """Connect, and reconnect whenever the connection ends."""
        waits = iter(pauses())
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._connected()
                problem = self._last_words or "the server ended the connection"
            except RoomError as error:
                if self._ready.done():
                    raise
                self._ready.set_exception(error)
                return
            except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
                problem = _words(error)
            finally:
                self._hang_up()
            problem = self.hide(problem)
            if not self._ready.done():
                self._ready.set_exception(RoomError(f"{self.address.server}: cannot connect: {problem}"))
                return
            if asyncio.get_running_loop().time() - began > 2 * _QUIET:
                waits = iter(pauses())
            pause = next(waits)
            log.warning("%s: %s; again in %.0f s", self.address.server, problem, pause)
            await asyncio.sleep(pause)
            self._reset()

    def _hang_up(self) -> None:
        for echo in self._echoes:
            if not echo.done():
                echo.set_exception(RoomError(f"{self.address.server}: the connection was lost"))
                echo.exception()
        for room in self._rooms.values():
            room.entered.clear()
            held, room.held = room.held, None
            for happen in held or ():
                happen()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _connected(self) -> None:
        """Run one connection until it ends."""
        secure = self.address.scheme == "ircs"
        context = None
        if secure:
            context = ssl.create_default_context()
            if not self.address.flag("verify", default=True):
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        port = self.address.port or (6697 if secure else 6667)
        opening = asyncio.open_connection(
            self.address.host, port, ssl=context, limit=1 << 16,
            ssl_handshake_timeout=_HANDSHAKE if secure else None,
        )  # fmt: skip
        try:
            reader, self._writer = await asyncio.wait_for(opening, _REGISTRATION)
        except TimeoutError:
            raise TimeoutError("the server does not answer") from None
        except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
            if secure and not isinstance(error, ssl.SSLCertVerificationError):
                raise OSError(f"no encryption begins at port {port}; irc:// is for a port without") from error
            raise
        if password := self.secret("password"):
            self._send(
                "PASS", password
            )  # some servers accept it only as the first command; some use it for account login
        self._send("CAP", "LS", "302")
        self._send("NICK", self._nick)
        self._send("USER", "towhom", "0", "*", self.address.options.get("realname", "towhom"))
        await self._read(reader)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _REGISTRATION
        asked = False
        while True:
            wait = _ANSWER if asked else _QUIET
            if not self._registered:
                wait = max(deadline - loop.time(), 0)
            try:
                raw = await asyncio.wait_for(reader.readline(), wait)
            except TimeoutError:
                if asked or not self._registered:
                    raise TimeoutError("the server does not answer") from None
                asked = True
                self._send("PING", "towhom")
                continue
            if not raw:
                return
            asked = False
            raw = raw.rstrip(b"\r\n")
            if not raw.strip():
                continue
            try:
                line = self._tokens.tokenise(raw)
            except (ValueError, IndexError):
                log.debug("%s: a line that is none", self.address.server)
                continue
            self._take(line)

    def _send(self, command: str, *params: str, tags: dict[str, str] | None = None) -> None:
        if self._writer is not None:
            clean = [re.sub(r"[\r\n\0]", " ", param) for param in params]
            line: str = self._tokens.build(command, clean, tags=tags).format()
            self._writer.write(f"{line}\r\n".encode("utf-8", "replace"))

    def _take(self, line: Line) -> None:
        handler = getattr(self, f"_on_{line.command.lower()}", None)
        if handler is not None:
            try:
                handler(line)
            except IndexError:
                log.debug("%s: %s has too few parts", self.address.server, line.command)
        elif line.command in _WRONG and not self._registered:
            raise RoomError(f"{self.address.server}: {_WRONG[line.command]}")
        elif line.command in _NO_ENTRY:
            self._refused(line)

    # -- registration

    def _on_ping(self, line: Line) -> None:
        self._send("PONG", *line.params[-1:])

    def _on_error(self, line: Line) -> None:
        self._last_words = line.params[-1]
        if not self._registered and "password" in self._last_words.lower():
            raise RoomError(f"{self.address.server}: {_WRONG['464']}")

    def _on_cap(self, line: Line) -> None:
        word = line.params[1].upper()
        if word in ("LS", "NEW"):
            for offer in line.params[-1].split():
                name, _, value = offer.partition("=")
                self._offered[name] = value
            if line.params[2] != "*":
                self._ask_for_caps()
        elif word == "ACK":
            self._caps.update(name for name in line.params[-1].split() if not name.startswith("-"))
            if "sasl" in self._caps and not self._registered:
                self._send("AUTHENTICATE", "PLAIN")
            else:
                self._caps_done()
        elif word == "NAK":
            self._caps_done()
        elif word == "DEL":
            self._caps.difference_update(line.params[-1].split())

    def _ask_for_caps(self) -> None:
        wanted = (_WANTED - _NOT_NEEDED) & self._offered.keys()
        if self.secret("password") and "sasl" in self._offered and not self._registered:
            wanted |= {"sasl"}
        wanted -= self._caps
        if wanted:
            self._send("CAP", "REQ", " ".join(sorted(wanted)))
        else:
            self._caps_done()

    def _caps_done(self) -> None:
        if not self._registered:
            self._send("CAP", "END")

    def _on_authenticate(self, line: Line) -> None:
        account, password = self.address.user or "", self.secret("password") or ""
        words = base64.b64encode(f"\0{account}\0{password}".encode()).decode()
        pieces = [words[start : start + 400] for start in range(0, len(words), 400)]
        if len(pieces[-1]) == 400:
            pieces.append("+")
        for piece in pieces:
            self._send("AUTHENTICATE", piece)

    def _on_903(self, line: Line) -> None:
        self._send("CAP", "END")

    def _no_sasl(self, line: Line) -> None:
        raise RoomError(f"{self.address.server}: the account or its password is wrong")

    _on_902 = _on_904 = _on_905 = _no_sasl

    def _on_433(self, line: Line) -> None:
        """The nick is in use, perhaps by our last connection, which the server does not know is lost."""
        if not self._registered:
            if len(self._nick) > len(self._wanted_nick) + 5:
                raise RoomError(f"{self.address.server}: the nick {self._wanted_nick} is in use")
            self._nick += "_"
            self._send("NICK", self._nick)

    def _on_001(self, line: Line) -> None:
        self._registered = True
        self._nick = self.me = line.params[0]

    def _on_005(self, line: Line) -> None:
        for token in line.params[1:-1]:
            name, _, value = token.partition("=")
            self._features[name.upper()] = value

    def _on_376(self, line: Line) -> None:
        """The greeting has ended: join the rooms."""
        if letter := self._features.get("BOT"):
            self._send("MODE", self._nick, f"+{letter}")
        for room in self._rooms.values():
            self._send("JOIN", room.name)

    _on_422 = _on_376

    # -- people

    def _room(self, name: str) -> _Room | None:
        """A room that we follow, by name; messages to its operators only have a prefix (`@#room`)."""
        return self._rooms.get(_fold(name)) or self._rooms.get(_fold(name.lstrip("@+%~&!")))

    def _refused(self, line: Line) -> None:
        room = self._room(line.params[1]) if len(line.params) > 1 else None
        if room is None or room.entered.is_set():
            return
        room.refused = f"{self.address.server}: cannot enter {room.name}: {_NO_ENTRY[line.command]}"
        if not self._ready.done():
            raise RoomError(room.refused)
        log.warning("%s", room.refused)

    def _on_join(self, line: Line) -> None:
        nick, room = line.hostmask.nickname, self._room(line.params[0])
        if room is None:
            return
        if _fold(nick) == _fold(self._nick):
            room.listed = {}
            return
        account = line.params[1] if len(line.params) > 2 else (line.tags or {}).get("account", "*")
        self._here(room, nick, account)

    def _here(self, room: _Room, nick: str, account: str = "*") -> None:
        aliases = () if account in ("*", "", nick) else (account,)
        room.people[_fold(nick)] = nick
        self._happens(room, Presence(nick, room.name, aliases=aliases))

    def _gone(self, room: _Room, nick: str) -> None:
        if room.people.pop(_fold(nick), None) is not None:
            self._happens(room, Presence(nick, room.name, here=False))

    def _on_353(self, line: Line) -> None:
        room = self._room(line.params[2])
        if room is not None:
            signs = self._features.get("PREFIX", "(qaohv)~&@%+").rpartition(")")[2]
            for entry in line.params[3].split():
                nick = entry.lstrip(signs).partition("!")[0]
                room.listed[_fold(nick)] = nick

    def _on_366(self, line: Line) -> None:
        """The list of names has ended: we are in the room."""
        room = self._room(line.params[1])
        if room is None or room.entered.is_set():
            return
        for folded in [each for each in room.people if each not in room.listed]:
            self._gone(room, room.people[folded])
        for folded, nick in room.listed.items():
            if room.people.get(folded) != nick:
                self._here(room, nick)
        room.listed = {}
        room.entered.set()
        self._catch_up(room)
        if not self._ready.done() and all(each.entered.is_set() for each in self._rooms.values()):
            self._ready.set_result(None)

    def _on_part(self, line: Line) -> None:
        if (room := self._room(line.params[0])) is not None:
            self._leaves(room, line.hostmask.nickname)

    def _on_kick(self, line: Line) -> None:
        if (room := self._room(line.params[0])) is not None:
            self._leaves(room, line.params[1])

    def _leaves(self, room: _Room, nick: str) -> None:
        self._gone(room, nick)
        if _fold(nick) == _fold(self._nick):
            room.entered.clear()
            log.warning("%s: we are no longer in %s", self.address.server, room.name)
            if not any(each.entered.is_set() for each in self._rooms.values()):
                raise RoomError(f"{self.address.server}: we were sent out of all rooms")

    def _on_quit(self, line: Line) -> None:
        nick = line.hostmask.nickname
        for room in self._rooms.values():
            self._gone(room, nick)
        self._take_nick_back(nick)

    def _on_nick(self, line: Line) -> None:
        old, new = line.hostmask.nickname, line.params[0]
        if _fold(old) == _fold(self._nick):
            self._nick = self.me = new
        for room in self._rooms.values():
            if room.people.pop(_fold(old), None) is not None:
                room.people[_fold(new)] = new
                time = _time(line)
                event = Message(old, new, time=time, kind=Kind.RENAME, channel=room.name)
                self._happens(room, event, _reached(room.name, time, None))
        self._take_nick_back(old)

    def _take_nick_back(self, freed: str) -> None:
        if _fold(freed) == _fold(self._wanted_nick) != _fold(self._nick):
            self._send("NICK", self._wanted_nick)

    # -- messages

    def _on_privmsg(self, line: Line) -> None:
        self._message(line, Kind.MESSAGE)

    def _on_notice(self, line: Line) -> None:
        self._message(line, Kind.NOTICE)

    def _message(self, line: Line, kind: Kind) -> None:
        tags = line.tags or {}
        room = self._room(line.params[0])
        if room is None or line.source is None:
            return
        text, time = line.params[1], _time(line)
        history = self._batches.get(tags.get("batch", ""), ("", ""))[0].endswith("chathistory")
        if history:
            room.page += 1
            room.newest = tags.get("msgid") or tags.get("time") or room.newest
            if not self._is_new(room, tags):
                return
        nick = line.hostmask.nickname
        mine = _fold(nick) == _fold(self._nick)
        identifier = tags.get("msgid") or None
        if mine and not history and self._echoes:
            echo = self._echoes.popleft()
            if not echo.done():
                echo.set_result(identifier)
        event = _said(nick, text, room.name, time, identifier, tags.get("+draft/reply") or None, kind)
        if event is None:
            return
        if "bot" in tags:
            event = replace(event, bot=True)
        self._happens(room, event, _reached(room.name, time, identifier), now=history, identifier=identifier)

    def _on_redact(self, line: Line) -> None:
        room = self._room(line.params[0])
        if room is not None and line.source is not None:
            nick, time = line.hostmask.nickname, _time(line)
            event = Message(nick, "", time=time, id=line.params[1], kind=Kind.DELETE, channel=room.name)
            self._happens(room, event, _reached(room.name, time, None))

    def _happens(
        self,
        room: _Room,
        event: Any,
        advance: Advance | None = None,
        *,
        now: bool = False,
        identifier: str | None = None,
    ) -> None:
        """Pass an event on, after the missed messages before it; a message that was among these only once."""
        if event is None:
            return

        def happen() -> None:
            known = self.reached.get("rooms", {}).get(room.name, {"ids": []})
            if identifier is None or identifier not in known["ids"]:
                self.put(event, advance)

        if room.held is not None and not now:
            room.held.append(happen)
        else:
            happen()

    # -- missed messages

    def _is_new(self, room: _Room, tags: dict[str, str]) -> bool:
        """Whether a message of history is new; without a position, all history is from before our time."""
        known = self.reached.get("rooms", {}).get(room.name)
        if known is None:
            return False
        # Some servers store only whole seconds; `_happens` knows messages of the last second by their ids.
        return "time" not in tags or tags["time"][:19] >= str(known["time"])[:19]

    def _catch_up(self, room: _Room) -> None:
        """Request the messages since our last visit, if the server keeps history."""
        self.begin(room.name, {"time": _stamp(datetime.now(UTC)), "ids": []})
        known = self.reached["rooms"][room.name]
        if not self._history_wanted or "draft/chathistory" not in self._caps:
            return
        room.held = []
        self._ask_history(room, f"timestamp={known['time']}")

    def _ask_history(self, room: _Room, after: str) -> None:
        room.page, room.newest = 0, None
        self._send("CHATHISTORY", "AFTER", room.name, after, str(self._page()))
        asyncio.get_running_loop().call_later(_HISTORY, self._history_late, room, room.held)

    def _page(self) -> int:
        most = self._features.get("CHATHISTORY") or "100"
        return min(int(most) or 100, 100) if most.isdigit() else 100

    def _history_late(self, room: _Room, held: list[Callable[[], None]] | None) -> None:
        if held is not None and room.held is held and room.page == 0:
            self._history_over(room)

    def _on_batch(self, line: Line) -> None:
        name = line.params[0]
        if name.startswith("+"):
            self._batches[name[1:]] = (line.params[1], line.params[2] if len(line.params) > 2 else "")
            return
        kind, target = self._batches.pop(name[1:], ("", ""))
        room = self._room(target) if target else None
        if room is None or not kind.endswith("chathistory") or room.held is None:
            return
        if room.page >= self._page() and room.newest is not None:
            newest = room.newest
            self._ask_history(
                room, f"timestamp={newest}" if "T" in newest and ":" in newest else f"msgid={newest}"
            )
        else:
            self._history_over(room)

    def _on_fail(self, line: Line) -> None:
        if line.params[0].upper() == "CHATHISTORY":
            for room in self._rooms.values():
                if room.name in line.params and room.held is not None:
                    log.warning("%s: missed messages in %s cannot be fetched", self.address.server, room.name)
                    self._history_over(room)

    def _history_over(self, room: _Room) -> None:
        held, room.held = room.held, None
        for happen in held or ():
            happen()


def _fold(name: str) -> str:
    """A name in the form in which servers compare names."""
    return name.translate(_FOLDED)


def _time(line: Line) -> datetime:
    stamp = (line.tags or {}).get("time")
    with suppress(ValueError):
        if stamp:
            time = datetime.fromisoformat(stamp)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
    return datetime.now(UTC)


def _stamp(time: datetime) -> str:
    """A time in the format of IRC."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def _reached(room: str, time: datetime, identifier: str | None) -> Advance:
    """An `Advance` which records that everything up to a message has been processed."""

    def advance(position: dict[str, Any]) -> None:
        known = position.setdefault("rooms", {}).setdefault(room, {"time": "", "ids": []})
        known["time"] = max(known["time"], _stamp(time))
        if identifier is not None:
            known["ids"] = [*known["ids"], identifier][-_REMEMBERED:]

    return advance


def _said(
    nick: str,
    text: str,
    room: str,
    time: datetime,
    identifier: str | None,
    reply_to: str | None,
    kind: Kind = Kind.MESSAGE,
) -> Message | None:
    """A message without formatting codes; `/me` is an action. None for other CTCP requests and no text."""
    if text.startswith("\x01"):
        word, _, rest = text.strip("\x01").partition(" ")
        if word.upper() != "ACTION":
            return None
        text, kind = rest, Kind.ACTION
    text = _FORMATTING.sub("", text)
    if not text.strip():
        return None
    return Message(nick, text, None, time, identifier, reply_to, kind, room)


def _lines(text: str) -> list[str]:
    r"""Split a text into lines that are short enough, at spaces if possible, never within a character.

    >>> _lines("one\n\ntwo")
    ['one', 'two']
    """
    lines = []
    for whole in text.splitlines():
        line = whole.rstrip()
        while len(line.encode("utf-8", "replace")) > _LONGEST_LINE:
            cut = len(line.encode("utf-8", "replace")[:_LONGEST_LINE].decode("utf-8", "ignore"))
            space = line.rfind(" ", cut // 2, cut)
            cut = space if space > 0 else cut
            lines.append(line[:cut])
            line = line[cut:].lstrip()
        if line.strip():
            lines.append(line)
    return lines


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no secure connection"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
