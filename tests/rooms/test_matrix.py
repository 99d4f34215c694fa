from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.servers import Synapse
from towhom.chat import Kind, Message, Presence
from towhom.errors import RoomError
from towhom.rooms import Connector, connect, matrix
from towhom.testing.connectors import ConnectorContract, events_until, next_message, texts_until


class Matrix:
    """Two people and a room on the server."""

    def __init__(self, server: Synapse, name: str, **settings: Any) -> None:
        self.server, self.name = server, name
        self.ann = server.register(f"ann-{name}", "pw-of-ann")
        self.robo = server.register(f"robo-{name}", "pw-of-robo")
        self.room = server.room(name, self.ann, **settings)

    def connect(self, **more: Any) -> Connector:
        address = f"matrix://robo-{self.name}@127.0.0.1:{self.server.port}/#{self.name}:localhost?tls=no"
        return connect(address, **({"secrets": {"password": "pw-of-robo"}} | more))

    def say(self, text: str, reply_to: str | None = None, **more: Any) -> str:
        return self.server.say(self.room, self.ann, text, reply_to, **more)


@pytest.fixture(scope="module")
def place(synapse: Synapse) -> Matrix:
    return Matrix(synapse, "contract")


class TestSynapse(ConnectorContract):
    @pytest.fixture(autouse=True)
    def _place(self, place: Matrix) -> None:
        self.place, self.room = place, place.room

    def connector(self, *, state: Path | None = None, write: bool = False) -> Connector:
        return self.place.connect(state=state, write=write)

    async def say(self, text: str, reply_to: str | None = None) -> str | None:
        return await asyncio.to_thread(self.place.say, text, reply_to)


def related(kind: str, to: str) -> dict[str, Any]:
    return {"m.relates_to": {"rel_type": kind, "event_id": to}}


def test_what_matrix_has(synapse: Synapse) -> None:
    """Edits, redactions, threads, mentions, names, actions; reactions are left out."""
    place = Matrix(synapse, "features")
    robo, ann = "@robo-features:localhost", "@ann-features:localhost"

    async def work() -> list[Any]:
        async with place.connect() as room:
            first = place.say("helo all")
            edit: dict[str, Any] = {"m.new_content": {"msgtype": "m.text", "body": "hello all"}}
            place.say("* hello all", **edit, **related("m.replace", first))
            reaction = {"m.relates_to": {"rel_type": "m.annotation", "event_id": first, "key": "👍"}}
            synapse.event(place.room, place.ann, reaction, "m.reaction")
            thread = {"rel_type": "m.thread", "event_id": first, "is_falling_back": True}
            elsewhere: dict[str, Any] = {"m.relates_to": {**thread, "m.in_reply_to": {"event_id": "$other"}}}
            place.say("in a thread", **elsewhere)
            place.say("waves", msgtype="m.emote")
            mention: dict[str, Any] = {"m.mentions": {"user_ids": [robo]}}
            place.say("robo-features: there?", **mention)
            profile = f"/profile/{ann}/displayname"
            synapse.ask("PUT", profile, {"displayname": "Ann Other"}, place.ann)
            # The server tells rooms of it in its own time.
            events = await events_until(room, lambda event: getattr(event, "kind", None) is Kind.RENAME)
            place.say("> <@x:localhost> old\n> lines\n\nthe answer", first)
            # Else the server would give the messages without what is taken back.
            events += await events_until(room, lambda event: getattr(event, "text", "") == "the answer")
            synapse.ask("PUT", f"/rooms/{place.room}/redact/{first}/1", {}, place.ann)
            place.say("picture.png", msgtype="m.image", url="mxc://localhost/abc")
            synapse.ask("POST", f"/rooms/{place.room}/leave", {}, place.ann)
            events += await events_until(
                room, lambda event: isinstance(event, Presence) and not event.here and event.speaker == ann
            )
            return [first, *(event for event in events if isinstance(event, Message))]

    first, *messages = asyncio.run(work())
    assert [(message.kind, message.text) for message in messages] == [
        (Kind.MESSAGE, "helo all"),
        (Kind.EDIT, "hello all"),
        (Kind.MESSAGE, "in a thread"),
        (Kind.ACTION, "waves"),
        (Kind.MESSAGE, "robo-features: there?"),
        (Kind.RENAME, "Ann Other"),
        (Kind.MESSAGE, "the answer"),
        (Kind.DELETE, ""),
        (Kind.SYSTEM, "picture.png"),
    ]
    said, edited, threaded, _, mentioned, renamed, answer, deleted, _ = messages
    assert (said.speaker, said.name, said.id) == (ann, "ann-features", first)
    assert edited.id == deleted.id == threaded.reply_to == answer.reply_to == first
    assert mentioned.mentions == (robo,)
    assert (renamed.speaker, renamed.name, answer.name) == (ann, "ann-features", "Ann Other")


def test_more_was_missed_than_one_answer_holds(
    synapse: Synapse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "_PAGE", 10)
    place = Matrix(synapse, "gap")

    async def work() -> None:
        async with place.connect(state=tmp_path / "state"):
            pass
        for number in range(35):
            await asyncio.to_thread(place.say, f"missed {number}")
        async with place.connect(state=tmp_path / "state") as room:
            assert await texts_until(room, "missed 34") == [f"missed {number}" for number in range(35)]

    asyncio.run(work())


