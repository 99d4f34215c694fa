"""Attacks on a real server on loopback: kills, halts, a full disk, and all kinds of wrong requests."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.bots.test_platforms import CASES
from tests.live.damage import VALUES
from tests.readers.exports import zipped
from tests.readers.hostile import cut, damaged, flipped, littered, nested, numbered, places, repeated
from tests.readers.long import LONG
from tests.serve.conftest import CHAT, Server, answer, error, message, said, texts, wait_for
from tests.serve.load import Load
from tests.serve.sockets import HEAD, connected, error_of, half_open, told

from tools.attack.attack import Try

_PATIENCE = 60
_HEALTHY = {"status": "alive"}
_TURNS = [message(f"p{number % 3}", f"number {number}") for number in range(6)]
_TELEGRAM = {
    "message_id": 7,
    "date": 1772442000,
    "text": "is it up?",
    "chat": {"id": -5, "type": "group"},
    "from": {"id": 17, "first_name": "Ada"},
}
_REQUESTS: tuple[tuple[str, str, Any], ...] = (
    (
        "POST",
        "/v1/addressees",
        {"messages": CHAT, "people": [{"id": "B1", "name": "Robo", "aliases": ["rob"]}]},
    ),
    ("POST", "/v1/addressees", {"requests": [{"messages": CHAT[:2]}, {"messages": CHAT[2:]}]}),
    ("POST", "/v1/select", {"messages": CHAT, "responder": "wren", "candidates": ["yes", "no"], "top": 3}),
    ("POST", "/v1/threads", {"messages": CHAT}),
    ("POST", "/v1/channels/json/messages", {"messages": [{**CHAT[0], "id": 1}, {**CHAT[2], "reply_to": 1}]}),
    ("PUT", "/v1/channels/json/messages", {"messages": [{**CHAT[0], "id": 1, "kind": "edit"}]}),
    (
        "POST",
        "/v1/gate",
        {"bot": {"id": "B1"}, "room": "json", "message": {**CHAT[0], "id": 9}, "max_tokens": 50},
    ),
    ("POST", "/v1/gate", {"bot": {"id": 4711}, "event": {"update_id": 1, "message": _TELEGRAM}}),
    *(("POST", "/v1/gate", {"bot": {"id": "U1"}, "event": event}) for event, _ in CASES),
    ("PUT", "/v1/channels/json/people", {"people": [{"id": "B1", "name": "Robo", "bot": True}]}),
    ("POST", "/v1/channels/json/select", {"responder": "noor", "candidates": ["a broadcom"]}),
)
"""Valid requests, which are then damaged."""


@contextmanager
def _server(folder: Path, *flags: str, **environment: str) -> Iterator[Server]:
    """A server that keeps running; in the end, it must stop cleanly without an internal error."""
    server = Server(folder, "--workers", "2", "--rate", "0", *flags, **environment)
    try:
        yield server
        assert server.stop() == 0
        assert " 500 " not in server.log, server.log[-5000:]
    finally:
        server.end()


def _ready(server: Server) -> bool:
    return server.client.get("/readyz").status_code == 200


@contextmanager
def killed(folder: Path) -> Iterator[Try]:
    """Kill all processes at once, under load, again and again on the same data."""
    numbers = count()

    def attempt(random: Random) -> int:
        server = Server(folder, "--workers", "2", "--rate", "0")
        try:
            load = Load(f"room{next(numbers)}-")
            with load.on(server):
                wait_for(lambda: load.begun, _PATIENCE)
                time.sleep(random.uniform(0, 0.5))
                server.kill()
            server = Server(folder, "--workers", "2", "--rate", "0")
            load.check(server)
            assert server.stop() == 0
        finally:
            server.end()
        return load.count

    yield attempt


@contextmanager
def workers_killed(folder: Path) -> Iterator[Try]:
    """Kill workers one after the other, under load."""
    numbers = count()
    with _server(folder) as server:

        def attempt(random: Random) -> int:
            load = Load(f"room{next(numbers)}-")
            with load.on(server):
                wait_for(lambda: load.begun, _PATIENCE)
                for _ in range(3):
                    os.kill(random.choice(server.workers), signal.SIGKILL)
                    wait_for(lambda: _ready(server), _PATIENCE)
                    time.sleep(random.uniform(0, 0.3))
            load.check(server)
            return load.count

        yield attempt


@contextmanager
def workers_halted(folder: Path) -> Iterator[Try]:
    """Halt workers. They are replaced; meanwhile the server lives, and reports that it is not ready."""
    numbers = count()
    with _server(folder, "--deadline", "2") as server:

        def attempt(random: Random) -> int:
            channel = f"/v1/channels/room{next(numbers)}"
            said(server.client, channel, _TURNS[:3])
            worker = server.halt(random.randrange(3))
            error(server.client.get("/readyz"), 503, "not-ready")
            assert answer(server.client.get("/healthz")) == _HEALTHY
            wait_for(lambda: worker not in server.workers and _ready(server), _PATIENCE)
            said(server.client, channel, _TURNS[3:])
            assert texts(server.client, channel) == [each["text"] for each in _TURNS]
            return 1

        yield attempt


def _others_are_answered(server: Server) -> None:
    """Check that others are answered, on new connections: a kept one may be closed at any moment."""
    with connected(server) as other:
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        reply = told(other)
    assert reply.startswith(b"HTTP/1.1 200 OK"), reply


_JUMPING = """
import os, time

