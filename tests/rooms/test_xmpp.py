from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.servers import ForgetfulProsody, Prosody
from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.rooms import Connector, connect
from towhom.rooms.xmpp import XMPP
from towhom.testing.connectors import ConnectorContract, events_until, next_message, texts_until

slixmpp = pytest.importorskip("slixmpp", reason="the extra xmpp is not installed")
PASSWORD = "pw-of-all-4711"


class Client:
    """Another client, with slixmpp as it is."""

    def __init__(self, server: Prosody, name: str, room: str) -> None:
        self.server, self.name, self.room = server, name, room

    async def enter(self) -> None:
        config = {"feature_mechanisms": {"unencrypted_scram": True}}
        self.stream = slixmpp.ClientXMPP(f"{self.name}@localhost", PASSWORD, plugin_config=config)
        self.stream.enable_plaintext, self.stream.enable_starttls, self.stream.enable_direct_tls = (
            True,
            False,
            False,
        )
        for plugin in ("xep_0004", "xep_0045", "xep_0461", "xep_0308", "xep_0359"):
            self.stream.register_plugin(plugin)
        self.stream.del_event_handler("entity_caps", self.stream.plugin["xep_0115"]._process_caps)
        started = asyncio.get_running_loop().create_future()
        self.echoes: asyncio.Queue[Any] = asyncio.Queue()
        self.stream.add_event_handler("session_start", started.set_result)
        self.stream.connect("127.0.0.1", self.server.port)
        await asyncio.wait_for(started, 60)
        self.stream.send_presence()
        pair = await self.stream.plugin["xep_0045"].join_muc_wait(
            self.room, self.name, maxstanzas=0, timeout=60
        )
        if 201 in {int(code) for code in pair[0]["muc"]["status_codes"]}:
            form = self.stream.plugin["xep_0004"].make_form(ftype="submit")
            await self.stream.plugin["xep_0045"].set_room_config(self.room, form)
        self.stream.add_event_handler("groupchat_message", self.echoes.put_nowait)

    async def say(
        self, text: str, reply_to: str | None = None, correct: str | None = None
    ) -> tuple[str, str]:
        """Returns the room's identifier, and our own."""
        message = self.stream.make_message(mto=self.room, mbody=text, mtype="groupchat")
        message["id"] = self.stream.new_id()
        if reply_to is not None:
            message["reply"]["id"] = reply_to
        if correct is not None:
            message["replace"]["id"] = correct
        message.send()
        while (echo := await asyncio.wait_for(self.echoes.get(), 60))["id"] != message["id"]:
            pass
        return echo["stanza_id"]["id"] or message["id"], message["id"]

    def send(self, xml: str) -> None:
        self.stream.send_raw(f'<message to="{self.room}" type="groupchat" id="x{id(xml)}">{xml}</message>')

    async def leave(self) -> None:
        await self.stream.disconnect(wait=1)
        self.stream._run_out_filters.cancel()


@asynccontextmanager
async def client(server: Prosody, name: str, room: str) -> AsyncIterator[Client]:
    other = Client(server, name, room)
    await other.enter()
    try:
        yield other
    finally:
        await other.leave()


def connected(server: Prosody, room: str, name: str = "robo", **more: Any) -> Connector:
    address = f"xmpp://{name}@localhost:{server.port}/{room}?tls=no&host=127.0.0.1"
    return connect(address, **({"secrets": {"password": PASSWORD}} | more))


@pytest.fixture(scope="session")
def people(prosody: Prosody) -> Prosody:
    for name in ("ann", "bob", "robo"):
        prosody.register(name, PASSWORD)
    return prosody


class XMPPContract(ConnectorContract):
    server: Prosody
    room = "contract@conference.localhost"

    def connector(self, *, state: Path | None = None, write: bool = False) -> Connector:
        return connected(self.server, self.room, state=state, write=write)

    async def say(self, text: str, reply_to: str | None = None) -> str | None:
        return (await self.other.say(text, reply_to))[0]

    def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        async def with_other() -> Any:
            async with client(self.server, "ann", self.room) as self.other:
                return await work()

        return super().run(with_other)


class TestProsody(XMPPContract):
    @pytest.fixture(autouse=True)
    def _server(self, people: Prosody) -> None:
        self.server = people


def test_without_an_archive(tmp_path: Path) -> None:
    """Rooms that only have a short history."""
    server = ForgetfulProsody(tmp_path / "prosody")
    room = "forgetful@conference.localhost"

    async def work() -> None:
        for name in ("ann", "robo"):
            await asyncio.to_thread(server.register, name, PASSWORD)
        async with client(server, "ann", room) as ann:
            await ann.say("before all")
            async with connected(server, room, state=tmp_path / "state") as robo:
                await ann.say("heard")
                assert await texts_until(robo, "heard") == ["heard"]
            await ann.say("missed")
            async with connected(server, room, state=tmp_path / "state") as robo:
                await ann.say("after")
                assert await texts_until(robo, "after") == ["missed", "after"]

    try:
        asyncio.run(work())
    finally:
        server.stop()


