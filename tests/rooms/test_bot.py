"""A bot in a Synapse room with three conversations: silent where it should be, killed, and back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.robo import CARD, LOG, LUNCH
from tests.rooms.servers import Synapse

PASSWORD = "pw-of-robo-4711"
CHAT: tuple[tuple[str, str, str | None], ...] = (
    ("ann", "bob: did you see that the build has failed again?", None),
    ("cid", "dee: are you hungry yet?", None),
    ("eve", "robo: how do I see which network card I have?", CARD),
    ("bob", "ann: yes, the linker ran out of memory", None),
    ("eve", "and which card does the server have", CARD),
    ("dee", "cid: give me ten minutes", None),
    ("ann", "robo told me the same yesterday", None),
    ("bob", "robo, where is the log of the build?", LOG),
    ("bob", "of course it knows that", None),
    ("ann", "bob: I restart it with fewer jobs", None),
    ("cid", "dee: the others are going now", None),
    ("dee", "@robo when is lunch served?", LUNCH),
    ("eve", "cid: wait for me, please", None),
)
"""Who says what in three conversations, and what the bot should answer."""


class Robo:
    """The bot's process."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.rooms.robo", self.address, str(self.folder)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TOWHOM_MATRIX_PASSWORD": PASSWORD, "OMP_NUM_THREADS": "1"},
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "in the room\n"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Room:
    """The room, and those who talk in it."""

    def __init__(self, server: Synapse) -> None:
        self.server = server
        self.address = f"matrix://robo@127.0.0.1:{server.port}/#threes:localhost?tls=no"
        server.register("robo", PASSWORD)
        self.tokens = {
            name: server.register(name, f"pw-{name}") for name in ("ann", "bob", "cid", "dee", "eve")
        }
        self.id = server.room("threes", self.tokens["ann"])
        for token in self.tokens.values():
            server.ask("POST", f"/join/{self.id}", {}, token)

    def say(self, who: str, text: str) -> str:
        return self.server.say(self.id, self.tokens[who], text)

    def answers(self) -> list[tuple[str, str]]:
        """What the bot has said: the message that it answers, and the answer."""
        page = self.server.ask("GET", f"/rooms/{self.id}/messages?dir=b&limit=500", None, self.tokens["ann"])
        said = [event["content"] for event in page["chunk"][::-1] if event["sender"] == "@robo:localhost"]
        return [
            (content["m.relates_to"]["m.in_reply_to"]["event_id"], content["body"])
            for content in said
            if content.get("body")
        ]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Synapse]:
    synapse = Synapse(tmp_path / "synapse")
    yield synapse
    synapse.stop()


def wait_for(what: Any, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


def test_a_bot_among_three_conversations(server: Synapse, tmp_path: Path) -> None:
    """Silent where it should be, answering who called it with the right draft; killed, and back."""
    room = Room(server)
    robo = Robo(room.address, tmp_path / "robo")
    expected: list[tuple[str, str]] = []

    def talk() -> None:
        for who, text, answer in CHAT:
            identifier = room.say(who, text)
            if answer is not None:
                expected.append((identifier, answer))
                wait_for(lambda: len(room.answers()) >= len(expected))

    robo.start()
    try:
        talk()
        assert room.answers() == expected

        # Killed while it has something to answer, wherever in it: the answer comes, once.
        for delay in (0.0, 0.02, 0.1):
            expected.append(
                (room.say("eve", f"robo: how do I see which network card is number {delay}?"), CARD)
            )
            time.sleep(delay)
            robo.kill()
            room.say("bob", "ann: it is compiling")
            robo.start()
            wait_for(lambda: len(room.answers()) >= len(expected))

        # The server goes away, and comes back.
        server.stop()
        time.sleep(0.5)
        server.start()
        expected.append((room.say("bob", "robo: where is the log of that build?"), LOG))
        wait_for(lambda: len(room.answers()) >= len(expected))

        # Another message that is heard: what was answered twice would have come before its answer.
        expected.append((room.say("dee", "robo: and when is lunch served?"), LUNCH))
        wait_for(lambda: len(room.answers()) >= len(expected))
        assert room.answers() == expected
    finally:
        robo.kill()