def jumping(clock=time.time, path=os.environ["TOWHOM_ATTACK_CLOCK"]):
    with open(path) as file:
        return clock() + float(file.read() or 0)

time.time = jumping
"""
"""Code that every process of a server runs first; it shifts the clock by the seconds in a file."""


@contextmanager
def clock_jumps(folder: Path) -> Iterator[Try]:
    """Shift the clock by seconds and decades, both ways, under load: order and keys must not depend on it."""
    numbers = count()
    first = folder / "first"
    first.mkdir(parents=True)
    (first / "sitecustomize.py").write_text(_JUMPING)
    clock = folder / "clock"
    clock.write_text("0")
    path = os.pathsep.join(filter(None, (str(first), os.environ.get("PYTHONPATH"))))
    with _server(folder, PYTHONPATH=path, TOWHOM_ATTACK_CLOCK=str(clock)) as server:

        def attempt(random: Random) -> int:
            load = Load(f"room{next(numbers)}-")
            with load.on(server):
                wait_for(lambda: load.begun, _PATIENCE)
                for _ in range(5):
                    clock.write_text(str(random.uniform(-1, 1) * 10 ** random.randint(0, 9)))
                    assert _ready(server)
                    time.sleep(random.uniform(0, 0.3))
            load.check(server)
            return load.count

        yield attempt


@contextmanager
def half_open_connections(folder: Path) -> Iterator[Try]:
    """Open three times as many connections as allowed: real requests must be answered."""
    with _server(folder, "--max-connections", "100") as server:

        def attempt(random: Random) -> int:
            begun = random.choice((b"", b"G", b"GET /v1/sample HTTP/1.1\r\nHost: loc", b"\r\n"))
            with half_open(server, 300, begun):
                for _ in range(10):
                    _others_are_answered(server)
            return 300

        yield attempt


@contextmanager
def slow_bodies(folder: Path) -> Iterator[Try]:
    """Send bodies too slowly: these get an error after `receive` seconds; others are answered meanwhile."""
    with _server(folder, "--receive", "1") as server:

        def attempt(random: Random) -> int:
            body = json.dumps({"messages": CHAT}).encode()
            begun = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body[: random.randrange(len(body))]
            with half_open(server, 50, begun) as slow:
                _others_are_answered(server)
                for each in slow:
                    assert error_of(told(each)) == (408, "body-too-slow")
            return 50

        yield attempt


@contextmanager
def malformed(folder: Path) -> Iterator[Try]:
    """Send changed, cut and repeated requests: there is no answer, or one that is no internal error."""
    body = json.dumps({"messages": CHAT[:2]}).encode()
    requests = (
        HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n",
        b"GET /v1/channels/room/messages?after=0&limit=5 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/channels/%23a/messages HTTP/1.0\r\nHost: localhost\r\nX-Forwarded-For: ::1\r\n\r\n",
    )
    with _server(folder, "--receive", "2") as server:

        def attempt(random: Random) -> int:
            request = random.choice(requests)
            for damage in random.choices(
                (cut, flipped, repeated, littered, numbered), k=random.randint(1, 2)
            ):
                request = damage(request, random)
            with connected(server) as other:
                _send(other.sendall, request)
                _send(other.shutdown, 1)  # the end of the request
                reply = told(other)
            status = reply.split(b" ", 2)[1:2]
            assert not reply or (reply.startswith(b"HTTP/1.1 ") and int(status[0]) < 500), (request, reply)
            _others_are_answered(server)
            return 1

        yield attempt


def _send(send: Callable[[Any], object], what: Any) -> None:
    with suppress(OSError):  # the server may have closed the connection
        send(what)


@contextmanager
def hostile_json(folder: Path) -> Iterator[Try]:
    """Send bodies with replaced values, or that are not JSON: the answer is a result or an error message."""
    with _server(folder) as server:

        def attempt(random: Random) -> int:
            method, path, value = random.choice(_REQUESTS)
            body = _spoiled(value, random)
            headers = {"Content-Type": "application/json"}
            response = server.client.request(method, path, content=body, headers=headers)
            if response.status_code >= 400:
                where = response.json()["error"]["where"]
                error(response, response.status_code, response.json()["error"]["code"], where)
            assert response.status_code < 500, (method, path, body[:2000], response.text)
            return 1

        yield attempt


@contextmanager
def hostile_files(folder: Path) -> Iterator[Try]:
    """Send damaged exports as files: the answer is a complete stream or an error message; no file is left."""
    made = [build(12) for _, build in LONG.values()]
    spool = folder / "spool"
    spool.mkdir(parents=True)
    os.environ["TMPDIR"] = str(spool)
    try:
        with _server(folder) as server:

            def attempt(random: Random) -> int:
                files = damaged(random.choice(made), random)
                log = next(iter(files.values())) if len(files) == 1 else zipped(files)
                headers = {"Content-Type": "application/octet-stream"}
                response = server.client.post("/v1/logs", content=log, headers=headers)
                if response.status_code == 200:
                    last = json.loads(response.text.splitlines()[-1])
                    assert last["type"] == "complete" or last["error"]["code"] == "unreadable-log", last
                else:
                    error(response, 422, "unreadable-log", "body")
                wait_for(lambda: not any(spool.iterdir()), _PATIENCE)
                _others_are_answered(server)
                return 1

            yield attempt
    finally:
        del os.environ["TMPDIR"]


def _spoiled(value: Any, random: Random) -> bytes:
    value = json.loads(json.dumps(value))
    for _ in range(random.randint(1, 3)):
        holder, key = random.choice(list(places(value)) or [(value, "messages")])
        holder[key] = deepcopy(random.choice(VALUES))
    body = json.dumps(value).encode()
    if random.random() < 0.4:
        body = random.choice((cut, flipped, repeated, littered, nested, numbered))(body, random)
    return body


@contextmanager
def database_lost(folder: Path) -> Iterator[Try]:
    """Remove the database: it is noticed, nothing is acknowledged, and all continues once it is back."""
    numbers = count()
    file = folder / "data" / "channels.sqlite"
    with _server(folder) as server:

        def attempt(random: Random) -> int:
            channel = f"/v1/channels/room{next(numbers)}"
            messages = {"messages": _TURNS[3:4]}
            said(server.client, channel, _TURNS[:3])
            away = file.rename(file.with_name("away"))
            if random.random() < 0.5:
                file.write_bytes(away.read_bytes())  # the same content in another file
            try:
                error(server.client.post(f"{channel}/messages", json=messages), 503, "storage-lost")
                error(server.client.get("/readyz"), 503, "storage-lost")
            finally:
                away.replace(file)
            wait_for(lambda: _ready(server), _PATIENCE)
            said(server.client, channel, _TURNS[3:])
            assert texts(server.client, channel) == [each["text"] for each in _TURNS]
            return 1

        yield attempt


@contextmanager
def full_disk(folder: Path) -> Iterator[Try]:
    """Let no file of the server grow: everything that is acknowledged must be there afterwards."""
    numbers = count()
    journal = folder / "data" / "channels.sqlite-wal"
    with _server(folder) as server:

        def attempt(random: Random) -> int:
            channel = f"/v1/channels/room{next(numbers)}"
            expected = [each["message"]["text"] for each in said(server.client, channel, _TURNS[:3])]
            size = journal.stat().st_size + random.choice((0, 1, 5000, 20_000))
            _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))
            try:
                for turn in _TURNS * 3:
                    response = server.client.post(f"{channel}/messages", json={"message": turn})
                    if response.status_code == 201:
                        expected.append(turn["text"])
                    else:
                        error(response, 503, "storage-failed")
            finally:
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            wait_for(lambda: _ready(server), _PATIENCE)
            assert texts(server.client, channel) == expected
            return 1

        yield attempt
