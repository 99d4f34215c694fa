from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.servers import ChatServer, InspIRCd, LockedNgIRCd, NgIRCd
from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.rooms import Connector, connect
from towhom.testing.connectors import ConnectorContract, events_until, next_message, texts_until


@pytest.fixture(scope="module")
def inspircd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    server = InspIRCd(tmp_path_factory.mktemp("inspircd"))
    yield server
    server.stop()


class Client:
    """Another client: a socket, and lines as they are."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def enter(self, nick: str, *rooms: str, caps: str = "") -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        if caps:
            await self.line(f"CAP REQ :{caps}")
        await self.line(f"NICK {nick}")
        await self.line(f"USER {nick} 0 * :{nick}")
        if caps:
            await self.line("CAP END")
        await self.until(" 001 ")
        for room in rooms:
            await self.line(f"JOIN {room}")
            await self.until(" 366 ")

    async def line(self, text: str) -> None:
        self.writer.write(f"{text}\r\n".encode())
        await self.writer.drain()

    async def until(self, part: str) -> str:
        """Wait for a line that has something in it."""
        async with asyncio.timeout(60):
            while raw := await self.reader.readline():
                line = raw.decode("utf-8", "replace").strip()
                if line.startswith("PING"):
                    await self.line(f"PONG {line[5:]}")
                if part in line:
                    return line
        raise AssertionError(f"the server ended the connection before {part}")

    async def leave(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


@asynccontextmanager
async def client(port: int, nick: str, *rooms: str, caps: str = "") -> AsyncIterator[Client]:
    other = Client(port)
    await other.enter(nick, *rooms, caps=caps)
    try:
        yield other
    finally:
        await other.leave()


class IRCContract(ConnectorContract):
    server: ChatServer
    caps = ""

    def connector(self, *, state: Path | None = None, write: bool = False) -> Connector:
        return connect(f"irc://robo@127.0.0.1:{self.server.port}/{self.room}", state=state, write=write)

    def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        async def with_other() -> Any:
            async with client(self.server.port, "ann", self.room, caps=self.caps) as self.other:
                return await work()

        return super().run(with_other)


class TestNgIRCd(IRCContract):
    """A server with next to nothing of IRCv3."""

    room = "#contract"
    has_ids = has_replies = remembers = False

    @pytest.fixture(autouse=True)
    def _server(self, ngircd: ChatServer) -> None:
        self.server = ngircd

    async def say(self, text: str, reply_to: str | None = None) -> str | None:
        await self.other.line(f"PRIVMSG {self.room} :{text}")
        return None


class TestInspIRCd(IRCContract):
    """A server with identifiers, times, replies, and the last messages for whoever enters."""

    room = "#contract"
    caps = "message-tags echo-message batch server-time"

    @pytest.fixture(autouse=True)
    def _server(self, inspircd: ChatServer) -> None:
        self.server = inspircd

    async def say(self, text: str, reply_to: str | None = None) -> str | None:
        tags = f"@+draft/reply={reply_to} " if reply_to else ""
        await self.other.line(f"{tags}PRIVMSG {self.room} :{text}")
        while "batch=" in (line := await self.other.until(f" PRIVMSG {self.room} :{text}")):
            pass  # what was said before
        return line.partition("msgid=")[2].partition(" ")[0].partition(";")[0]


def test_people_come_and_go_and_are_renamed(ngircd: ChatServer) -> None:
    async def work() -> list[object]:
        async with (
            client(ngircd.port, "ann", "#people") as ann,
            connect(f"irc://robo@127.0.0.1:{ngircd.port}/people") as robo,
        ):
            async with client(ngircd.port, "bob", "#people", "#elsewhere") as bob:
                await bob.line("NICK robert")
                await bob.until("NICK")
                await bob.line("PRIVMSG #people :\x01ACTION waves\x01")
                await bob.line("PRIVMSG #people :\x0304,01red\x03 and \x02bold\x02")
                await bob.line("PRIVMSG #people :\x01VERSION\x01")
                await bob.line("PRIVMSG #elsewhere :not for us")
                await bob.line("PRIVMSG robo :between you and me")
                await bob.line("NOTICE #people :by the way")
                await bob.line("QUIT :bye")
                await bob.until("ERROR")
            await ann.line("PART #people")
            return list(
                await events_until(
                    robo,
                    lambda event: isinstance(event, Presence) and event.speaker == "ann" and not event.here,
                )
            )

    events = asyncio.run(work())
    plain = [
        (event.speaker, event.here)
        if isinstance(event, Presence)
        else (event.speaker, event.kind, event.text)
        for event in events
        if isinstance(event, Presence | Message)
    ]
    assert set(plain[:2]) == {("ann", True), ("robo", True)}
    assert plain[2:] == [
        ("bob", True),
        ("bob", Kind.RENAME, "robert"),
        ("robert", Kind.ACTION, "waves"),
        ("robert", Kind.MESSAGE, "red and bold"),
        ("robert", Kind.NOTICE, "by the way"),
        ("robert", False),
        ("ann", False),
    ]


def test_a_restart_of_the_server(tmp_path: Path) -> None:
    server = NgIRCd(tmp_path / "server")

    async def work() -> None:
        async with connect(f"irc://robo@127.0.0.1:{server.port}/#room", write=True) as robo:
            async with client(server.port, "ann", "#room") as ann:
                await ann.line("PRIVMSG #room :before")
                assert (await next_message(robo)).text == "before"
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            async with client(server.port, "bob", "#room") as bob:
                # Back by itself; what is said before that waits until it is.
                await robo.send("#room", "I am back")
                assert "PRIVMSG #room :I am back" in await bob.until("PRIVMSG")
                await bob.line("PRIVMSG #room :after")
                events = await events_until(
                    robo, lambda event: isinstance(event, Message) and event.text == "after"
                )
                assert Presence("ann", "#room", here=False) in events
                assert Presence("bob", "#room") in events

    try:
        asyncio.run(work())
    finally:
        server.stop()


def test_a_nick_in_use_is_taken_back_when_it_is_free(ngircd: ChatServer) -> None:
    async def work() -> None:
        async with (
            client(ngircd.port, "nicked", "#nick") as ghost,
            connect(f"irc://nicked@127.0.0.1:{ngircd.port}/#nick") as robo,
        ):
            assert robo.me == "nicked_"
            await ghost.line("QUIT")
            renamed = await next_message(robo)
            assert (renamed.kind, renamed.speaker, renamed.text) == (Kind.RENAME, "nicked_", "nicked")
            assert robo.me == "nicked"

    asyncio.run(work())


def test_who_is_sent_out_of_all_rooms_is_told(ngircd: ChatServer) -> None:
    async def work() -> None:
        async with (
            client(ngircd.port, "boss", "#kicks") as boss,
            connect(f"irc://kicked@127.0.0.1:{ngircd.port}/#kicks") as robo,
        ):
            await boss.line("KICK #kicks kicked :out")
            with pytest.raises(RoomError, match="sent out of all rooms"):
                await next_message(robo)

    asyncio.run(work())


def test_long_texts_are_cut_between_words_and_characters(ngircd: ChatServer) -> None:
    text = " ".join(["wörter"] * 150) + "\nsecond line"

    async def work() -> list[str]:
        async with (
            connect(f"irc://mouth@127.0.0.1:{ngircd.port}/#long", write=True) as mouth,
            connect(f"irc://ear@127.0.0.1:{ngircd.port}/#long") as ear,
        ):
            await mouth.send("#long", text)
            return await texts_until(ear, "second line")

    lines = asyncio.run(work())
    assert " ".join(lines) == text.replace("\n", " ")
    assert len(lines) > 3


def test_nothing_that_is_sent_can_be_a_command(ngircd: ChatServer) -> None:
    async def work() -> list[str]:
        async with (
            connect(f"irc://ear@127.0.0.1:{ngircd.port}/#safe") as ear,
            connect(f"irc://mouth@127.0.0.1:{ngircd.port}/#safe", write=True) as mouth,
        ):
            await mouth.send("#safe", "one\r\nQUIT :gone\rPART #safe\x00x")
            await mouth.send("#safe", "still here")
            return await texts_until(ear, "still here")

    assert asyncio.run(work()) == ["one", "QUIT :gone", "PART #safe x", "still here"]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("irc://robo@127.0.0.1:{closed}/#a", "cannot connect"),
        ("irc://robo@127.0.0.1:{port}/", "say which rooms"),
        ("irc://1robo@127.0.0.1:{port}/#a", "the nick is not allowed"),
        ("irc://robo@127.0.0.1:{port}/#a?colour=red", "no option 'colour'"),
        ("irc:///#a", "looks like irc://"),
    ],
)
def test_what_cannot_be_is_said(ngircd: ChatServer, address: str, sentence: str) -> None:
    async def work() -> None:
        async with connect(address.format(port=ngircd.port, closed=1)):
            pass

    with pytest.raises(RoomError, match=sentence):
        asyncio.run(work())


def test_encryption_at_a_port_without(ngircd: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towhom.rooms.irc._HANDSHAKE", 0.5)
    robo = connect(f"ircs://robo@127.0.0.1:{ngircd.port}/#room", secrets={"password": "pw-4711-robo"})
    with pytest.raises(
        RoomError, match=f"no encryption begins at port {ngircd.port}; irc:// is for"
    ) as error:
        asyncio.run(robo.__aenter__())
    assert "pw-4711" not in str(error.value)


def test_a_room_with_a_key(ngircd: ChatServer) -> None:
    async def work() -> None:
        async with client(ngircd.port, "keeper", "#locked") as keeper:
            await keeper.line("MODE #locked +k secret")
            await keeper.until("MODE")
            async with connect(f"irc://outside@127.0.0.1:{ngircd.port}/#locked"):
                pass

    with pytest.raises(RoomError, match="cannot enter #locked: it has a key"):
        asyncio.run(work())


def test_the_password_of_a_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    server = LockedNgIRCd(tmp_path / "server")

    async def work(password: str) -> None:
        address = f"irc://robo@127.0.0.1:{server.port}/#room"
        async with connect(address, secrets={"password": password}) as robo:
            assert password not in repr(robo.address)
            assert robo.me == "robo"

    try:
        asyncio.run(work(server.password))
        with pytest.raises(RoomError, match=r"password is wrong|cannot connect") as error:
            asyncio.run(work("wrong-one-4712"))
        assert "wrong-one-4712" not in str(error.value)
    finally:
        server.stop()
    assert server.password not in caplog.text
    assert "wrong-one-4712" not in caplog.text


def test_what_was_missed_comes_in_pages(tmp_path: Path) -> None:
    """CHATHISTORY, of a server that keeps all and gives three messages at a time."""
    server = HistoryServer(page=3)

    async def work() -> None:
        await server.start()
        address, state = f"irc://robo@127.0.0.1:{server.port}/#room", tmp_path / "state"
        async with connect(address, state=state) as robo:
            server.say("heard")
            assert await texts_until(robo, "heard") == ["heard"]
        for number in range(8):
            server.say(f"missed {number}")
        async with connect(address, state=state) as robo:
            server.say("live")
            assert await texts_until(robo, "live") == [*(f"missed {number}" for number in range(8)), "live"]
            server.drop()
            server.say("while it was away")
            server.say("the end")
            assert await texts_until(robo, "the end") == ["while it was away", "the end"]
        await server.stop()

    asyncio.run(work())


def test_what_is_said_meanwhile_comes_once(tmp_path: Path) -> None:
    """A message that is said while history is on its way comes live and as a part of it."""
    server = HistoryServer(page=3, meanwhile="meanwhile")

    async def work() -> None:
        await server.start()
        address, state = f"irc://robo@127.0.0.1:{server.port}/#room", tmp_path / "state"
        async with connect(address, state=state) as robo:
            server.say("heard")
            assert (await texts_until(robo, "heard"))[-1] == "heard"
        server.say("missed")
        async with connect(address, state=state) as robo:
            assert await texts_until(robo, "missed") == ["missed"]
            server.say("the end")
            assert await texts_until(robo, "the end") == ["meanwhile", "the end"]
        await server.stop()

    asyncio.run(work())


class HistoryServer:
    """As much of an IRC server with CHATHISTORY as one client needs; no server of Debian has it."""

    def __init__(self, page: int, meanwhile: str | None = None) -> None:
        self.page, self.meanwhile = page, meanwhile
        self.messages: list[tuple[str, str, str]] = []
        self.clients: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.drop()
        self._server.close()
        await self._server.wait_closed()

    def drop(self) -> None:
        for writer in self.clients:
            writer.close()
        self.clients.clear()

    def say(self, text: str) -> None:
        number = len(self.messages)
        self.messages.append((f"2030-01-01T00:00:{number:02}.000Z", f"id{number}", text))
        for writer in self.clients:
            self._send(writer, self._line(self.messages[-1]))

    def _line(self, message: tuple[str, str, str], tags: str = "") -> str:
        time, name, text = message
        return f"@{tags}time={time};msgid={name} :ann!a@h PRIVMSG #room :{text}"

    @staticmethod
    def _send(writer: asyncio.StreamWriter, *lines: str) -> None:
        writer.write("".join(f"{line}\r\n" for line in lines).encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while raw := await reader.readline():
            word, _, rest = raw.decode().strip().partition(" ")
            if word == "CAP" and rest.startswith("LS"):
                caps = "batch server-time message-tags draft/chathistory=x"
                self._send(writer, f":s CAP * LS :{caps}")
            elif word == "CAP" and rest.startswith("REQ"):
                self._send(writer, f":s CAP * ACK :{rest[4:].lstrip(':')}")
            elif word == "CAP":
                self._send(
                    writer,
                    ":s 001 robo :hi",
                    f":s 005 robo CHATHISTORY={self.page} :are supported",
                    ":s 376 robo :go",
                )
            elif word == "JOIN":
                self._send(writer, ":robo!r@h JOIN #room", ":s 353 robo = #room :robo @ann")
                self._send(writer, ":s 366 robo #room :end")
                self.clients.add(writer)
            elif word == "CHATHISTORY":
                if self.meanwhile is not None and self.messages:
                    self.say(self.meanwhile)
                    self.meanwhile = None
                self._history(writer, *rest.split())
            elif word == "QUIT":
                break
        self.clients.discard(writer)
        writer.close()

    def _history(self, writer: asyncio.StreamWriter, way: str, room: str, after: str, limit: str) -> None:
        kind, _, value = after.partition("=")
        assert (way, room) == ("AFTER", "#room")
        if kind == "msgid":
            start = next(place for place, each in enumerate(self.messages) if each[1] == value) + 1
        else:
            start = next((place for place, each in enumerate(self.messages) if each[0] > value), 1000)
        page = self.messages[start : start + min(int(limit), self.page)]
        lines = [self._line(message, "batch=b;") for message in page]
        self._send(writer, ":s BATCH +b chathistory #room", *lines, ":s BATCH -b")