def test_what_xmpp_has(people: Prosody) -> None:
    """Corrections, retractions, nicks, actions; subjects, reactions and what is encrypted are left out."""
    room = "features@conference.localhost"

    async def work() -> list[Any]:
        async with client(people, "ann", room) as ann:
            async with connected(people, room) as robo:
                first, own = await ann.say("helo")
                await ann.say("hello", correct=own)
                await ann.say("/me waves")
                quoted = "> helo\nwho?"
                ann.send(
                    f"<body>{quoted.replace('>', '&gt;')}</body>"
                    f"<reply xmlns='urn:xmpp:reply:0' id='{first}'/>"
                    "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'>"
                    "<body start='0' end='7'/></fallback>"
                )
                ann.send(
                    f"<reactions xmlns='urn:xmpp:reactions:0' id='{first}'>"
                    "<reaction>👍</reaction></reactions>"
                )
                ann.send(
                    "<body>I sent you an OMEMO message</body>"
                    "<encrypted xmlns='eu.siacs.conversations.axolotl'/>"
                )
                ann.send("<subject>a subject</subject>")
                ann.send(f"<retract xmlns='urn:xmpp:message-retract:1' id='{first}'/>")
                ann.stream.send_presence(pto=f"{room}/annie")
                events = await events_until(robo, lambda event: getattr(event, "kind", None) is Kind.RENAME)
                await ann.say("still me")
                events.append(await next_message(robo))
            return [first, *(event for event in events if isinstance(event, Message))]

    first, *messages = asyncio.run(work())
    assert [(message.speaker, message.kind, message.text) for message in messages] == [
        ("ann", Kind.MESSAGE, "helo"),
        ("ann", Kind.EDIT, "hello"),
        ("ann", Kind.ACTION, "waves"),
        ("ann", Kind.MESSAGE, "who?"),
        ("ann", Kind.DELETE, ""),
        ("ann", Kind.RENAME, "annie"),
        ("annie", Kind.MESSAGE, "still me"),
    ]
    said, edited, _, answer, deleted, _, _ = messages
    assert said.id == edited.id == answer.reply_to == deleted.id == first


def test_people_come_and_go(people: Prosody) -> None:
    room = "people@conference.localhost"

    async def work() -> list[Any]:
        async with client(people, "ann", room), connected(people, room) as robo:
            async with client(people, "bob", room):
                pass
            return await events_until(robo, lambda event: isinstance(event, Presence) and not event.here)

    events = asyncio.run(work())
    assert {event.speaker for event in events[:2]} == {"ann", "robo"}
    assert events[2:] == [Presence("bob", room), Presence("bob", room, here=False)]


def test_a_restart_of_the_server(tmp_path: Path) -> None:
    server = Prosody(tmp_path / "prosody")
    room = "restart@conference.localhost"

    async def work() -> None:
        for name in ("ann", "bob", "robo"):
            await asyncio.to_thread(server.register, name, PASSWORD)
        async with client(server, "ann", room) as ann, connected(server, room, write=True) as robo:
            await ann.say("before")
            assert (await next_message(robo)).text == "before"
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            async with client(server, "bob", room) as bob:
                await bob.say("maybe while robo is away")
                await robo.send(room, "I am back")
                await bob.say("after")
                assert await texts_until(robo, "after") == ["maybe while robo is away", "I am back", "after"]

    try:
        asyncio.run(work())
    finally:
        server.stop()


def test_what_is_said_meanwhile_comes_once(
    people: Prosody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that is said while the archive is asked for comes live and as a part of it."""
    room, state, missed = "meanwhile@conference.localhost", tmp_path / "state", XMPP._missed

    async def work() -> list[str]:
        async with client(people, "ann", room) as ann:
            async with connected(people, room, state=state) as robo:
                await ann.say("heard")
                assert await texts_until(robo, "heard") == ["heard"]
            await ann.say("missed")

            async def late(self: XMPP, stream: Any, place: Any, known: dict[str, Any]) -> None:
                await ann.say("meanwhile")
                while not place.held:
                    await asyncio.sleep(0.02)
                await missed(self, stream, place, known)

            monkeypatch.setattr(XMPP, "_missed", late)
            async with connected(people, room, state=state) as robo:
                assert await texts_until(robo, "missed") == ["missed"]
                await ann.say("the end")
                return await texts_until(robo, "the end")

    assert asyncio.run(work()) == ["meanwhile", "the end"]


@pytest.mark.parametrize(
    ("address", "secrets", "sentence"),
    [
        (
            "xmpp://robo@localhost:{port}/a@conference.localhost?tls=no",
            {"password": "not-it-4711"},
            "is refused",
        ),
        ("xmpp://robo@localhost:{port}/a@conference.localhost?tls=no", {}, "no password"),
        ("xmpp://robo@localhost:{port}/?tls=no", {"password": PASSWORD}, "say which rooms"),
        ("xmpp://robo@localhost:{port}/help?tls=no", {"password": PASSWORD}, "help is not a room"),
        (
            "xmpp://robo@localhost:1/a@conference.localhost?tls=no",
            {"password": "not-it-4711"},
            "cannot connect",
        ),
        (
            "xmpp://robo@localhost:{port}/new@conference.localhost?tls=no",
            {"password": PASSWORD},
            "no such room",
        ),
        ("xmpp://localhost:{port}/a@conference.localhost", {"password": PASSWORD}, "looks like xmpp://"),
    ],
)
def test_what_cannot_be_is_said(
    people: Prosody, caplog: pytest.LogCaptureFixture, address: str, secrets: dict[str, str], sentence: str
) -> None:
    caplog.set_level(logging.DEBUG)

    async def work() -> None:
        async with connect(
            address.format(port=people.port) + "&host=127.0.0.1" * ("?" in address), secrets=secrets
        ):
            pass

    with pytest.raises(RoomError, match=sentence) as error:
        asyncio.run(work())
    for secret in ("not-it-4711", PASSWORD):
        assert secret not in str(error.value)
        assert secret not in caplog.text
