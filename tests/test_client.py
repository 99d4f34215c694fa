"""The client of `towhom serve` that our own programs use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from towhom.client import AWAY, Client, in_words
from towhom.errors import ConfigError


class Answering(BaseHTTPRequestHandler):
    """Answers what its path says, and closes every connection without saying so, as impatient servers do."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, str | None, str | None]]

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length).decode()
        self.server.seen.append((body, self.headers["Authorization"], self.headers["Idempotency-Key"]))  # type: ignore[attr-defined]
        status, _, text = self.path.strip("/").partition("/")
        content = {"problem": b'{"error": {"code": "no", "message": "Not now."}}', "html": b"<p>"}.get(
            text, b"[]"
        )
        self.send_response(int(status))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_requests_and_replies(server: ThreadingHTTPServer) -> None:
    client = Client(f"http://127.0.0.1:{server.server_port}/", "s3cret")
    refused = client.ask("POST", "/503/problem", {"text": "é"}, key="k")
    assert (refused.status, refused.code, refused.sentence, refused.retry_after) == (
        503,
        "no",
        "Not now.",
        7.0,
    )
    # The server has closed the connection: it is opened again, and each request arrives once.
    strange = client.ask("POST", "/500/html")
    assert (strange.body, strange.code, strange.sentence) == ({}, "", "it answers with status 500")
    assert client.ask("POST", "/200/list").body == {}
    client.close()
    assert server.seen == [  # type: ignore[attr-defined]
        ('{"text": "é"}', "Bearer s3cret", "k"),
        ("", "Bearer s3cret", None),
        ("", "Bearer s3cret", None),
    ]


def test_nobody_answers() -> None:
    client = Client("127.0.0.1:9")
    with pytest.raises(AWAY) as caught:
        client.ask("GET", "/v1/channels")
    assert in_words(caught.value) == "Connection refused"


@pytest.mark.parametrize("address", ["ftp://a", "http://", "http://a:x", "", "http://[::1"])
def test_no_address(address: str) -> None:
    with pytest.raises(ConfigError, match="expected something like"):
        Client(address)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        Client("http://me:hunter2@a")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://a.example", True),
        ("http://127.0.0.1:1", False),
        ("localhost", False),
        ("http://[::1]", False),
        ("https://a", False),
    ],
)
def test_in_the_open(address: str, expected: bool) -> None:
    assert Client(address).in_the_open is expected
