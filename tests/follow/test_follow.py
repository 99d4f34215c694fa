"""`towhom follow`: every message is there once, in the order of its room, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import command
from tests.follow.conftest import Broker, address, wait_until
from tests.serve.conftest import Server, Start, counted
from towhom.errors import ConfigError
from towhom.follow.source import Delivery, Options, Shard, lines_of, open_source

pytest.importorskip("nats")

ROOMS = ("help", "tea", "off-topic")
COUNT = 90


def said(number: int, **rest: Any) -> dict[str, Any]:
    return {"speaker": f"p{number % 4}", "text": f"line {number}", "id": f"m{number}", **rest}


def follow(broker: Broker, server: Server | str, *options: str, at: str = "") -> list[str]:
    where = server if isinstance(server, str) else address(server)
    return command("follow", broker.address + at, "--server", where, *options)


def texts(server: Server, room: str) -> list[str]:
    response = server.client.get(f"/v1/channels/{room}/messages", params={"limit": 1000})
    return [each["message"]["text"] for each in response.json().get("observations", [])]


def test_killed_in_the_middle(broker: Broker, start: Start) -> None:
    server = start("--rate", "0")
    broker.publish((f"chat.{ROOMS[number % 3]}", said(number)) for number in range(15))
    process = subprocess.Popen(follow(broker, server), stderr=subprocess.DEVNULL)
    wait_until(lambda: len(texts(server, "help")) == 5)
    halted = server.halt(0)  # so that it is in the middle of something
    broker.publish((f"chat.{ROOMS[number % 3]}", said(number)) for number in range(15, COUNT))
    wait_until(lambda: counted(server.client, "towhom_jobs") > 0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.kill(halted, signal.SIGCONT)
    assert sum(len(texts(server, room)) for room in ROOMS) < COUNT
    broker.publish((f"chat.{ROOMS[number % 3]}", said(number)) for number in range(COUNT, COUNT + 30))
    broker.publish([("chat.help", said(0))])  # a publisher that sends again
    done = subprocess.run(follow(broker, server, "--once"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for place, room in enumerate(ROOMS):
        assert texts(server, room) == [f"line {number}" for number in range(place, COUNT + 30, 3)]


def test_the_server_is_away_for_a_while(broker: Broker, start: Start, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a token of enough characters\n".replace(" ", "-"))
    server = start("--token-file", str(token))
    port = str(server.client.base_url.port)
    broker.publish(("chat.help", said(number)) for number in range(5))
    server.kill()
    options = ("--once", "--token-file", str(token))
    with subprocess.Popen(
        follow(broker, f"http://127.0.0.1:{port}", *options), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "the server cannot take messages now" in process.stderr.readline()
        server = start("--token-file", str(token), "--port", port)
        _, told = process.communicate(timeout=60)
    assert "5 messages are kept, 0 were refused" in told
    server.client.headers["Authorization"] = f"Bearer {token.read_text().strip()}"
    assert texts(server, "help") == [f"line {number}" for number in range(5)]
    done = subprocess.run(follow(broker, server, "--once", "--name", "b"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "answers 401" in done.stderr


def test_the_broker_goes_away(broker: Broker, start: Start) -> None:
    server = start("--rate", "0")
    broker.publish(("chat.help", said(number)) for number in range(200))
    with subprocess.Popen(follow(broker, server), stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(texts(server, "help")) >= 3)
        broker.end()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert told.startswith("Error: ")
    assert "Traceback" not in told
    broker.begin()
    done = subprocess.run(follow(broker, server, "--once"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert texts(server, "help") == [f"line {number}" for number in range(200)]


def test_what_nobody_can_take(broker: Broker, start: Start) -> None:
    server = start()
    broker.publish(
        [
            ("chat.a", b"no JSON"),
            ("chat.a", {"speaker": "ada"}),
            ("chat.a", {"message": {"speaker": "ada", "text": "one"}, "channel": "b"}),
            (
                "chat.a",
                {"messages": [{"speaker": "ada", "text": "two"}, {"speaker": "bob", "text": "three"}]},
            ),
            ("chat.a", {"speaker": "ada", "text": "four", "id": 7, "channel": "not a room"}),
            ("chat.a", {"speaker": "ada", "text": "five", "id": 7}),
            ("chat.a", {"speaker": "ada", "text": "six", "id": 7}),
            ("chat.a", {"speaker": "ada", "text": "seven", "id": 7, "kind": "edit"}),
        ]
    )
    done = subprocess.run(follow(broker, server, "--once"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "refused nats:CHAT:1: " in done.stderr
    assert "refused nats:CHAT:2: invalid" in done.stderr
    assert "6 messages are kept, 3 were refused" in done.stderr
    assert texts(server, "a") == ["two", "three", "five", "six", "seven"]
    assert texts(server, "b") == ["one"]
    again = subprocess.run(follow(broker, server, "--once"), capture_output=True, text=True)
    assert "0 messages are kept, 0 were refused" in again.stderr


def test_shards_and_subjects(broker: Broker, start: Start) -> None:
    server = start()
    rooms = [f"room-{number}" for number in range(6)]
    broker.publish((f"chat.x.{room}", said(0, channel=room)) for room in rooms)
    broker.publish([("chat.y.other", said(0))])
    for number in (1, 2):
        options = ("--once", "--shard", f"{number}/2")
        done = subprocess.run(follow(broker, server, *options, at="/chat.x.>"), capture_output=True)
        assert done.returncode == 0, done.stderr
        there = {each["id"] for each in server.client.get("/v1/channels").json()["channels"]}
        wanted = [room for room in rooms if any(Shard(shard, 2).has(room) for shard in range(number))]
        assert there == set(wanted)


class TestWords:
    def test_no_stream(self, broker: Broker) -> None:
        where = broker.address.replace("CHAT", "NONE")
        done = subprocess.run(command("follow", where, "--once"), capture_output=True, text=True)
        assert done.returncode == 1
        assert "there is no stream NONE" in done.stderr

    def test_nobody_there(self) -> None:
        done = subprocess.run(command("follow", "nats://127.0.0.1:1/CHAT"), capture_output=True, text=True)
        assert done.returncode == 1
        assert "cannot connect" in done.stderr

    @pytest.mark.parametrize(
        ("where", "words"),
        [
            ("kafka://127.0.0.1/chat", "no stream that can be followed; known are nats://"),
            ("nats://ada:secret@127.0.0.1/CHAT", "an address must not contain a name or password"),
            ("nats://127.0.0.1/", "expected nats://HOST:PORT/STREAM"),
        ],
    )
    def test_addresses(self, where: str, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            open_source(where, Options())

    @pytest.mark.parametrize("text", ["0/2", "3/2", "x", "1/0"])
    def test_shards(self, text: str) -> None:
        with pytest.raises(ConfigError, match="expected I/N"):
            Shard.of(text)


class Given(Delivery):
    async def done(self) -> None: ...

    async def refused(self) -> None: ...

    async def working(self) -> None: ...


def test_keys() -> None:
    def key(content: str) -> str:
        return lines_of(Given("nats:CHAT:9", "chat.help", content.encode()))[0].key

    assert key('{"speaker": "a", "text": "b", "id": 4}') == "id:4"
    assert key('{"speaker": "a", "text": "b"}') == "nats:CHAT:9/0"
    assert key('{"speaker": "a", "text": "b", "id": 4, "kind": "edit"}') == "nats:CHAT:9/0"
    assert len(key('{"speaker": "a", "text": "b", "id": "' + "x" * 300 + '"}')) < 200
    assert key('{"speaker": "a", "text": "b", "id": "é"}').startswith("id-sha256:")
