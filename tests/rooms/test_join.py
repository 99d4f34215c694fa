"""`towhom join`: the real command, against real servers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.rooms.servers import LockedNgIRCd, NgIRCd, Synapse
from tests.serve.conftest import Server, Start, answer, start, texts  # noqa: F401 - a fixture

COMMAND = (sys.executable, "-m", "towhom", "join")


class Join:
    """The command, as it runs."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(folder), "OMP_NUM_THREADS": "1"} | environment,
        )
        self.out: list[str] = []
        self.err: list[str] = []
        self.threads = [
            threading.Thread(target=_collect, args=pair)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for thread in self.threads:
            thread.start()

    def wait_until_following(self) -> None:
        wait_for(lambda: any("following" in line for line in self.err) or self.process.poll() is not None)
        assert self.process.poll() is None, self.err

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        for thread in self.threads:
            thread.join(60)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


def _collect(stream: IO[str], lines: list[str]) -> None:
    lines.extend(iter(stream.readline, ""))


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[..., Join]]:
    running: list[Join] = []

    def begin(*arguments: str, **environment: str) -> Join:
        running.append(Join(tmp_path / "state", *arguments, **environment))
        return running[-1]

    yield begin
    for each in running:
        if each.process.poll() is None:
            each.end(signal.SIGKILL)


class Talker:
    """Another IRC client."""

    def __init__(self, port: int, nick: str, room: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.file = self.socket.makefile("rw", encoding="utf-8", newline="\r\n")
        self.line(f"NICK {nick}\r\nUSER {nick} 0 * :{nick}")
        self.until(" 001 ")
        self.line(f"JOIN {room}")
        self.until(" 366 ")

    def line(self, text: str) -> None:
        self.file.write(f"{text}\r\n")
        self.file.flush()

    def until(self, part: str) -> str:
        for line in self.file:
            if part in line:
                return line.strip()
        raise AssertionError(part)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def test_who_each_message_is_for(ngircd: NgIRCd, join: Callable[..., Join]) -> None:
    running = join(f"irc://watcher@127.0.0.1:{ngircd.port}/#lines", "--json")
    running.wait_until_following()
    ann, bob = Talker(ngircd.port, "ann9", "#lines"), Talker(ngircd.port, "bob9", "#lines")
    ann.line("PRIVMSG #lines :is the parser merged?")
    wait_for(lambda: len(running.out) == 1)  # two connections: the server may take either first
    bob.line("PRIVMSG #lines :ann9: since noon")
    wait_for(lambda: len(running.out) == 2)
    assert running.end() == 0
    for talker in (ann, bob):
        talker.close()
    first, second = map(json.loads, running.out)
    assert (first["room"], first["speaker"], first["text"]) == ("#lines", "ann9", "is the parser merged?")
    assert (second["speaker"], second["addressee"], second["how"]) == ("bob9", "ann9", "named")
    assert second["label"] == f"#lines@127.0.0.1:{ngircd.port}"


def test_lines_for_people_and_what_is_said_only_when_told(ngircd: NgIRCd, join: Callable[..., Join]) -> None:
    address = f"irc://writer@127.0.0.1:{ngircd.port}/#write"
    running = join(address, "--write")
    running.wait_until_following()
    ann = Talker(ngircd.port, "ann8", "#write")
    assert running.process.stdin is not None
    for line in ("no json", '{"room": "#write", "text": "hello from a pipe"}'):
        running.process.stdin.write(f"{line}\n")
    running.process.stdin.flush()
    assert ann.until("PRIVMSG").endswith("PRIVMSG #write :hello from a pipe")
    ann.line("PRIVMSG #write :writer: thanks \x1b[2J")
    wait_for(lambda: len(running.out) == 2)
    assert running.end() == 0
    ann.close()
    assert "→ writer" in running.out[1]
    assert "\x1b" not in running.out[1]
    assert any("standard input: a line is" in line for line in running.err)


def test_secrets_are_seen_nowhere(tmp_path: Path, join: Callable[..., Join]) -> None:
    server = LockedNgIRCd(tmp_path / "locked")
    secret = tmp_path / "secret"
    secret.write_text(f"{server.password}\n")
    address = f"irc://robo@127.0.0.1:{server.port}/#room"
    try:
        for arguments, environment in (
            ((address, "-v", "--password-file", str(secret)), {}),
            ((address, "-v"), {"TOWHOM_IRC_PASSWORD": server.password}),
            ((address, "-v"), {"TOWHOM_IRC_PASSWORD_FILE": str(secret)}),
        ):
            running = join(*arguments, **environment)
            running.wait_until_following()
            seen = Path(f"/proc/{running.process.pid}/cmdline").read_bytes().decode()
            assert server.password not in seen
            assert running.end() == 0
            assert server.password not in "".join((*running.out, *running.err))
        wrong = join(address, "-v", TOWHOM_IRC_PASSWORD="wrong-4711-one")
        assert wrong.process.wait(60) == 1
        assert wrong.end() == 1
        assert "wrong-4711-one" not in "".join(wrong.err)
        assert "Traceback" not in "".join(wrong.err)
    finally:
        server.stop()
    state = tmp_path / "state"
    kept = [path.read_text("utf-8") for path in state.rglob("*") if path.is_file()]
    assert not [text for text in kept if server.password in text]


def test_a_password_in_an_address_is_refused_and_not_shown(join: Callable[..., Join]) -> None:
    running = join("irc://robo:hunter4711@127.0.0.1/#room")
    assert running.process.wait(60) == 1
    running.end()
    shown = "".join(running.err)
    assert "TOWHOM_IRC_PASSWORD" in shown
    assert "hunter4711" not in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nosuch://x/y",), "no connector for nosuch://"),
        (("what is this",), "looks like irc://"),
        (("irc://a@localhost/#b", "--server", "http://127.0.0.1:1"), "no towhom serve answers there"),
        (("irc://a@localhost/#b", "--password-file", "/nonexistent"), "the secret cannot be read"),
        (("irc://a@localhost/#b", "irc://a@localhost/#c", "--write"), "--write is for one address"),
    ],
)
def test_errors_are_sentences(join: Callable[..., Join], arguments: tuple[str, ...], sentence: str) -> None:
    running = join(*arguments)
    assert running.process.wait(60) in (1, 2)
    running.end()
    shown = "".join(running.err)
    assert sentence in shown
    assert "Traceback" not in shown


