"""`towhom serve`, as those see it who send it messages."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from towhom.documents import parse_json
from towhom.errors import ConfigError

_TIMEOUT = 60
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""What a server answers that may take the same request later."""
_OURS = frozenset({401, 403, 404, 405})
"""What a server answers that does not know us, or is none of ours."""


@dataclass(frozen=True)
class Answer:
    """What came of a message.

    Args:
        kept: Whether the server has it on disk.
        again: After how many seconds it should be sent again, if it should.
        code: What is wrong, for programs.
        reason: What is wrong, for people.
    """

    kept: bool = False
    again: float | None = None
    code: str = ""
    reason: str = ""


class Server:
    """A server over HTTP; each thread has a connection of its own.

    Args:
        address: Like http://127.0.0.1:8080.
        token: What requests bear.

    Raises:
        ConfigError: It is no address.
    """

    def __init__(self, address: str, token: str | None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ConfigError(f"{address}: expected the address of a server, like http://127.0.0.1:8080")
        self.address = address.rstrip("/")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()

    def send(self, room: str, message: dict[str, Any], key: str) -> Answer:
        """Send a message to a room.

        Raises:
            ConfigError: The server does not let us in, or it is no towhom at all.
        """
        body = json.dumps({"message": message}).encode()
        path = f"{self._path}/v1/channels/{quote(room, safe='')}/messages"
        try:
            status, headers, content = self._request(path, body, key)
        except (OSError, HTTPException) as error:
            self.close()
            return Answer(again=1.0, reason=f"{self.address}: {type(error).__name__}: {error}")
        if status == 201:
            return Answer(kept=True)
        code, reason = _problem(content)
        if status in _AGAIN:
            after = headers.get("Retry-After", "")
            return Answer(again=float(after) if after.isdecimal() else 1.0, code=code, reason=reason)
        if status in _OURS or code == "too-many-channels":
            raise ConfigError(f"{self.address} answers {status} {code}: {reason}")
        return Answer(code=code or str(status), reason=reason)

    def close(self) -> None:
        """Close the connection of this thread."""
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _request(self, path: str, body: bytes, key: str) -> tuple[int, dict[str, str], bytes]:
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._kind(self._host, self._port, timeout=_TIMEOUT)
        connection.request("POST", path, body, {**self._headers, "Idempotency-Key": key})
        response = connection.getresponse()
        return response.status, dict(response.headers.items()), response.read()


def _problem(content: bytes) -> tuple[str, str]:
    """Code and sentence of an error."""
    try:
        value = parse_json(content)
    except ValueError:
        return "", content[:200].decode("utf-8", "replace")
    told = value.get("error", value) if isinstance(value, dict) else {}
    if not isinstance(told, dict):
        return "", str(told)[:200]
    return str(told.get("code", "")), str(told.get("message", ""))