def test_a_restart_of_the_server(tmp_path: Path) -> None:
    server = Synapse(tmp_path / "synapse")

    async def work() -> None:
        place = Matrix(server, "restart")
        async with place.connect(write=True) as room:
            place.say("before")
            assert (await next_message(room)).text == "before"
            await asyncio.to_thread(server.stop)
            sending = asyncio.create_task(room.send(place.room, "sent while it is down", key="k"))
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(place.say, "after")
            identifier = await sending
            heard = {(await next_message(room)).text for _ in range(2)}
            assert heard == {"sent while it is down", "after"}
            assert await room.send(place.room, "sent while it is down", key="k") == identifier

    try:
        asyncio.run(work())
    finally:
        server.stop()


def test_a_crash_between_sending_and_remembering(synapse: Synapse, tmp_path: Path) -> None:
    """The server itself tells what was sent before: a state without it changes nothing."""
    place = Matrix(synapse, "crash")

    async def work() -> None:
        state, copy = tmp_path / "state", tmp_path / "before"
        async with place.connect(state=state, write=True) as room:
            copy.write_bytes(state.read_bytes())
            one = await room.send(place.room, "the answer", key="to-the-question")
        copy.replace(state)
        async with place.connect(state=state, write=True) as room:
            assert await room.send(place.room, "the answer", key="to-the-question") == one
            place.say("the end")
            assert await texts_until(room, "the end") == ["the answer", "the end"]

    asyncio.run(work())


def test_all_rooms_of_an_account_with_a_token(synapse: Synapse) -> None:
    place = Matrix(synapse, "token")
    other = synapse.room("token-other", place.ann)
    for room in (place.room, other):
        synapse.ask("POST", f"/join/{room}", {}, place.robo)

    async def work() -> None:
        address = f"matrix://127.0.0.1:{synapse.port}/?tls=no"
        async with connect(address, secrets={"token": place.robo}) as rooms:
            assert rooms.me == "@robo-token:localhost"
            place.say("here")
            assert (await next_message(rooms)).channel == place.room
            synapse.say(other, place.ann, "there")
            assert (await next_message(rooms)).channel == other
            assert rooms.label(other) == "#token-other:localhost"

    asyncio.run(work())


def test_encrypted_rooms(synapse: Synapse, tmp_path: Path) -> None:
    """Two of ours talk in a room that the server cannot read."""
    pytest.importorskip("vodozemac", reason="the extra matrix-e2e is not installed")
    encryption = {
        "type": "m.room.encryption",
        "state_key": "",
        "content": {"algorithm": "m.megolm.v1.aes-sha2"},
    }
    place = Matrix(synapse, "secret", initial_state=[encryption])
    address = f"matrix://ann-secret@127.0.0.1:{synapse.port}/#secret:localhost?tls=no"

    async def work() -> None:
        secrets = {"password": "pw-of-ann"}
        async with (
            place.connect(state=tmp_path / "robo", write=True) as robo,
            connect(address, secrets=secrets, state=tmp_path / "ann", write=True) as ann,
        ):
            await ann.send(place.room, "psst")
            heard = await next_message(robo)
            assert (heard.text, heard.speaker) == ("psst", "@ann-secret:localhost")
            await robo.send(place.room, "what?", heard.id)
            answer = await next_message(ann, lambda message: message.speaker == robo.me)
            assert (answer.text, answer.reply_to) == ("what?", heard.id)
        raw = synapse.ask("GET", f"/rooms/{place.room}/event/{heard.id}", None, place.ann)
        assert raw["type"] == "m.room.encrypted"

    asyncio.run(work())


@pytest.mark.parametrize(
    ("address", "secrets", "sentence"),
    [
        ("matrix://robo-wrong@127.0.0.1:{port}/?tls=no", {"password": "not-it-4711"}, "password is refused"),
        ("matrix://127.0.0.1:{port}/?tls=no", {"token": "not-it-4711"}, "token is refused"),
        ("matrix://robo-wrong@127.0.0.1:{port}/?tls=no", {}, "no password and no token"),
        ("matrix://127.0.0.1:{port}/?tls=no", {"password": "pw-of-robo"}, "say which account"),
        ("matrix://robo-wrong@127.0.0.1:1/?tls=no", {"password": "not-it-4711"}, "cannot connect"),
        (
            "matrix://robo-wrong@127.0.0.1:{port}/#none:localhost?tls=no",
            {"password": "pw-of-robo"},
            "cannot enter",
        ),
        ("matrix://robo-wrong@127.0.0.1:{port}/?tls=maybe", {"password": "x"}, "yes or no"),
    ],
)
def test_what_cannot_be_is_said(
    synapse: Synapse, caplog: pytest.LogCaptureFixture, address: str, secrets: dict[str, str], sentence: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with suppress(OSError):  # an earlier case has
        synapse.register("robo-wrong", "pw-of-robo")

    async def work() -> None:
        async with connect(address.format(port=synapse.port), secrets=secrets):
            pass

    with pytest.raises(RoomError, match=sentence) as error:
        asyncio.run(work())
    for secret in ("not-it-4711", "pw-of-robo"):
        assert secret not in str(error.value)
        assert secret not in caplog.text