def test_rooms_feed_the_server_through_kills_and_restarts(
    synapse: Synapse,
    join: Callable[..., Join],
    start: Start,  # noqa: F811
) -> None:
    """Nothing is missed and nothing is there twice, whoever is killed: the command, or the server."""
    password = "pw-of-watcher-4711"
    ann = synapse.register("ann-fed", "pw-ann")
    synapse.register("watcher", password)
    room = synapse.room("fed", ann)
    server = start()
    url = str(server.client.base_url).rstrip("/")
    address = f"matrix://watcher@127.0.0.1:{synapse.port}/#fed:localhost?tls=no"

    def begin() -> Join:
        running = join(address, "--server", url, TOWHOM_MATRIX_PASSWORD=password)
        running.wait_until_following()
        return running

    channel = "/v1/channels/%23fed:localhost"
    running, said = begin(), []
    for number in range(12):
        if number in (3, 6):
            running.end(signal.SIGKILL)
        said.append(f"message {number}")
        synapse.say(room, ann, said[-1])
        if number in (4, 7):
            running = begin()
    edited = synapse.say(room, ann, "the last")
    new: dict[str, Any] = {"m.new_content": {"msgtype": "m.text", "body": "the very last"}}
    new["m.relates_to"] = {"rel_type": "m.replace", "event_id": edited}
    synapse.say(room, ann, "*", **new)
    said += ["the last", "the very last"]
    wait_for(lambda: _texts(server, channel)[-1:] == ["the very last"])
    assert _texts(server, channel) == said
    people = answer(server.client.get(f"{channel}/people"))["people"]
    assert {person["name"] for person in people} == {"ann-fed", "watcher"}
    page = answer(server.client.get(f"{channel}/messages", params={"after": -1, "limit": 1}))
    assert page["observations"][0]["message"]["name"] == "ann-fed"
    assert running.end() == 0
    assert password not in "".join((*running.err, server.log))


def _texts(server: Server, channel: str) -> list[str]:
    if server.client.get(f"{channel}/messages").status_code == 404:
        return []
    return texts(server.client, channel)
