"""A bot on IRC that is killed, and whose server restarts: what it can hear is answered, and nothing twice."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from tests.rooms.robo import CARD, LOG
from tests.rooms.servers import ChatServer, InspIRCd, NgIRCd
from tests.rooms.test_bot import Robo, wait_for
from tests.rooms.test_join import Talker
from towhom import Message
from towhom.rooms import Connector, connect


class Listener(Talker):
    """A client that hears what is said in a room."""

    def __init__(self, port: int, nick: str, room: str) -> None:
        super().__init__(port, nick, room)
        self.socket.settimeout(None)
        self.heard: list[str] = []
        self._thread = threading.Thread(target=self._hear)
        self._thread.start()

    def _hear(self) -> None:
        for line in self.file:
            if " PRIVMSG " in line and line.lstrip(":").startswith("robo"):
                self.heard.append(line.split(" PRIVMSG ", 1)[1].partition(" :")[2].strip())
            elif line.startswith("PING"):
                self.line(line.strip().replace("PING", "PONG", 1))

    def say(self, text: str) -> None:
        self.line(f"PRIVMSG #room :{text}")

    def leave(self) -> None:
        self.line("QUIT")
        self._thread.join(60)
        self.close()


def robo_on(server: ChatServer, folder: Path) -> Robo:
    return Robo(f"irc://robo@127.0.0.1:{server.port}/#room", folder)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.2])
def test_what_was_said_to_a_dead_bot_is_answered_once(tmp_path: Path, delay: float) -> None:
    """InspIRCd plays back what was said, with identifiers."""
    server = InspIRCd(tmp_path / "irc")
    robo = robo_on(server, tmp_path / "robo")
    eve, bob = Listener(server.port, "eve", "#room"), Talker(server.port, "bob", "#room")
    try:
        robo.start()
        eve.say("robo: how do I see which network card I have?")
        wait_for(lambda: eve.heard == [CARD])
        eve.say("robo: and how do I see which network card the server has?")
        time.sleep(delay)  # wherever it is: before it heard the message, or after it answered
        robo.kill()
        eve.say("robo, where is the log of the build?")
        robo.start()
        wait_for(lambda: len(eve.heard) >= 3)
        # What were answered twice would come before the answer to what is asked now.
        eve.say("robo: where is the log of the other build?")
        wait_for(lambda: len(eve.heard) >= 4)
        assert eve.heard == [CARD, CARD, LOG, LOG]
    finally:
        robo.kill()
        eve.leave()
        bob.close()
        server.stop()


def test_a_server_without_history_restarts(tmp_path: Path) -> None:
    """ngircd gives nothing again; the bot is back by itself, and answers what is said from then on."""
    server = NgIRCd(tmp_path / "irc")
    robo = robo_on(server, tmp_path / "robo")
    eve = Listener(server.port, "eve", "#room")
    robo.start()
    try:
        eve.say("robo: how do I see which network card I have?")
        wait_for(lambda: eve.heard == [CARD])
        server.stop()
        eve.leave()
        server.start()
        eve = Listener(server.port, "eve", "#room")
        while LOG not in eve.heard:  # until the bot is in the room again
            eve.say("robo: where is the log of the build?")
            time.sleep(0.5)
        robo.kill()
        said = len(eve.heard)
        robo.start()
        eve.say("robo: how do I see which network card I have?")
        wait_for(lambda: len(eve.heard) > said)
        assert eve.heard[said:] == [CARD]
    finally:
        robo.kill()
        eve.leave()
        server.stop()


class KilledError(Exception):
    """The process ends here."""


async def question_in(room: Connector) -> Message:
    async for event in room:
        if isinstance(event, Message) and event.speaker == "eve":
            return event
    raise AssertionError


@pytest.mark.parametrize("said", [True, False])
def test_killed_between_sending_and_writing_that_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bool
) -> None:
    """What the server plays back shows whether an answer was sent, even if it would be another one now."""
    server = InspIRCd(tmp_path / "irc")
    eve = Listener(server.port, "eve", "#room")
    address, state = f"irc://robo@127.0.0.1:{server.port}/#room", tmp_path / "position"

    async def first_run() -> None:
        async with connect(address, state=state, write=True) as room:
            say = room.say

            async def killed(*told: str | None) -> None:
                if said:
                    await say(*told)  # type: ignore[arg-type]
                raise KilledError

            monkeypatch.setattr(room, "say", killed)
            eve.say("robo: is it up?")
            question = await question_in(room)
            await room.send("#room", "yes, it is up", question.id, key=question.id)

    async def second_run() -> None:
        async with connect(address, state=state, write=True) as room:
            question = await question_in(room)
            await room.send("#room", "I think so", question.id, key=question.id)
            await room.send("#room", "that is all")

    try:
        with pytest.raises(KilledError):
            asyncio.run(first_run())
        asyncio.run(second_run())
        wait_for(lambda: "that is all" in eve.heard)
        assert eve.heard == ["yes, it is up" if said else "I think so", "that is all"]
    finally:
        eve.leave()
        server.stop()
