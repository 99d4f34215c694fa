"""Clients that speak no proper HTTP."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.serve.conftest import Server

HEAD = b"POST /v1/addressees HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def connected(server: Server) -> socket.socket:
    url = server.client.base_url
    assert url.port is not None
    return socket.create_connection((url.host, url.port), timeout=20)


@contextmanager
def half_open(server: Server, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        found = [opened.enter_context(connected(server)) for _ in range(count)]
        for each in found:
            each.sendall(said)
        yield found


def told(connection: socket.socket) -> bytes:
    """All that comes until it is closed."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionError:
        pass
    return found


def error_of(reply: bytes) -> tuple[int, str]:
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]
