"""Connections that ask nothing, slowly, or in two ways at once: others are answered."""

from __future__ import annotations

import logging
import resource
import time

import pytest

from tests.serve.conftest import Start, answer, error, wait_for
from tests.serve.sockets import HEAD, connected, error_of, half_open, told
from towhom.serve.sparing import Sparing

TOKEN = "correct-horse-battery"


class TestMany:
    @pytest.mark.parametrize("said", [b"", b"GET /v1/sample HTTP/1.1\r\nHost: loc"])
    def test_that_ask_nothing_lock_nobody_out(self, said: bytes, start: Start) -> None:
        server = start("--max-connections", "20", TOWHOM_SERVE_TOKEN=TOKEN)
        with half_open(server, 60, said) as connections:
            for _ in range(3):  # with a new connection each time
                with connected(server) as other:
                    other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    assert told(other).startswith(b"HTTP/1.1 200 OK")
            assert all(told(each) == b"" for each in connections[:30])  # which were the first
        assert len(server.log) < 5000

    def test_that_are_closed_at_once_take_no_place(self, start: Start) -> None:
        """Those that speak no HTTP: they are told so, and are gone a moment later."""
        server = start("--max-connections", "100")
        for _ in range(20):
            with half_open(server, 300, b"\r\n"), connected(server) as other:
                other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert told(other).startswith(b"HTTP/1.1 200 OK")

    def test_that_all_ask_something(self, start: Start) -> None:
        server = start("--max-connections", "3")
        body = HEAD + b"Content-Length: 10\r\n\r\n{"
        with half_open(server, 3, body):
            time.sleep(0.5)
            with connected(server) as other:
                assert error_of(told(other)) == (503, "too-many-connections")
        wait_for(lambda: server.client.get("/healthz").status_code == 200)

    def test_more_than_there_can_be(self, start: Start) -> None:
        """The limit on open files is a system's, and there is room for the server's own."""
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300) if limits[1] < 0 else (300, limits[1]))
        try:
            server = start()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert answer(server.client.get("/readyz")) == {"status": "ready"}
        soft, _ = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        assert soft > 4000 or "files may be open" in server.log


class TestSlow:
    def test_head(self, start: Start) -> None:
        """However it dribbles."""
        server = start("--receive", "1")
        begin = time.monotonic()
        with connected(server) as quiet, connected(server) as slow:
            slow.settimeout(0.1)
            sent = 0
            try:
                for _ in range(200):
                    slow.sendall(b"G" if not sent else b"E")
                    sent += 1
                    try:
                        if slow.recv(100) == b"":
                            break
                    except TimeoutError:
                        continue
            except ConnectionError:
                pass
            assert 1 < sent < 200
            assert told(quiet) == b""
        assert time.monotonic() - begin >= 1

    def test_body(self, start: Start) -> None:
        server = start("--receive", "1")
        with connected(server) as slow:
            slow.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
            assert error_of(told(slow)) == (408, "body-too-slow")

    def test_answers_may_take_longer(self, start: Start) -> None:
        """And so may streams: only what comes in is timed."""
        server = start("--receive", "1")
        server.client.put("/v1/channels/room/messages", json={"messages": []})
        with server.client.stream("GET", "/v1/channels/room/events") as events:
            lines = events.iter_lines()
            time.sleep(2)
            server.client.post(
                "/v1/channels/room/messages", json={"message": {"speaker": "ada", "text": "hi"}}
            )
            assert "event: message" in (next(lines) for _ in range(9))


def test_two_ends(start: Start) -> None:
    """With a length and in pieces: a proxy may see another end than the server does."""
    server = start()
    body = b'10\r\n{"messages": []}\r\n0\r\n\r\n'
    with connected(server) as other:
        other.sendall(HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n" + body)
        reply = told(other)
    assert error_of(reply) == (400, "bad-request")
    assert reply.count(b"HTTP/1.1") == 1


def test_wrong_tokens(start: Start) -> None:
    server = start(TOWHOM_SERVE_TOKEN=TOKEN)
    right = {"Authorization": f"Bearer {TOKEN}"}
    found = [server.client.get("/v1/sample", headers={"Authorization": f"Bearer {n}"}) for n in range(150)]
    assert found[0].status_code == 401
    refused = [each for each in found if each.status_code != 401]
    assert refused
    error(refused[0], 429, "too-many-requests")
    assert server.client.get("/v1/sample", headers=right).status_code == 200


def test_log_of_what_is_refused(start: Start) -> None:
    """Few lines of it, however many there are; what is answered has a line each."""
    server = start()
    for _ in range(300):
        server.client.get("/nothing")
    for _ in range(30):
        server.client.get("/healthz")
    wait_for(lambda: server.log.count("GET /healthz 200") == 30)  # a line is written after the answer
    assert 10 <= server.log.count(" 404 ") < 300


def test_left_out_lines_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    sparing, lines = Sparing(lambda: now), []
    for _ in range(25):
        record = logging.LogRecord("x", logging.ERROR, "", 0, "no %s", ("disk",), None)
        if sparing.filter(record):
            lines.append(record.getMessage())
    assert lines == ["no disk"] * 10
    now = 1.5
    assert sparing.filter(logging.LogRecord("x", logging.ERROR, "", 0, "no %s", ("disk",), None))
    assert caplog.messages == ["15 lines like the next were left out"]
