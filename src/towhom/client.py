"""A client of `towhom serve`, for the programs here that send messages to it or ask it questions."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from towhom.documents import parse_json
from towhom.errors import ConfigError

AWAY = (OSError, HTTPException)
"""Errors that are raised if no server answers."""
LONGEST_CHANNEL = 128
"""The largest number of characters of a channel's id."""
_TIMEOUT = 60.0
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._#@:+-]")
_SHORTENED = 90
"""Number of characters that are kept of an id that would be too long."""

JSON = dict[str, Any]


class Reply(NamedTuple):
    """The reply of a server.

    Args:
        status: The HTTP status.
        body: The content; empty if it is not a JSON object.
        retry_after: Seconds after which the request may be sent again, if the server says so.
    """

    status: int
    body: JSON
    retry_after: float | None = None

    @property
    def code(self) -> str:
        """The error code, for programs."""
        return str(self._problem.get("code", ""))

    @property
    def sentence(self) -> str:
        """The error message, for people."""
        return str(self._problem.get("message") or f"it answers with status {self.status}")

    @property
    def _problem(self) -> JSON:
        problem = self.body.get("error")
        return problem if isinstance(problem, dict) else {}


class Client:
    """A client of a server, over HTTP; each thread has its own connection.

    Args:
        address: An address like http://127.0.0.1:8080; http is the default scheme.
        token: The bearer token, if the server requires one.

    Raises:
        ConfigError: The address is invalid.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            shown = address if "@" not in address else "the address of the server"
            raise ConfigError(f"{shown}: expected something like http://127.0.0.1:8080, without a password")
        self._path = parts.path.rstrip("/")
        self.address = f"{parts.scheme}://{parts.netloc}{self._path}"
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, port
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()
        self._open: set[HTTPConnection] = set()

    @property
    def in_the_open(self) -> bool:
        """Whether others could read the requests on their way: neither encrypted nor to this machine."""
        return self._kind is HTTPConnection and not _is_loopback(self._host)

    def ask(self, method: str, path: str, body: JSON | None = None, *, key: str | None = None) -> Reply:
        """Send one request; a connection that the server has closed meanwhile is opened again.

        Args:
            method: The HTTP method.
            path: The path, with `/v1` in front.
            body: The content to send, if any.
            key: The idempotency key, by which the server recognises a repeated request.

        Raises:
            OSError, HTTPException: No server answers; see `AWAY`.
        """
        headers = self._headers if key is None else {**self._headers, "Idempotency-Key": key}
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        fresh = connection is None or connection not in self._open
        if connection is None or fresh:
            connection = self._local.connection = self._kind(self._host, self._port, timeout=_TIMEOUT)
            self._open.add(connection)
        try:
            connection.request(method, self._path + path, content, headers)
            response = connection.getresponse()
            raw = response.read()
        except AWAY:
            connection.close()
            self._open.discard(connection)
            if fresh:
                raise
            return self.ask(method, path, body, key=key)
        after = response.headers.get("Retry-After", "")
        return Reply(response.status, _object(raw), float(after) if after.isdecimal() else None)

    def close(self) -> None:
        """Close all connections; the next request opens a new one."""
        while self._open:
            self._open.pop().close()


def channel_of(room: str) -> str:
    """The id of a room's channel; bytes that an id may not have are written as `~` and their hex code.

    >>> channel_of("#help@irc.example.org"), channel_of("!a b")
    ('#help@irc.example.org', '~21a~20b')
    """
    channel = _NOT_ALLOWED.sub(
        lambda match: "".join(f"~{byte:02x}" for byte in match[0].encode("utf-8", "replace")), room
    )
    if not channel.strip("."):
        channel = f"~{channel}"
    if len(channel) <= LONGEST_CHANNEL:
        return channel
    return f"{channel[:_SHORTENED]}~{fingerprint(room)}"


def fingerprint(*parts: str) -> str:
    """A short hash that is the same for the same parts, for identifiers that stay the same."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def in_words(error: BaseException) -> str:
    """The reason why no server answers, in words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _object(raw: bytes) -> JSON:
    try:
        value = parse_json(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
